"""Firm quotes, wallets of x402, rewards, balance proof and history of an own agent in a browser, and the code of its payment link."""

import re
from typing import Any
from urllib.parse import quote

import pytest

from hansa.foundation.values.money import UNIT, Minor
from hansa.rooms import auditor, ledger
from tests.browsing import BrowserOf, browser_of
from tests.registry import StartRegistry, TestAgent, TestDeveloper, TestRegistry, at_once
from tests.rooms.ledger.staking.stakers import Stakers, open_stakers
from tests.wallets import TestWallet


@pytest.fixture(scope="module")
def registry(registry_of_file: TestRegistry) -> TestRegistry:
    return registry_of_file


class Owner:
    """An owner at a browser, with an agent, and a paid service of another developer."""

    def __init__(self, developer: TestDeveloper, browser: BrowserOf, agent: TestAgent, service: TestAgent):
        self.developer, self.browser, self.agent, self.service = developer, browser, agent, service
        self.registry = developer.registry

    def path(self, page: str = "") -> str:
        return f"/account/agents/{self.agent.did}/{page}"

    async def read(self, path: str) -> Any:
        """What the API returns to the agent."""
        answer = await self.registry.get(path, headers=self.agent.headers)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def authz(self, **rights: Any) -> None:
        path = f"/api/v1/agents/{quote(self.agent.did)}/authz"
        answer = await self.registry.http.put(path, json=rights, headers=self.developer.headers)
        assert answer.status_code == 200, answer.text


async def owner_at(registry: TestRegistry) -> Owner:
    developer = await registry.developer()
    agent = await developer.agent(name="Payer")
    service = await registry.agent(name="Scribe <b>", pricing={"base_rate": "2.5"})
    return Owner(developer, await browser_of(registry, developer), agent, service)


@pytest.fixture
async def owner(registry: TestRegistry) -> Owner:
    return await owner_at(registry)


async def quoted(owner: Owner, **fields: str) -> str:
    await owner.browser.open(owner.path("wallet/quotes"))
    given = {"payee": owner.service.did, **fields}
    return (await owner.browser.send(owner.path("wallet/quotes"), **given)).text


async def test_a_firm_quote_is_requested_by_a_handle_and_states_its_terms_before_it_is_accepted(owner):
    card = (await owner.registry.get(f"/agents/by-did/{owner.service.did}")).json()
    text = await quoted(owner, payee=card["human_readable_id"])
    assert "Scribe &lt;b&gt;" in text
    for terms in ("2.5 AVT", "0.0125 AVT", "<strong>2.5125 AVT</strong>"):
        assert terms in text
    assert re.search(r'<time datetime="[^"]+" data-countdown>', text)
    assert "Accept and make a token for 2.5125 AVT" in text
    assert await owner.read("/a2a-payment/my-tokens") == []
    assert await owner.agent.balance() == "100"


async def test_an_accepted_quote_makes_one_token_with_its_fee(owner):
    await quoted(owner, amount="10,5")
    form = owner.browser.form(owner.path("wallet/tokens"))
    first = await owner.browser.post(form.action, form.fields)
    again = await owner.browser.post(form.action, form.fields)
    (token,) = re.findall(r'aria-label="Payment token"><code>([^<]+)</code>', first.text)
    assert token in again.text
    (listed,) = await owner.read("/a2a-payment/my-tokens")
    assert (listed["amount"], listed["status"]) == ("10.5", "authorized")
    # A new form with the same quote is another act, for which the quote is used.
    await owner.browser.open(owner.path("wallet/quotes"))
    key = dict(owner.browser.form(owner.path("wallet/quotes")).fields)["form_key"]
    other = [(name, key if name == "form_key" else value) for name, value in form.fields]
    used = await owner.browser.post(form.action, other)
    assert (used.status_code, "The quote was used for another token" in used.text) == (409, True)
    assert len(await owner.read("/a2a-payment/my-tokens")) == 1


async def test_a_quote_that_is_requested_by_two_clicks_is_one_quote(owner):
    await owner.browser.open(owner.path("wallet/quotes"))
    form = owner.browser.form(owner.path("wallet/quotes"))
    fields = [
        *(pair for pair in form.fields if pair[0] not in {"payee", "amount"}),
        ("payee", owner.service.did),
        ("amount", "10"),
    ]
    browsers = [owner.browser, BrowserOf(owner.registry)]
    browsers[1].http.cookies = owner.browser.http.cookies
    answers = await at_once(*(browser.post(form.action, fields) for browser in browsers))
    assert [answer.status_code for answer in answers] == [200, 200]
    tokens = {re.search(r'name="quote_token" value="([^"]+)"', answer.text)[1] for answer in answers}
    assert len(tokens) == 1


async def test_a_quote_that_is_refused_says_why_beside_its_field(owner):
    for fields, status, field in (
        ({"payee": "did:web:nobody.example"}, 404, "payee"),
        ({"amount": "ten"}, 422, "amount"),
        ({"amount": "1,500"}, 422, "amount"),
    ):
        text = await quoted(owner, **fields)
        assert (fields, owner.browser.page.status_code) == (fields, status)
        assert f'id="{field}-trouble"' in text
    free = await owner.registry.agent(name="Free of charge")
    text = await quoted(owner, payee=free.did)
    assert (owner.browser.page.status_code, 'role="alert"' in text) == (422, True)


async def test_a_token_that_needs_an_approval_is_approved_by_its_owner_on_the_same_page(owner):
    await owner.authz(spend_policy={"approval_over": "5"})
    await quoted(owner, amount="10")
    asked = await owner.browser.send(owner.path("wallet/tokens"))
    assert (asked.status_code, "Approval required" in asked.text) == (202, True)
    assert await owner.read("/a2a-payment/my-tokens") == []
    made = await owner.browser.send(owner.path("wallet/tokens"))
    assert made.status_code == 200, made.text
    (listed,) = await owner.read("/a2a-payment/my-tokens")
    assert (listed["amount"], listed["status"]) == ("10", "authorized")


async def challenged(owner: Owner, wallet: TestWallet) -> str:
    """The text that the page of a challenge shows."""
    await owner.browser.open(owner.path("wallet/x402"))
    page = await owner.browser.send(owner.path("wallet/x402/challenge"), address=wallet.address)
    assert page.status_code == 200, page.text
    return dict(owner.browser.form(owner.path("wallet/x402")).fields)["challenge"]


async def test_a_wallet_is_bound_by_its_signature_and_unbound_by_the_pages(owner):
    wallet = TestWallet()
    text = await challenged(owner, wallet)
    assert f"Agent: {owner.agent.did}" in text
    assert (await owner.read("/agents/me/wallets"))["wallets"] == []
    # As a browser sends the line breaks of a field.
    bound = await owner.browser.send(
        owner.path("wallet/x402"), challenge=text.replace("\n", "\r\n"), signature=wallet.sign_text(text)
    )
    assert "The wallet is bound." in bound.text
    held = await owner.read("/agents/me/wallets")
    assert [one["address"] for one in held["wallets"]] == [wallet.address]
    assert held["receive_address"] in bound.text
    assert "The agent pays nothing any more that this wallet signs." in bound.text
    gone = await owner.browser.send(owner.path("wallet/x402/unbind"))
    assert "The wallet is unbound." in gone.text
    assert (await owner.read("/agents/me/wallets"))["wallets"] == []


async def test_a_wrong_signature_binds_nothing_and_the_same_challenge_may_be_signed_again(owner):
    wallet, other = TestWallet(), TestWallet()
    text = await challenged(owner, wallet)
    for signature in ("", "0x12", other.sign_text(text)):
        refused = await owner.browser.send(owner.path("wallet/x402"), signature=signature)
        assert (refused.status_code, 'id="signature-trouble"' in refused.text) == (403, True)
    assert (await owner.read("/agents/me/wallets"))["wallets"] == []
    bound = await owner.browser.send(owner.path("wallet/x402"), signature=wallet.sign_text(text))
    assert "The wallet is bound." in bound.text


@pytest.mark.parametrize("address", ["", "0x12", "../capabilities", "0x" + "é" * 20, "a/b/c"])
async def test_an_address_that_is_none_is_refused_beside_its_field(owner, address):
    for action in ("challenge", "unbind"):
        await owner.browser.open(owner.path("wallet/x402"))
        key = dict(owner.browser.form(owner.path("wallet/x402/challenge")).fields)["form_key"]
        refused = await owner.browser.post(owner.path(f"wallet/x402/{action}"), form_key=key, address=address)
        assert (refused.status_code, 'id="address-trouble"' in refused.text) == (422, True), refused.text


async def test_the_proof_of_a_balance_is_shown_downloaded_and_the_same_as_that_of_the_api(start_registry):
    owner = await owner_at(await start_registry())
    page = await owner.browser.open(owner.path("wallet/proof"))
    assert (page.status_code, "proof-title" in page.text) == (200, False)
    await auditor.run_cycle(owner.registry.runtime)
    page = await owner.browser.open(owner.path("wallet/proof"))
    assert "<strong>100 AVT</strong>" in page.text
    proof = await owner.read("/teg/balance/proof")
    file = await owner.browser.open(owner.path("wallet/proof.json"))
    assert file.json() == proof
    assert file.headers["cache-control"] == "no-store"
    assert f"/verify?document={quote(owner.path('wallet/proof.json'))}" in page.text


async def test_the_proof_of_another_owner_is_not_found(owner):
    stranger = await browser_of(owner.registry)
    for page in ("wallet/proof", "wallet/proof.json", "history", "wallet/x402", "wallet/quotes"):
        answer = await stranger.open(owner.path(page))
        assert (page, answer.status_code) == (page, 404)


async def test_the_history_has_a_sentence_for_each_event_of_the_agent_private_ones_as_well(owner):
    await owner.agent.transfer(owner.service, "10")
    await challenged(owner, TestWallet())
    text = (await owner.browser.open(owner.path("history"))).text
    sentences = [
        re.sub(r"<[^>]+>", "", row) for row in re.findall(r'class="sentence">(.*?)</td>', text, re.DOTALL)
    ]
    assert any("paid" in one and "10 AVT" in one for one in sentences)
    assert any("The owner acted as" in one for one in sentences)
    assert not any("Accounts changed" in one for one in sentences)
    private = re.search(
        r'<td data-label="No.">–</td>\s*<td data-label="Event" class="sentence">The owner acted as', text
    )
    assert private
    everything = (await owner.browser.open(owner.path("history?entries=true"))).text
    assert "Accounts changed with transaction" in everything


async def test_the_history_is_read_to_its_beginning_page_by_page(owner):
    for _ in range(30):
        await owner.agent.transfer(owner.service, "0.1")
    numbers: list[str] = []
    page = "history?entries=true"
    while page:
        text = (await owner.browser.open(owner.path(page))).text
        numbers += re.findall(r'<time datetime="([^"]+)" title', text)
        older = re.search(r'href="[^"]+/(history\?before=[^"]+)" rel="next"', text)
        page = older[1].replace("&amp;", "&") if older else ""
    own = await owner.read("/agents/me/events?limit=1000")
    assert len(numbers) == len(own["items"]) > 60


async def test_a_cursor_that_is_none_is_refused(owner):
    assert (await owner.browser.open(owner.path("history?before=x"))).status_code == 422


async def test_the_payment_link_is_a_code_as_well_unless_it_is_too_long_for_one(owner):
    text = (await owner.browser.open(owner.path("wallet/receive?amount=1,5&memo=Rent"))).text
    assert 'aria-label="QR code of the payment link"><svg' in text
    assert "amount=1.5&amp;memo=Rent" in text
    long = (await owner.browser.open(owner.path(f"wallet/receive?memo={quote('🚢' * 256)}"))).text
    assert "QR code of the payment link" not in long
    assert "Payment link" in long


@pytest.fixture(scope="module")
async def stakers(database_farm: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    directory = tmp_path_factory.mktemp("rewards")
    async with open_stakers(database_farm, directory, staking_rewards_enabled=True) as stakers:
        yield stakers


async def test_rewards_are_shown_claimed_once_and_then_liquid(stakers: Stakers):
    registry = stakers.purses.registry
    developer = await registry.developer()
    agent = await developer.agent()
    await stakers.fill_fee_collector("50")
    book = ledger.Book.of(registry.settings)
    await registry.database.transaction(
        lambda tx: ledger.grant(tx, payee=agent.did, amount=Minor(100 * UNIT), ref="test", book=book)
    )
    staked = await registry.post(
        "/staking/stake", json={"amount": "100", "lock_period": 365}, headers=agent.headers
    )
    assert staked.status_code == 200, staked.text
    await stakers.elapse(agent, 365)
    browser, page = await browser_of(registry, developer), f"/account/agents/{agent.did}/wallet/stakes"
    await browser.open(page)
    assert "Claim 10" in browser.text
    assert "paid from collected fees" in browser.text
    form = browser.form(f"{page}/claim")
    answers = await at_once(*(claimed(browser, form) for _ in range(2)))
    assert [answer.status_code for answer in answers] == [200, 200]
    assert all("The rewards are paid to the liquid balance." in answer.text for answer in answers)
    stats = (await registry.get("/staking/my-stats", headers=agent.headers)).json()
    assert float(stats["total_rewards"]) == pytest.approx(10, abs=0.001)
    assert float(await agent.balance()) == pytest.approx(10, abs=0.001)


async def test_rewards_of_a_position_are_compounded_by_a_button_and_paid_again_by_another(stakers: Stakers):
    agent = await stakers.agent("100")
    registry = agent.registry
    position = (await stakers.stake(agent, "100"))["position_id"]
    browser = await browser_of(registry, stakers.purses.developer)
    page = f"/account/agents/{agent.did}/wallet/stakes"
    for said, expected in (("added to it once a day", True), ("paid by a claim", False)):
        await browser.open(page)
        form = browser.form(f"{page}/compound")
        assert dict(form.fields)["position_id"] == position
        answer = await browser.post(form.action, form.fields)
        assert (answer.status_code, said in answer.text) == (200, True)
        (listed,) = (await stakers.read(agent, "my-positions"))["items"]
        assert listed["auto_compound"] is expected


async def claimed(browser: BrowserOf, form: Any) -> Any:
    twin = BrowserOf(browser.registry)
    twin.http.cookies = browser.http.cookies
    return await twin.post(form.action, form.fields)


async def test_a_registry_without_rewards_offers_no_claim(owner):
    text = (await owner.browser.open(owner.path("wallet/stakes"))).text
    assert "wallet/stakes/claim" not in text
    key = dict(owner.browser.form(owner.path("wallet/stakes")).fields)["form_key"]
    refused = await owner.browser.post(owner.path("wallet/stakes/claim"), form_key=key)
    assert (refused.status_code, "rewards are disabled" in refused.text) == (403, True)


async def test_a_part_of_a_stake_is_released_with_a_decimal_comma(start_registry: StartRegistry):
    owner = await owner_at(await start_registry())
    await owner.authz(roles=["client", "staker"])
    page = owner.path("wallet/stakes")
    await owner.browser.open(page)
    await owner.browser.send(page, amount="30,5", lock_period="0")
    released = await owner.browser.send(f"{page}/release", released="10,25", position_id="")
    assert "The units were released." in released.text
    assert (await owner.read("/staking/balance"))["staked_balance"] == "20.25"
