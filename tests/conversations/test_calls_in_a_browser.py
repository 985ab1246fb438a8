"""An owner pays for a call in the browser: price and balance before, then answer, receipt and dispute."""

import re
from html import unescape

import pytest

from tests.browsing import BrowserOf
from tests.conversations.test_buying import RESULT, Service, service
from tests.registry import TestAgent, TestDeveloper, at_once

__all__ = ["service"]

CALL = "/account/call"


@pytest.fixture
async def owner(service: Service) -> TestDeveloper:
    return await service.payments.registry.developer()


@pytest.fixture
async def payer(owner: TestDeveloper) -> TestAgent:
    return await owner.agent(name="Own payer")


@pytest.fixture
async def browser(service: Service, owner: TestDeveloper, payer: TestAgent) -> BrowserOf:
    """A browser of the owner on the page of the call."""
    browser = await BrowserOf(service.payments.registry).log_in(owner.email)
    await browser.open(f"{CALL}?agent={service.payments.service.did}")
    return browser


def shown(browser: BrowserOf) -> str:
    return re.sub(r"<[^>]*>", "", browser.text).replace("\u202f", "")


async def test_price_fee_balance_and_the_whole_are_shown_before_anything_is_paid(
    browser: BrowserOf, payer: TestAgent
):
    assert "Pay 2.5125 AVT and call" in browser.text
    figures = " ".join(shown(browser).split())
    for figure in ("Price 2.5 AVT", "Fee 0.0125 AVT", "Total 2.5125 AVT", "Balance of Own payer 100 AVT"):
        assert figure in figures.replace("Price2.5", "Price 2.5").replace("Fee0", "Fee 0") or figure.replace(
            " ", ""
        ) in figures.replace(" ", "")
    assert await payer.balance() == "100"


async def test_a_call_is_paid_once_and_its_answer_shown_with_the_receipt_and_the_dispute(
    service: Service, browser: BrowserOf, payer: TestAgent
):
    form = browser.form(CALL).fields
    message = [*(pair for pair in form if pair[0] != "message"), ("message", "good morning")]
    for _ in range(2):
        await browser.post(CALL, message)
        assert "bonjour" in browser.text
        assert "Settled" in browser.text
    assert len(service.calls) == 1
    assert await payer.balance() == "97.4875"
    (receipt,) = set(re.findall(r'href="(/pay/[0-9a-f-]{36})"', browser.text))
    (dispute,) = re.findall(r'href="(/account/agents/[^"]*/disputes/new[^"]*)"', browser.text)
    await browser.open(dispute.replace("&amp;", "&"))
    assert receipt.removeprefix("/pay/") in browser.text
    assert (await browser.open(receipt)).status_code == 200


async def test_two_clicks_at_once_pay_one_call(service: Service, browser: BrowserOf, payer: TestAgent):
    form = [*(pair for pair in browser.form(CALL).fields if pair[0] != "message"), ("message", "hello")]
    await at_once(*(browser.post(CALL, form) for _ in range(2)))
    assert len(service.calls) == 1
    assert await payer.balance() == "97.4875"


async def test_nothing_is_paid_when_the_agent_delivers_nothing(
    service: Service, browser: BrowserOf, payer: TestAgent
):
    service.verifies, service.status = False, 503
    await browser.send(CALL, message="good morning")
    assert "No answer" in browser.text
    assert "/pay/" not in browser.text
    assert await payer.balance() == "100"


async def test_a_price_that_rose_since_the_page_was_shown_is_refused_with_the_message_kept(
    service: Service, browser: BrowserOf, payer: TestAgent
):
    seller = service.payments.service
    await seller.registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE catalogue_card SET card_data = replace(card_data::text, '\"2.5\"', '\"3\"')::json WHERE did = $1",
            seller.did,
        )
    )
    await browser.send(CALL, message="a long question")
    assert "The price is 3" in browser.text
    assert "a long question" in browser.text
    assert "Pay 3.015 AVT and call" in browser.text
    assert await payer.balance() == "100"


async def test_above_the_amount_that_the_agent_pays_alone_its_owner_approves_and_pays_in_one_step(
    service: Service, browser: BrowserOf, owner: TestDeveloper, payer: TestAgent
):
    policy = {"spend_policy": {"approval_over": "1"}}
    await owner.registry.http.put(f"/api/v1/agents/{payer.did}/authz", json=policy, headers=owner.headers)
    await browser.send(CALL, message="good morning")
    assert browser.page.status_code == 202
    assert "Nothing was moved." in browser.text
    assert "Approve and call: 2.5 AVT" in browser.text
    assert service.calls == []
    await browser.send(CALL)
    assert "bonjour" in browser.text
    assert await payer.balance() == "97.4875"


async def test_a_transfer_above_that_amount_is_approved_and_sent_in_one_step(
    service: Service, browser: BrowserOf, owner: TestDeveloper, payer: TestAgent
):
    policy = {"spend_policy": {"approval_over": "1"}}
    await owner.registry.http.put(f"/api/v1/agents/{payer.did}/authz", json=policy, headers=owner.headers)
    send = f"/account/agents/{payer.did}/wallet/send"
    await browser.open(f"{send}?receiver={service.payments.service.did}")
    await browser.send(f"{send}/check", amount="2", memo="for lunch")
    await browser.send(send)
    assert "Approve and send: 2 AVT" in browser.text
    form = browser.form(send).fields
    for _ in range(2):
        await browser.post(send, form)
        assert "The units were sent." in browser.text or browser.page.url.params.get("done") == "sent"
    assert await payer.balance() == "97.99"


async def test_a_payer_of_somebody_else_is_unknown(service: Service, browser: BrowserOf):
    answer = await browser.send(CALL, message="good morning", payer=service.payments.caller.did)
    assert answer.status_code == 404
    assert service.calls == []


async def test_an_unknown_agent_a_free_one_and_a_person_without_agents_get_a_page_that_says_so(
    service: Service, browser: BrowserOf
):
    registry = service.payments.registry
    assert (await browser.open(f"{CALL}?agent=did:hansa:nobody")).status_code == 404
    free = await registry.agent(name="Free")
    await browser.open(f"{CALL}?agent={free.did}")
    assert "This agent is free" in browser.text
    newcomer = await BrowserOf(registry).log_in((await registry.developer()).email)
    await newcomer.open(f"{CALL}?agent={service.payments.service.did}")
    assert "you have none that is active" in newcomer.text


async def test_a_hostile_answer_is_text(service: Service, browser: BrowserOf):
    hostile = {**RESULT, "parts": [{"text": "<script>alert(1)</script>\u202e"}, {"text": 7}, 3]}
    service.answer = lambda call: {"jsonrpc": "2.0", "id": call["id"], "result": hostile}
    await browser.send(CALL, message="good morning")
    assert "<script>alert" not in browser.text
    assert "\u202e" not in browser.text.replace("\\u202e", "")


async def test_a_handle_names_the_receiver_and_latest_parties_are_suggested_by_name(
    service: Service, browser: BrowserOf, payer: TestAgent
):
    seller = service.payments.service
    registry = seller.registry
    handle = (await registry.get(f"/agent-cards/{seller.did}")).json()["human_readable_id"]
    send = f"/account/agents/{payer.did}/wallet/send"
    await browser.open(send)
    assert f'<option value="{seller.did}"' not in browser.text
    await browser.send(f"{send}/check", receiver=handle, amount="1")
    assert dict(browser.form(send).fields)["receiver"] == seller.did
    await browser.send(send)
    assert await payer.balance() == "98.995"
    for page in (
        send,
        f"/account/agents/{payer.did}/contracts/new",
        f"/account/agents/{payer.did}/disputes/new",
    ):
        await browser.open(page)
        assert f'<option value="{seller.did}" label="Service"' in browser.text, page
    await browser.open(send)
    refused = await browser.send(f"{send}/check", receiver="nobody/knows", amount="1")
    assert (refused.status_code, 'id="receiver-trouble"' in browser.text) == (404, True)


async def test_an_agent_of_any_registry_stands_with_the_name_on_its_card(
    service: Service, browser: BrowserOf, payer: TestAgent
):
    await payer.transfer(service.payments.service, "1")
    await browser.open(f"/account/agents/{payer.did}/wallet/statement")
    (name,) = set(re.findall(r'<span class="name"><bdi>(Service)</bdi></span>', browser.text))
    assert name == "Service"
    assert "data-of" not in browser.text
    await payer.registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE catalogue_card SET name = '<b>Mirrored</b>', source_registry = 'elsewhere', developer_id = NULL"
            " WHERE did = $1",
            service.payments.service.did,
        )
    )
    await browser.open(f"/account/agents/{payer.did}/wallet/statement")
    assert "<bdi>&lt;b&gt;Mirrored&lt;/b&gt;</bdi>" in browser.text


async def test_a_payment_link_leads_its_reader_to_a_filled_in_transfer(
    service: Service, browser: BrowserOf, owner: TestDeveloper, payer: TestAgent
):
    registry = payer.registry
    payee_owner = await registry.developer()
    payee = await payee_owner.agent(name="Payee")
    theirs = await BrowserOf(registry).log_in(payee_owner.email)
    await theirs.open(f"/account/agents/{payee.did}/wallet/receive?amount=2,5&memo=for+lunch")
    assert payee.did in theirs.text
    assert "Request for 2.5 AVT" in theirs.text
    (link,) = re.findall(rf"<code>{registry.settings.base_url}(/account/send[^<]*)</code>", theirs.text)
    await browser.open(unescape(link))
    send = f"/account/agents/{payer.did}/wallet/send"
    assert browser.page.url.path == send
    await browser.send(f"{send}/check")
    await browser.send(send)
    assert await payee.balance() == "102.5"
    second = await owner.agent(name="Second payer")
    await browser.open(unescape(link))
    for agent in (payer, second):
        assert f'href="/account/agents/{agent.did}/wallet/send?receiver=' in browser.text
