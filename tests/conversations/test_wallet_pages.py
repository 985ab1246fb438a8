"""The wallet of an own agent in a browser: an owner acts as the agent, under the rules of the API."""

import re
from urllib.parse import quote

import pytest

from tests.browsing import browser_of
from tests.paying import Payments
from tests.registry import PASSWORD, TestRegistry, at_once


@pytest.fixture(scope="module")
def registry(registry_of_file: TestRegistry) -> TestRegistry:
    return registry_of_file


class Owner:
    """An owner at a browser, with two agents of its own and one of another developer."""

    def __init__(self, registry, developer, browser, agent, payee):
        self.registry, self.developer, self.browser = registry, developer, browser
        self.agent, self.payee = agent, payee

    def path(self, page=""):
        return f"/account/agents/{self.agent.did}/{page}"

    async def check(self, **fields):
        await self.browser.open(self.path("wallet/send"))
        given = {"receiver": self.payee.did, "amount": "10", **fields}
        return await self.browser.send(self.path("wallet/send/check"), **given)


@pytest.fixture
async def owner(registry: TestRegistry) -> Owner:
    developer = await registry.developer()
    agent = await developer.agent(name="Payer")
    payee = await registry.agent(name="Payee <b>")
    return Owner(registry, developer, await browser_of(registry, developer), agent, payee)


async def test_the_wallet_shows_what_an_own_agent_holds_now_and_held_over_time(owner):
    await owner.agent.transfer(owner.payee, "10", message="for <ships>")
    await owner.browser.open("/account/wallets")
    assert f'href="/account/agents/{owner.agent.did}/wallet"' in owner.browser.text
    await owner.browser.open(owner.path("wallet"))
    text = owner.browser.text
    balance = await owner.agent.balance()
    assert f"<dd>{balance} <small>" in text
    assert "<svg" in text
    assert f"{balance} AVT on" in text
    assert "for &lt;ships&gt;" in text


async def test_the_wallet_of_another_developer_is_not_found(owner):
    stranger = await browser_of(owner.registry)
    pages = ("wallet", "wallet/statement", "wallet/statement.csv", "wallet/send", "wallet/stakes")
    for page in (*pages, "wallet/tokens", "wallet/bond"):
        answer = await stranger.open(owner.path(page))
        assert (page, answer.status_code) == (page, 404)
    await stranger.open("/account/sessions")
    key = dict(stranger.form("/account/sessions/end-all").fields)["form_key"]
    answer = await stranger.post(
        owner.path("wallet/send"), form_key=key, receiver=owner.payee.did, amount="1"
    )
    assert answer.status_code == 404
    assert await owner.agent.balance() == "100"


async def test_the_statement_has_the_balance_after_each_transaction_and_a_file_of_the_same(owner):
    for amount in ("1", "2"):
        await owner.agent.transfer(owner.payee, amount)
    text = (await owner.browser.open(owner.path("wallet/statement"))).text
    balances = re.findall(r'"Balance after" class="number">([^<]+)<', text)
    assert balances[0] == await owner.agent.balance()
    assert balances[-1] == "100"
    answer = await owner.browser.open(owner.path("wallet/statement.csv"))
    assert answer.headers["content-type"].startswith("text/csv")
    assert answer.headers["cache-control"] == "no-store"
    assert len(answer.text.splitlines()) == len(balances) + 1


async def test_sending_shows_receiver_route_fee_and_balance_before_anything_moves(owner):
    answer = await owner.check(memo="thanks")
    assert answer.status_code == 200
    dry = await owner.registry.post(
        "/teg/send",
        json={"receiver_did": owner.payee.did, "amount": "10", "dry_run": True},
        headers=owner.agent.headers,
    )
    plan = dry.json()
    for shown in ("Payee &lt;b&gt;", "Within this registry", plan["fee_amount"], plan["new_sender_balance"]):
        assert shown in answer.text
    assert await owner.agent.balance() == "100"
    sent = await owner.browser.send(owner.path("wallet/send"))
    assert "The units were sent." in sent.text
    assert await owner.agent.balance() == plan["new_sender_balance"]


async def test_a_transfer_that_is_sent_twice_moves_units_once(owner):
    await owner.check()
    form = owner.browser.form(owner.path("wallet/send"))
    await at_once(*(owner.browser.post(form.action, form.fields) for _ in range(2)))
    await owner.browser.post(form.action, form.fields)
    assert owner.browser.page.status_code == 200
    received = await owner.payee.balance()
    assert received == "110"


async def test_a_form_that_was_changed_after_it_was_sent_is_refused(owner):
    await owner.check()
    form = owner.browser.form(owner.path("wallet/send"))
    await owner.browser.post(form.action, form.fields)
    changed = [pair for pair in form.fields if pair[0] != "amount"]
    answer = await owner.browser.post(form.action, changed, amount="20")
    assert answer.status_code == 422
    assert await owner.payee.balance() == "110"


@pytest.mark.parametrize(
    ("fields", "status", "name", "words"),
    [
        ({"amount": "1,500"}, 422, "amount", "decimal"),
        ({"amount": "100000"}, 402, "amount", "balance"),
        ({"receiver": "did:web:elsewhere.example"}, 404, "receiver", ""),
        ({"receiver": ""}, 422, "receiver", ""),
        ({"memo": "x" * 257}, 422, "memo", "256"),
        ({"approval_id": "x"}, 422, "approval_id", ""),
    ],
)
async def test_a_refusal_stands_beside_its_field_and_the_form_keeps_its_values(
    owner, fields, status, name, words
):
    answer = await owner.check(**fields)
    assert answer.status_code == status
    (error,) = re.findall(rf'id="{name}-trouble">([^<]+)<', answer.text)
    assert words in error
    assert f'name="{name}"' in answer.text
    assert dict(owner.browser.form(owner.path("wallet/send/check")).fields)["amount"] == fields.get(
        "amount", "10"
    )


async def test_the_spend_policy_of_the_agent_applies_to_its_owner_as_well(owner):
    policy = {"spend_policy": {"approval_over": "5"}}
    answer = await owner.registry.http.put(
        f"/api/v1/agents/{quote(owner.agent.did)}/authz", json=policy, headers=owner.developer.headers
    )
    assert answer.status_code == 200, answer.text
    checked = await owner.check()
    assert "would have to approve" in checked.text
    answer = await owner.browser.send(owner.path("wallet/send"))
    assert (answer.status_code, "Approval required" in answer.text) == (202, True)
    assert await owner.agent.balance() == "100"


async def test_the_event_log_names_the_owner_who_acts(owner):
    await owner.check()
    events = (await owner.registry.get("/agents/me/events", headers=owner.agent.headers)).json()["items"]
    (issued,) = [event for event in events if event["event_type"] == "AgentActTokenIssued"]
    assert "developer:" in str(issued)


async def test_a_suspended_agent_is_read_and_sends_nothing(owner):
    administrator = await owner.registry.administrator("admin_enforcement")
    body = {"agent_dids": [owner.agent.did], "reason": "Test"}
    await owner.registry.post("/admin/agents/bulk/suspend", json=body, headers=administrator.headers)
    answer = await owner.browser.open(owner.path("wallet"))
    assert (answer.status_code, "Suspended" in answer.text) == (200, True)
    assert "wallet/send" not in re.sub(r"<nav.*?</nav>", "", answer.text, flags=re.DOTALL)
    assert (await owner.check()).status_code == 403


async def test_the_wallet_of_an_agent_that_has_ended_is_still_read(owner):
    spare = await owner.developer.agent(name="Ended")
    ended = await owner.registry.http.delete(
        f"/api/v1/agents/{quote(spare.did)}", headers=owner.developer.headers
    )
    assert ended.is_success, ended.text
    listed = await owner.browser.open("/account/wallets")
    assert (listed.status_code, "Revoked" in listed.text) == (200, True)
    for page in ("wallet", "wallet/statement", "wallet/stakes", "wallet/bond", "contracts"):
        answer = await owner.browser.open(f"/account/agents/{spare.did}/{page}")
        assert (page, answer.status_code) == (page, 200)


async def test_units_are_staked_and_released_when_their_lock_has_ended(owner):
    page = owner.path("wallet/stakes")
    await owner.browser.open(page)
    without_the_role = await owner.browser.send(page, amount="30")
    assert (without_the_role.status_code, 'role="alert"' in without_the_role.text) == (403, True)
    roles = {"roles": ["client", "staker"]}
    given = await owner.registry.http.put(
        f"/api/v1/agents/{quote(owner.agent.did)}/authz", json=roles, headers=owner.developer.headers
    )
    assert given.status_code == 200, given.text
    staked = await owner.browser.send(page, amount="30", lock_period="0")
    assert "The units are staked." in staked.text
    locked = await owner.browser.send(page, amount="20", lock_period="30")
    assert locked.text.count('aria-label="Release: stake-') == 1
    assert "Locked" in locked.text
    form = owner.browser.form(f"{page}/release")
    released = await owner.browser.post(form.action, form.fields)
    assert "The units were released." in released.text
    assert await owner.agent.balance() == "80"
    refused = await owner.browser.send(page, amount="30", lock_period="1000")
    assert (refused.status_code, 'id="lock_period-trouble"' in refused.text) == (422, True)


async def test_a_payment_token_shows_its_time_and_is_released_once(owner):
    payments = Payments(owner.registry, owner.agent, owner.payee)
    made = await payments.authorized("5")
    await owner.browser.open(owner.path("wallet/tokens"))
    assert re.search(r'<time datetime="[^"]+" data-countdown>', owner.browser.text)
    assert made["token"] not in owner.browser.text
    action = owner.path(f"wallet/tokens/{made['token_id']}/release")
    form = owner.browser.form(action)
    for _ in range(2):
        answer = await owner.browser.post(action, form.fields)
        assert (answer.status_code, "The token was released." in answer.text) == (200, True)
    assert (await payments.listed(made["token_id"]))["status"] == "released"


async def tokens_of(owner):
    answer = await owner.registry.get("/a2a-payment/my-tokens", headers=owner.agent.headers)
    return answer.json()


async def prepared_token(owner, **fields):
    """The page of the dry run of a payment."""
    await owner.browser.open(owner.path("wallet/tokens/new"))
    given = {"payee": owner.payee.did, "amount": "10", **fields}
    return await owner.browser.send(owner.path("wallet/tokens/check"), **given)


async def test_a_payment_token_is_made_after_a_dry_run_and_shown_once(owner):
    payments = Payments(owner.registry, owner.agent, owner.payee)
    page = await prepared_token(owner, resource="<summary>", ttl="900")
    assert "Payee &lt;b&gt;" in page.text
    assert "15 minutes" in page.text
    assert "&lt;summary&gt;" in page.text
    assert await owner.agent.balance() == "100"
    assert await tokens_of(owner) == []
    form = owner.browser.form(owner.path("wallet/tokens"))
    first = await owner.browser.post(form.action, form.fields)
    again = await owner.browser.post(form.action, form.fields)
    assert first.status_code == again.status_code == 200
    (token,) = re.findall(r'aria-label="Payment token"><code>([^<]+)</code>', first.text)
    assert token in again.text
    assert re.search(r'<time datetime="[^"]+" data-countdown>', first.text)
    (listed,) = await tokens_of(owner)
    assert (listed["amount"], listed["status"]) == ("10", "authorized")
    await owner.browser.open(owner.path("wallet/tokens"))
    assert token not in owner.browser.text
    verified = await payments.verify(token)
    assert verified["valid"] is True
    assert verified["capture_by"] == "payee"


async def test_a_payment_that_cannot_be_authorized_says_so_beside_its_field(owner):
    for fields, field in (
        ({"amount": "ten"}, "amount"),
        ({"amount": "1000"}, "amount"),
        ({"payee": owner.agent.did}, "payee"),
        ({"payee": "did:hansa:hansa.local:00000000-0000-4000-8000-000000000000"}, "payee"),
    ):
        page = await prepared_token(owner, **fields)
        assert (fields, page.status_code >= 400, f'id="{field}-trouble"' in page.text) == (fields, True, True)
    await prepared_token(owner, ttl="60")
    form = owner.browser.form(owner.path("wallet/tokens"))
    changed = [(name, "1" if name == "ttl" else value) for name, value in form.fields]
    refused = await owner.browser.post(form.action, changed)
    assert (refused.status_code, 'id="ttl-trouble"' in refused.text) == (422, True)
    assert await owner.agent.balance() == "100"


async def test_a_bond_is_deposited_and_its_refusal_is_shown(start_registry):
    registry = await start_registry(bond_minimum="10")
    developer = await registry.developer()
    agent = await developer.agent()
    owner = Owner(registry, developer, await browser_of(registry, developer), agent, agent)
    page = owner.path("wallet/bond")
    await owner.browser.open(page)
    refused = await owner.browser.send(f"{page}/deposit", amount="0.00000001")
    assert (refused.status_code, 'role="alert"' in refused.text) == (422, True)
    deposited = await owner.browser.send(f"{page}/deposit", amount="50")
    assert "The units were deposited." in deposited.text
    assert '<dt>State</dt><dd><span class="chip active">Active</span></dd>' in deposited.text


async def test_a_page_of_a_wallet_is_kept_by_no_cache_and_shown_in_no_frame(owner):
    answer = await owner.browser.open(owner.path("wallet"))
    assert answer.headers["cache-control"] == "no-store"
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    assert "Cookie" in answer.headers["vary"]


async def test_another_site_cannot_send_units_with_the_session_of_an_owner(owner):
    await owner.check()
    form = owner.browser.form(owner.path("wallet/send"))
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {}):
        answer = await owner.browser.http.post(form.action, data=dict(form.fields), headers=headers)
        assert answer.status_code == 403
    keyless = [pair for pair in form.fields if pair[0] != "form_key"]
    assert (await owner.browser.post(form.action, keyless)).status_code == 409
    assert await owner.agent.balance() == "100"


async def test_a_transfer_survives_an_ended_session(owner):
    await owner.check()
    form = owner.browser.form(owner.path("wallet/send"))
    await owner.browser.idle(minutes=61)
    kept = await owner.browser.post(form.action, form.fields)
    assert kept.status_code == 401
    assert await owner.agent.balance() == "100"
    await owner.browser.send("/login", email=owner.developer.email, password=PASSWORD)
    answer = await owner.browser.send(form.action)
    assert "The units were sent." in answer.text


async def test_a_token_is_settled_by_its_form_after_the_effect_and_no_page_repeats_it(owner):
    payments = Payments(owner.registry, owner.agent, owner.payee)
    made = await payments.authorized("5")
    await payments.verify(made["token"])
    page = owner.path("wallet/tokens")
    await owner.browser.open(page)
    assert "The amount is paid to the payee" in owner.browser.text
    wrong = await owner.browser.send(f"{page}/settle", payment_token=made["token"][:-1])
    assert (wrong.status_code, 'role="alert"' in wrong.text) == (404, True)
    assert made["token"][:-1] not in wrong.text
    form = owner.browser.form(f"{page}/settle")
    kept = [pair for pair in form.fields if pair[0] != "payment_token"]
    for _ in range(2):
        settled = await owner.browser.post(form.action, kept, payment_token=made["token"])
        assert "The settlement has begun." in settled.text
        assert made["token"] not in settled.text
    assert (await payments.listed(made["token_id"]))["status"] in {"settling", "settled"}
    assert (await payments.settle(made["token"], wait=10)).json()["status"] == "settled"
    assert await owner.payee.balance() == "105"


async def test_a_payee_takes_a_part_of_its_token_and_the_rest_goes_back(owner):
    payments = Payments(owner.registry, owner.payee, owner.agent)
    made = await payments.authorized("5", capture_by="payee")
    await payments.verify(made["token"])
    page = owner.path("wallet/tokens")
    await owner.browser.open(page)
    refused = await owner.browser.send(f"{page}/settle", payment_token=made["token"], capture_amount="6")
    assert (refused.status_code, 'role="alert"' in refused.text) == (422, True)
    await owner.browser.send(f"{page}/settle", payment_token=made["token"], capture_amount="1,5")
    taken = await payments.settle(made["token"], by=owner.agent, wait=10, capture_amount="1.5")
    assert (taken.json()["status"], taken.json()["amount"]) == ("settled", "1.5")
    assert await owner.agent.balance() == "101.5"


async def under_policy(owner, over="5"):
    """The agent may pay no more than this on its own."""
    policy = {"spend_policy": {"approval_over": over}}
    answer = await owner.registry.http.put(
        f"/api/v1/agents/{quote(owner.agent.did)}/authz", json=policy, headers=owner.developer.headers
    )
    assert answer.status_code == 200, answer.text


async def asked_by_the_agent(owner, path, **body):
    """The id of the approval that a request of the agent waits for."""
    answer = await owner.registry.post(path, json=body, headers=owner.agent.headers)
    assert answer.status_code in {202, 403}, answer.text
    document = answer.json()
    return (document if answer.status_code == 202 else document["error"]["context"])["approval_id"]


async def test_after_an_approval_the_owner_makes_the_payment_from_the_inbox_without_typing_an_id(owner):
    await under_policy(owner)
    transfer = {"receiver_agent_id": owner.payee.did, "amount": "10"}
    approval = await asked_by_the_agent(owner, "/teg/transfer", **transfer)
    await owner.browser.open("/account/approvals")
    assert f'href="/account/approvals/{approval}">Decide' in owner.browser.text
    await owner.browser.open(f"/account/approvals/{approval}")
    assert "<dd>Transfer, " in owner.browser.text
    approved = await owner.browser.send(f"/account/approvals/{approval}/approve")
    payment_form = re.search(r'href="([^"]+)">Make the payment<', approved.text)[1]
    for page in ("/account/approvals", owner.path("approvals")):
        assert f'href="{payment_form}">Make the payment' in (await owner.browser.open(page)).text
    await owner.browser.open(payment_form)
    form = dict(owner.browser.form(owner.path("wallet/send/check")).fields)
    assert (form["receiver"], form["amount"], form["approval_id"]) == (owner.payee.did, "10", approval)
    await owner.browser.send(owner.path("wallet/send/check"))
    assert "The units were sent." in (await owner.browser.send(owner.path("wallet/send"))).text
    assert await owner.payee.balance() == "110"
    again = await owner.browser.open(payment_form)
    assert 'name="approval_id"' not in again.text


async def test_a_form_offers_the_approved_payments_that_the_agent_has_not_made(owner):
    await under_policy(owner)
    for page in ("wallet/send", "wallet/tokens/new", "contracts/new"):
        assert 'name="approval_id"' not in (await owner.browser.open(owner.path(page))).text, page
    order = {"target_agent_did": owner.payee.did, "amount": "10"}
    approval = await asked_by_the_agent(owner, "/a2a-payment/authorize", **order)
    pending = await owner.browser.open(owner.path("wallet/tokens/new"))
    assert 'name="approval_id"' not in pending.text
    await owner.browser.open(f"/account/approvals/{approval}")
    await owner.browser.send(f"/account/approvals/{approval}/approve")
    for page in ("wallet/send", "wallet/tokens/new", "contracts/new"):
        text = (await owner.browser.open(owner.path(page))).text
        assert re.search(rf'<option value="{approval}">10 AVT to Payee &lt;b&gt;, until 20', text), page
    page = await prepared_token(owner, approval_id=approval)
    assert page.status_code == 200
    made = await owner.browser.send(owner.path("wallet/tokens"))
    assert 'aria-label="Payment token"' in made.text
    (token,) = await tokens_of(owner)
    assert token["amount"] == "10"


async def test_an_approval_is_offered_only_by_its_own_agent_and_owner(owner):
    await under_policy(owner)
    transfer = {"receiver_agent_id": owner.payee.did, "amount": "10"}
    approval = await asked_by_the_agent(owner, "/teg/transfer", **transfer)
    await owner.browser.open(f"/account/approvals/{approval}")
    await owner.browser.send(f"/account/approvals/{approval}/approve")
    other = await owner.developer.agent(name="Other")
    page = f"/account/agents/{other.did}/wallet/send?approval={approval}"
    text = (await owner.browser.open(page)).text
    assert approval not in re.sub(r"<nav.*?</nav>", "", text, flags=re.DOTALL)
    stranger = await browser_of(owner.registry)
    assert (await stranger.open(f"/account/approvals/{approval}")).status_code == 404
