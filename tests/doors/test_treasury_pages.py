"""Pages of a treasury over HTTP: budgets, payments, rules and requests, with the effect of each act stated before it."""

import re
from html import unescape

import pytest

from tests.browsing import BrowserOf, browser_of, turn_on_two_factors
from tests.organizations import Organization, found, id_of
from tests.registry import PASSWORD, TestAgent, TestDeveloper, TestRegistry

LIST = "/account/organizations"


@pytest.fixture(scope="module")
async def registry(shared_registry: TestRegistry) -> TestRegistry:
    return shared_registry


@pytest.fixture
async def guild(registry: TestRegistry) -> Organization:
    """An organization with 50 units."""
    guild = await found(registry)
    giver = await registry.agent()
    assert (await giver.transfer(guild.created["treasury_did"], "50")).status_code == 200
    return guild


@pytest.fixture
async def payee(registry: TestRegistry) -> TestAgent:
    return await registry.agent(name="Harbour clerk")


@pytest.fixture
async def owner(registry: TestRegistry, guild: Organization) -> BrowserOf:
    return await browser_of(registry, guild.owner)


def treasury_of(guild: Organization) -> str:
    return f"{LIST}/{guild.slug}/treasury"


def words_of(browser: BrowserOf) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", browser.text)).split())


async def with_two_eyes(guild: Organization) -> TestDeveloper:
    """A second owner, and rules by which payments of more than 5 need the approval of an owner."""
    second = await guild.member("owner")
    tiers = [{"over": "5", "approvals": 1, "from": "owner"}]
    written = await guild.send(guild.owner, "PUT", "/treasury/rules", json={"tiers": tiers})
    assert written.status_code == 200, written.text
    return second


async def test_the_treasury_shows_its_balance_and_its_tabs(owner: BrowserOf, guild: Organization):
    await owner.open(treasury_of(guild))
    words = words_of(owner)
    assert "Liquid 50 AVT" in words
    assert "There are no budgets" in words
    for page in ("/requests", "/rules", "/pay"):
        assert f'href="{treasury_of(guild)}{page}"' in owner.text


async def test_a_payment_below_every_amount_is_checked_and_made_once(
    owner: BrowserOf, guild: Organization, payee: TestAgent
):
    before = float(await payee.balance())
    await owner.open(f"{treasury_of(guild)}/pay")
    await owner.send(f"{treasury_of(guild)}/pay/check", receiver_did=payee.did, amount="2,5")
    words = words_of(owner)
    assert "Nothing has been paid or asked yet." in words
    assert "Paid at once: the rules ask for no approval." in words
    assert float(await payee.balance()) == before
    fields = owner.form(f"{treasury_of(guild)}/pay").fields
    for _ in range(2):
        await owner.post(f"{treasury_of(guild)}/pay", fields)
        assert "The payment is made." in owner.text
        assert "tx-" in owner.text
    assert float(await payee.balance()) == before + 2.5


async def test_a_payment_over_the_balance_is_refused_beside_the_amount(
    owner: BrowserOf, guild: Organization, payee: TestAgent
):
    await owner.open(f"{treasury_of(guild)}/pay")
    await owner.send(f"{treasury_of(guild)}/pay/check", receiver_did=payee.did, amount="5000")
    answer = await owner.send(f"{treasury_of(guild)}/pay")
    assert answer.status_code == 402
    assert 'id="amount-trouble"' in answer.text


@pytest.mark.parametrize("amount", ["", "many", "-1", "0"])
async def test_an_amount_that_is_none_stays_on_the_form(
    owner: BrowserOf, guild: Organization, payee: TestAgent, amount: str
):
    await owner.open(f"{treasury_of(guild)}/pay")
    await owner.send(f"{treasury_of(guild)}/pay/check", receiver_did=payee.did, amount=amount)
    assert "Confirm the payment" not in owner.text
    assert 'id="amount-trouble"' in owner.text


async def test_a_payment_over_an_amount_states_what_it_needs_and_waits_for_the_other_owner(
    registry: TestRegistry, owner: BrowserOf, guild: Organization, payee: TestAgent
):
    second, before = await with_two_eyes(guild), float(await payee.balance())
    await owner.open(f"{treasury_of(guild)}/pay")
    await owner.send(
        f"{treasury_of(guild)}/pay/check", receiver_did=payee.did, amount="20", note="For March."
    )
    assert "It needs 1 approval of an owner." in words_of(owner)
    assert "Ask for 20 AVT" in owner.text
    await owner.send(f"{treasury_of(guild)}/pay")
    assert "Others must approve first" in owner.text
    assert "0 of 1 approval" in owner.text
    page = str(owner.page.url).partition("?")[0].removeprefix(registry.settings.base_url)
    assert f"{page}/approve" not in owner.text
    other = await browser_of(registry, second)
    assert "1 request of an organization needs you" in words_of_page(await other.open("/account"))
    assert page in (await other.open("/account/approvals")).text
    assert page in (await other.open(f"{LIST}/{guild.slug}")).text
    await other.open(page)
    words = words_of(other)
    assert "For March." in words
    assert "Yours is the last approval that is needed: the request is carried out at once." in words
    assert "Approve and pay 20 AVT" in words
    assert (await other.send(f"{page}/approve", password="wrong")).status_code == 401
    assert float(await payee.balance()) == before
    await other.open(page)
    fields = dict(other.form(f"{page}/approve").fields)
    for _ in range(2):
        await other.post(f"{page}/approve", **{**fields, "password": PASSWORD})
        assert "Executed" in other.text
    assert float(await payee.balance()) == before + 20
    assert "needs you" not in words_of_page(await other.open("/account"))


def words_of_page(answer: object) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", answer.text)).split())  # type: ignore[attr-defined]


async def test_an_approver_with_two_factor_login_gives_a_code(
    registry: TestRegistry, guild: Organization, payee: TestAgent
):
    second = await with_two_eyes(guild)
    other = await browser_of(registry, second)
    app, _ = await turn_on_two_factors(registry, second)
    asked = await guild.send(
        guild.owner,
        "POST",
        "/treasury/requests",
        json={"kind": "payment", "receiver_did": payee.did, "amount": "9"},
    )
    page = f"{treasury_of(guild)}/requests/{asked.json()['request_id']}"
    await other.open(page)
    assert "Code of the app" in other.text
    assert (await other.send(f"{page}/approve", totp_code="000000")).status_code == 401
    await registry.database.transaction(
        lambda tx: tx.execute("UPDATE people_second_factor SET last_step = 0, paused_until = NULL")
    )
    await other.open(page)
    fields = dict(other.form(f"{page}/approve").fields)
    code = app.now()
    for _ in range(2):
        # The second click has a code that is used up.
        await other.post(f"{page}/approve", **{**fields, "totp_code": code})
        assert "Your approval is noted" in other.text


async def test_one_rejection_ends_a_request_and_its_initiator_cancels_one(
    registry: TestRegistry, owner: BrowserOf, guild: Organization, payee: TestAgent
):
    second = await with_two_eyes(guild)
    for act, browser in (("reject", await browser_of(registry, second)), ("cancel", owner)):
        asked = await guild.send(
            guild.owner,
            "POST",
            "/treasury/requests",
            json={"kind": "payment", "receiver_did": payee.did, "amount": "9"},
        )
        page = f"{treasury_of(guild)}/requests/{asked.json()['request_id']}"
        await browser.open(page)
        await browser.send(f"{page}/{act}")
        assert "The request is rejected" in browser.text or "The request is cancelled" in browser.text
    await owner.open(f"{treasury_of(guild)}/requests")
    words = words_of(owner)
    assert "Rejected" in words
    assert "Cancelled" in words
    assert "Pay 9 AVT to" in words


async def test_an_approved_payment_that_was_not_covered_is_tried_again(
    registry: TestRegistry, owner: BrowserOf, guild: Organization, payee: TestAgent
):
    second = await with_two_eyes(guild)
    asked = await guild.send(
        guild.owner,
        "POST",
        "/treasury/requests",
        json={"kind": "payment", "receiver_did": payee.did, "amount": "60"},
    )
    page = f"{treasury_of(guild)}/requests/{asked.json()['request_id']}"
    await guild.approve(second, asked.json()["request_id"])
    await owner.open(page)
    assert "Could not be carried out" in owner.text
    assert (await owner.send(f"{page}/retry")).status_code == 402
    giver = await registry.agent()
    await giver.transfer(guild.created["treasury_did"], "50")
    await owner.open(page)
    await owner.send(f"{page}/retry")
    assert "The request is carried out." in owner.text


async def test_rules_stand_in_sentences_with_the_answer_for_an_amount(owner: BrowserOf, guild: Organization):
    await with_two_eyes(guild)
    await owner.open(f"{treasury_of(guild)}/rules?amount=7")
    words = words_of(owner)
    assert "A payment of more than 5 AVT needs 1 approval of an owner." in words
    assert "A payment of 7 AVT needs 1 approval of an owner today." in words
    await owner.open(f"{treasury_of(guild)}/rules?amount=2")
    assert "A payment of 2 AVT needs no approval today." in words_of(owner)
    await owner.open(f"{treasury_of(guild)}/rules?amount=many")
    assert "Enter an amount greater than 0" in owner.text


async def test_tighter_rules_apply_at_once_and_looser_ones_ask_the_other_owner(
    registry: TestRegistry, owner: BrowserOf, guild: Organization
):
    await guild.member("owner")
    rules = f"{treasury_of(guild)}/rules"
    await owner.open(rules)
    kept = [pair for pair in owner.form(rules).fields if not pair[0].startswith("tier_")]
    await owner.post(rules, kept, tier_over="5", tier_approvals="1", tier_from="owner")
    assert "The rules are changed" in owner.text
    await owner.open(rules)
    await owner.post(rules, kept_of(owner, rules), tier_over="100", tier_approvals="1", tier_from="owner")
    assert "Others must approve first" in owner.text
    assert "Change the rules of the treasury" in owner.text
    assert "More than 100: 1 of owner" in words_of(owner)


def kept_of(browser: BrowserOf, action: str) -> list[tuple[str, str]]:
    """The fields of a form but its tiers."""
    return [pair for pair in browser.form(action).fields if not pair[0].startswith("tier_")]


async def test_rules_that_contradict_each_other_are_refused_and_kept_in_the_form(
    owner: BrowserOf, guild: Organization
):
    rules = f"{treasury_of(guild)}/rules"
    await owner.open(rules)
    answer = await owner.post(
        rules,
        kept_of(owner, rules),
        tier_over=["5", "5"],
        tier_approvals=["1", "2"],
        tier_from=["owner", "owner"],
    )
    assert answer.status_code == 422
    assert "Each tier has an amount of its own" in answer.text
    assert answer.text.count('name="tier_over" inputmode="decimal" maxlength="20" value="5"') == 2


async def test_a_budget_is_made_shown_as_a_bar_paid_from_changed_and_deleted(
    registry: TestRegistry, owner: BrowserOf, guild: Organization, payee: TestAgent
):
    member = await guild.member()
    await guild.send(guild.owner, "POST", "/teams", json={"slug": "crew", "grant": "read"})
    await guild.send(guild.owner, "PUT", f"/teams/crew/members/{await id_of(member)}")
    await owner.open(f"{treasury_of(guild)}/budgets/new")
    (team,) = re.findall(r'<option value="(team [^"]+)">Team crew', owner.text)
    await owner.send(f"{treasury_of(guild)}/budgets", name="Travel", holder=team, amount="10")
    assert "The budget is made." in owner.text
    assert "<meter" in owner.text
    spender, before = await browser_of(registry, member), float(await payee.balance())
    await spender.open(f"{treasury_of(guild)}/pay")
    (budget,) = re.findall(r'<option value="([0-9a-f-]{36})"', spender.text)
    await spender.send(
        f"{treasury_of(guild)}/pay/check", receiver_did=payee.did, amount="4", budget_id=budget
    )
    assert "Paid at once from the budget" in spender.text
    await spender.send(f"{treasury_of(guild)}/pay")
    assert "The payment is made." in spender.text
    assert float(await payee.balance()) == before + 4
    await owner.open(treasury_of(guild))
    assert "4 of 10" in words_of(owner)
    await owner.send(f"{treasury_of(guild)}/budgets/{budget}/change", new_amount="8")
    assert "The budget is changed" in owner.text
    assert "4 of 8" in words_of(owner)
    fields = owner.form(f"{treasury_of(guild)}/budgets/{budget}/delete").fields
    for _ in range(2):
        await owner.post(f"{treasury_of(guild)}/budgets/{budget}/delete", fields)
        assert "The budget is deleted." in owner.text


async def test_a_viewer_reads_the_treasury_and_has_no_form(registry: TestRegistry, guild: Organization):
    await with_two_eyes(guild)
    viewer = await browser_of(registry, await guild.member("viewer"))
    for page in ("", "/requests", "/rules"):
        assert (await viewer.open(treasury_of(guild) + page)).status_code == 200
        assert re.findall(r'<form method="post" action="([^"]+)"', viewer.text) == ["/logout"], page
    assert (await viewer.open(f"{treasury_of(guild)}/pay")).status_code == 403
