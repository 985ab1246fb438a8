"""Home of a person: balances with their course, what waits for the person, the newest movements, the first steps."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape

import pytest

from hansa.rooms.ledger.history import portfolio
from tests.browsing import BrowserOf, browser_of
from tests.organizations import id_of
from tests.registry import TestAgent, TestDeveloper, TestRegistry
from tests.work_orders import offering

SHA256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
AGREED = {"title": "T", "contract_type": "service", "amount": "10", "terms": "T", "acceptance_criteria": "C"}


@pytest.fixture(scope="module")
def registry(registry_of_file: TestRegistry) -> TestRegistry:
    return registry_of_file


class Home:
    """A person with two agents at a browser, and an agent of another person."""

    def __init__(
        self,
        developer: TestDeveloper,
        browser: BrowserOf,
        agents: tuple[TestAgent, TestAgent],
        other: TestAgent,
    ) -> None:
        self.developer, self.browser, self.other = developer, browser, other
        self.first, self.second = agents

    async def words(self, part: str = "") -> str:
        """The text of the page, or of its section with this heading."""
        html = (await self.browser.open("/account")).text
        if part:
            (html,) = re.findall(
                rf"<section [^>]*>(?:(?!</section>).)*<h2[^>]*>{part}</h2>.*?</section>", html, re.DOTALL
            )
        return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())

    async def execute(self, statement: str, *values: object) -> None:
        await self.browser.registry.database.transaction(lambda tx: tx.execute(statement, *values))


@pytest.fixture
async def home(registry: TestRegistry) -> Home:
    developer = await registry.developer()
    agents = (await developer.agent(name="Lingua"), await developer.agent(name="Redpen"))
    return Home(developer, await browser_of(registry, developer), agents, await registry.agent(name="Meteo"))


async def total_of(home: Home) -> str:
    balances = [await agent.balance() for agent in (home.first, home.second)]
    return f"{sum(map(float, balances)):g}"


async def test_the_home_shows_the_total_of_all_agents_and_what_came_in_and_went_out_this_week(home):
    total = float(await total_of(home))
    words = await home.words()
    assert (
        f"Total balance {total:g} AVT Received in 7 days {total:g} AVT Paid in 7 days 0 AVT Agents 2" in words
    )
    assert (await home.first.transfer(home.other, "10")).status_code == 200
    # Units that move between own agents are neither received nor paid; their fee is paid.
    assert (await home.first.transfer(home.second, "20")).status_code == 200
    left = await total_of(home)
    words = await home.words()
    assert (
        f"Total balance {left} AVT Received in 7 days {total:g} AVT Paid in 7 days {total - float(left):g} AVT"
        in words
    )


async def test_the_line_of_thirty_days_ends_with_the_total_and_begins_with_that_of_then(home):
    await home.first.transfer(home.other, "10")
    await home.execute(
        "SET LOCAL session_replication_role = replica; "
        "UPDATE ledger_transaction SET recorded_at = recorded_at - interval '10 days' WHERE id IN"
        " (SELECT p.tx_id FROM ledger_posting p JOIN ledger_account a ON a.id = p.account_id"
        f" WHERE a.did = '{home.first.did}') AND tx_type = 'grant'",
    )
    await home.browser.open("/account")
    values = re.findall(r'<data value="(\d+)">', home.browser.text)
    assert len(values) == 31
    # The grant came ten days ago, the payment today.
    assert [values[0], values[15], values[22], values[29]] == ["0", "0", "10000000000", "10000000000"]
    assert "Total balance, 30 days: 0 AVT on" in unescape(home.browser.text)
    assert int(values[30]) / 10**8 == float(await total_of(home))


async def test_of_busy_agents_the_home_says_since_when_its_amounts_count(home, monkeypatch):
    for _ in range(4):
        await home.first.transfer(home.other, "1")
    monkeypatch.setattr(portfolio, "POSTINGS_OF_ALL", 6)
    monkeypatch.setattr(portfolio, "POSTINGS_LEAST", 3)
    words = await home.words()
    (since,) = set(re.findall(r"(?:Received|Paid) (since [-0-9]+ [:0-9]+ UTC)", words))
    assert f"Received {since} 0 AVT Paid {since} 2.01 AVT" in words
    assert f"Total balance {await total_of(home)} AVT" in words


async def test_the_newest_movements_are_sentences_with_their_effect_on_the_total(home):
    await home.first.transfer(home.other, "10")
    await home.first.transfer(home.second, "20")
    words = await home.words("Latest movements")
    (first, second, other) = (agent.did[-4:] for agent in (home.first, home.second, home.other))
    assert f"Lingua did:…{first} paid Redpen did:…{second} 20 AVT −0.1 tx-" in words
    assert f"Lingua did:…{first} paid Meteo did:…{other} 10 AVT −10.05 tx-" in words
    assert words.index("Redpen") < words.index("Meteo")
    assert "less than a minute ago" in words


async def test_a_transaction_that_the_ledger_alone_records_is_a_sentence_as_well(home):
    review_by = f"{datetime.now(UTC) + timedelta(days=9):%Y-%m-%dT%H:%M:%SZ}"
    body = {**AGREED, "provider_did": home.other.did, "funded": True, "review_by": review_by}
    post = home.browser.registry.post
    number = (await post("/contracts", json=body, headers=home.first.headers)).json()["id"]
    accepted = await post(f"/contracts/{number}/accept", json={}, headers=home.other.headers)
    assert accepted.status_code == 200, accepted.text
    assert "set 10.05 AVT aside 0 tx-" in await home.words("Latest movements")


async def test_everything_that_waits_for_the_person_is_listed_until_it_is_done(home):
    post = home.browser.registry.post
    assert "Nothing waits for your decision." in await home.words("Waits for you")
    proposed = await post(
        "/contracts", json={**AGREED, "provider_did": home.other.did}, headers=home.first.headers
    )
    number = proposed.json()["id"]
    await post(f"/contracts/{number}/accept", json={}, headers=home.other.headers)
    await post(
        f"/contracts/{number}/submit", json={"deliverable": {"sha256": SHA256}}, headers=home.other.headers
    )
    complaint = {"defendant_did": home.second.did, "reason_code": "OTHER", "description": "Late."}
    dispute = (await post("/disputes/", json=complaint, headers=home.other.headers)).json()["id"]
    hook = {"url": "https://receiver.example.com/", "event_types": ["*"]}
    made = await post("/developers/webhooks", json=hook, headers=home.developer.headers)
    await home.execute(
        "UPDATE notifications_webhook SET is_active = false, stopped_by = 'failures', stopped_at = now() WHERE id = $1",
        made.json()["id"],
    )
    await home.execute("UPDATE catalogue_card SET liveness = 'unreachable' WHERE did = $1", home.first.did)
    await home.execute(
        "INSERT INTO agents_spend_approval (agent_id, payee, amount, expires_at)"
        " SELECT id, $2, 100000000, now() + interval '1 day' FROM agents_agent WHERE did = $1",
        home.first.did,
        home.other.did,
    )
    words = await home.words("Waits for you")
    assert "1 payment needs your approval" in words
    assert f"1 contract to review Lingua did:…{home.first.did[-4:]} Review" in words
    assert f"1 dispute to answer Redpen did:…{home.second.did[-4:]} Answer" in words
    assert "1 webhook stopped after failures – Check" in words
    assert f"No response to health checks Lingua did:…{home.first.did[-4:]} Check" in words
    await post(f"/contracts/{number}/approve-completion", json={}, headers=home.first.headers)
    await post(f"/disputes/{dispute}/evidence", json={"sha256": SHA256}, headers=home.second.headers)
    await home.browser.registry.http.delete(
        f"/api/v1/developers/webhooks/{made.json()['id']}", headers=home.developer.headers
    )
    await home.execute("UPDATE catalogue_card SET liveness = 'alive' WHERE did = $1", home.first.did)
    await home.execute("DELETE FROM agents_spend_approval")
    assert "Nothing waits for your decision." in await home.words("Waits for you")


async def submitted(registry: TestRegistry, contractor: TestAgent, provider: TestAgent) -> int:
    """A contract whose work waits for its review."""
    body = {**AGREED, "provider_did": provider.did}
    number = (await registry.post("/contracts", json=body, headers=contractor.headers)).json()["id"]
    await registry.post(f"/contracts/{number}/accept", json={}, headers=provider.headers)
    await hand_in(registry, number, provider)
    return number


async def hand_in(registry: TestRegistry, number: int, provider: TestAgent) -> None:
    work = {"deliverable": {"sha256": SHA256}}
    done = await registry.post(f"/contracts/{number}/submit", json=work, headers=provider.headers)
    assert done.status_code == 200, done.text


async def test_work_of_an_organization_waits_for_those_who_may_act_on_it(registry):
    offer = await offering(registry)
    guild = offer.guild
    provider, editor = await registry.agent(), await guild.born(name="Redaktor")
    (admin, member, other, viewer) = [
        await guild.member(role) for role in ("admin", "member", "member", "viewer")
    ]
    team = await guild.send(guild.owner, "POST", "/teams", json={"slug": "desk", "grant": "operate"})
    assert team.status_code == 201, team.text
    for path in (f"members/{await id_of(member)}", f"agents/{editor.did}"):
        placed = await guild.send(guild.owner, "PUT", f"/teams/desk/{path}")
        assert placed.status_code == 200, placed.text
    bid = await offer.bid(provider, await offer.open())
    number = (await offer.award(bid)).json()["result"]["contract_id"]
    await hand_in(registry, number, provider)
    reviewed = await submitted(registry, editor, provider)
    of_treasury = f"/account/organizations/{guild.slug}/contracts"
    of_agent = f"/account/agents/{editor.did}/contracts"
    seen = {}
    for who in (guild.owner, admin, member, other, viewer):
        browser = await browser_of(registry, who)
        for page in ("/account", "/account/approvals"):
            await browser.open(page)
            seen[who.email, page] = (
                f'href="{of_treasury}"' in browser.text,
                f'href="{of_agent}"' in browser.text,
            )
    expected = (
        (guild.owner, (True, True)),
        (admin, (True, True)),
        (member, (False, True)),
        (other, (False, False)),
        (viewer, (False, False)),
    )
    for page in ("/account", "/account/approvals"):
        assert [seen[who.email, page] for who, _ in expected] == [shown for _, shown in expected]
    browser = await browser_of(registry, member)
    await browser.open("/account")
    assert "1 contract to review" in browser.text
    assert (await browser.open(of_agent)).status_code == 200
    owner = await browser_of(registry, guild.owner)
    await owner.open("/account/approvals")
    assert f"Treasury of {guild.created['name']}" in owner.text
    assert (await owner.open(of_treasury)).status_code == 200
    assert (await offer.act(number, "approve-completion")).status_code == 200
    await registry.post(
        f"/contracts/{reviewed}/request-changes", json={"note": "Page 2."}, headers=editor.headers
    )
    for page in ("/account", "/account/approvals"):
        await owner.open(page)
        assert of_treasury not in owner.text
        assert of_agent not in owner.text


async def test_a_new_person_sees_the_first_steps_until_each_is_done(registry):
    developer = await registry.developer()
    home = Home(developer, await browser_of(registry, developer), (None, None), await registry.agent())
    assert (await home.words("First steps")).count("To do") == 4
    agent = await developer.agent(name="Lingua")
    assert "Done Create an agent To do Let it answer To do Verify its host" in await home.words("First steps")
    await home.execute(
        "UPDATE catalogue_card SET last_alive_at = now(), host_verified_at = now() WHERE did = $1", agent.did
    )
    words = await home.words("First steps")
    assert (words.count("Done"), "To do Make or receive a first payment" in words) == (3, True)
    await agent.transfer(home.other, "1")
    assert "First steps" not in await home.words()


async def test_the_first_steps_end_a_month_after_the_registration(home):
    assert "To do Let it answer" in await home.words("First steps")
    await home.execute(
        "UPDATE people_developer SET created_at = created_at - interval '31 days' WHERE email = $1",
        home.developer.email,
    )
    assert "First steps" not in await home.words()


async def test_the_home_shows_nothing_of_another_person(home, registry):
    await home.first.transfer(home.other, "10")
    stranger = await registry.developer()
    await stranger.agent(name="Echo")
    theirs = Home(stranger, await browser_of(registry, stranger), (None, None), home.other)
    words = await theirs.words()
    assert "Echo" in words
    assert not [name for name in ("Lingua", "Redpen", "Meteo") if name in words]
