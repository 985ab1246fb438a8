"""Payments by tools: a preview writes an intent, an intent is paid once for good (specification 8, section 2, "Spending")."""

import json
from typing import Any

import pytest

from hansa.rooms.commerce.intents.store import delete_old
from tests.conversations.mcp_client import MODERN_REVISION, McpClient
from tests.conversations.test_buying import RESULT, Service, service
from tests.registry import TestAgent, TestDeveloper, TestRegistry, at_once

__all__ = ["service"]


@pytest.fixture
def registry(registry_of_file: TestRegistry) -> TestRegistry:
    return registry_of_file


@pytest.fixture
async def owner(registry: TestRegistry) -> TestDeveloper:
    return await registry.developer()


@pytest.fixture
async def payer(owner: TestDeveloper) -> TestAgent:
    return await owner.agent(name="Payer")


@pytest.fixture
async def payee(registry: TestRegistry) -> TestAgent:
    return await registry.agent(name="Payee")


@pytest.fixture
def client(payer: TestAgent) -> McpClient:
    return McpClient(payer.registry, payer.token)


def buyer_of(service: Service) -> McpClient:
    return McpClient(service.payments.registry, service.payments.caller.token)


async def previewed(client: McpClient, payee: TestAgent, amount: str = "5", **more: Any) -> str:
    return (await client.done("preview_transfer", receiver=payee.did, amount=amount, **more))["intent"]


async def priced(service: Service, **more: Any) -> dict[str, Any]:
    asked = {"agent": service.payments.service.did, "message": "good morning", **more}
    return await buyer_of(service).done("preview_call", **asked)


async def set_back(registry: TestRegistry, intent: str, minutes: int) -> None:
    """Let so many minutes pass for an intent and for the answers that are kept."""
    await registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE commerce_intent SET expires_at = expires_at - make_interval(mins => $2),"
            " paid_at = paid_at - make_interval(mins => $2) WHERE id = $1",
            intent,
            minutes,
        )
    )


async def test_a_preview_states_the_cost_and_moves_nothing(
    client: McpClient, payer: TestAgent, payee: TestAgent
):
    preview = await client.done("preview_transfer", receiver=payee.did, amount="5")
    assert (preview["amount"], preview["fee"], preview["total"]) == ("5", "0.025", "5.025")
    assert preview["route"] == "local"
    assert preview["intent"].startswith("int_")
    assert len(preview["intent"]) == 36
    assert await payer.balance() == "100"


async def test_a_transfer_is_sent_once_however_often_its_intent_is_paid(
    client: McpClient, payer: TestAgent, payee: TestAgent
):
    intent = await previewed(client, payee, message="For lunch.")
    first = await client.done("send_units", intent=intent)
    assert first["status"] == "completed"
    assert await client.done("send_units", intent=intent) == first
    assert (await payer.balance(), await payee.balance()) == ("94.975", "105")


async def test_a_call_is_bought_at_its_price_and_the_answer_is_marked_as_that_of_another(service: Service):
    preview = await priced(service)
    assert (preview["price"], preview["fee"], preview["total"]) == ("2.5", "0.0125", "2.5125")
    content = await buyer_of(service).content("buy_call", intent=preview["intent"])
    assert content["result"]["status"] == "settled"
    assert content["result"]["answer"]["result"] == RESULT
    assert content["untrusted"] == ["/result/answer"]
    assert content["truncated"] is False
    assert await service.payments.balances() == ("97.4875", "102.5")
    assert (await service.payments.registry.supply())["delta"] == "0"


async def test_a_call_is_paid_once_and_a_repetition_gets_the_first_answer(service: Service):
    intent = (await priced(service))["intent"]
    client = buyer_of(service)
    first = await client.done("buy_call", intent=intent)
    assert await client.done("buy_call", intent=intent) == first
    assert len(service.calls) == 1
    assert await service.payments.balances() == ("97.4875", "102.5")


async def test_a_request_is_sent_as_it_was_previewed(service: Service):
    request = {"method": "skills/run", "params": {"x": 1}}
    preview = await priced(service, message=None, request=request)
    await buyer_of(service).done("buy_call", intent=preview["intent"])
    assert (service.calls[0]["method"], service.calls[0]["params"]) == ("skills/run", {"x": 1})


async def test_a_call_without_a_price_is_not_previewed(client: McpClient, payee: TestAgent):
    assert (await client.refused("preview_call", agent=payee.did, message="hi"))[
        "code"
    ] == "PRICE_NOT_PAYABLE"


async def test_a_price_above_that_of_the_preview_is_not_paid(service: Service):
    intent = (await priced(service))["intent"]
    registry = service.payments.registry
    await registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE catalogue_card SET card_data = jsonb_set(card_data::jsonb, '{pricing,base_rate}', '\"2.6\"') WHERE did = $1",
            service.payments.service.did,
        )
    )
    refused = await buyer_of(service).refused("buy_call", intent=intent)
    assert (refused["status"], refused["code"]) == (409, "PRICE_ABOVE_INTENT")
    assert await service.payments.balances() == ("100", "100")


async def test_an_answer_that_is_long_is_read_in_portions(service: Service):
    text = 'abc"\\' * 5000
    service.answer = lambda call: {"jsonrpc": "2.0", "id": call["id"], "result": text}
    intent = (await priced(service))["intent"]
    client = buyer_of(service)
    parts, offset = [], 0
    while offset is not None:
        result = await client.call("buy_call", intent=intent, offset=offset)
        content = result["structuredContent"]
        assert content["truncated"] is True
        assert len(result["content"][0]["text"]) <= 20_000
        parts.append(content["result"]["answer"])
        offset = content["result"]["answer_portion"]["next_offset"]
    assert json.loads("".join(parts))["result"] == text
    assert len(parts) > 1
    assert len(service.calls) == 1


async def test_an_intent_of_another_principal_is_unknown(
    client: McpClient, owner: TestDeveloper, payer: TestAgent, payee: TestAgent
):
    intent = await previewed(client, payee)
    of_owner = McpClient(client.registry, owner.token)
    of_stranger = McpClient(client.registry, payee.token)
    for other in (of_owner, of_stranger):
        refused = await other.refused("send_units", intent=intent)
        assert (refused["status"], refused["code"]) == (404, "INTENT_UNKNOWN")
    assert await payer.balance() == "100"


async def test_a_person_pays_an_intent_as_the_agent_of_the_preview(
    owner: TestDeveloper, payer: TestAgent, payee: TestAgent
):
    client = McpClient(payer.registry, owner.token)
    intent = await previewed(client, payee, as_=payer.did)
    await client.done("send_units", intent=intent)
    assert await payer.balance() == "94.975"


async def test_an_intent_is_for_its_own_tool(client: McpClient, payee: TestAgent):
    intent = await previewed(client, payee)
    assert (await client.refused("buy_call", intent=intent))["code"] == "INTENT_UNKNOWN"


async def test_an_altered_intent_is_unknown(client: McpClient, payer: TestAgent, payee: TestAgent):
    intent = await previewed(client, payee)
    altered = intent[:-1] + ("0" if intent[-1] != "0" else "1")
    assert (await client.refused("send_units", intent=altered))["code"] == "INTENT_UNKNOWN"
    for malformed in (intent.upper(), intent + "0", "", intent + "\n", "int_"):
        assert (await client.refused("send_units", intent=malformed))["status"] == 422
    assert await payer.balance() == "100"


async def test_arguments_beside_an_intent_are_refused(client: McpClient, payer: TestAgent, payee: TestAgent):
    intent = await previewed(client, payee)
    assert (await client.refused("send_units", intent=intent, amount="1"))["status"] == 422
    assert await payer.balance() == "100"


async def test_an_intent_that_is_not_paid_ends_after_ten_minutes(
    client: McpClient, payer: TestAgent, payee: TestAgent
):
    intent = await previewed(client, payee)
    await set_back(client.registry, intent, 11)
    refused = await client.refused("send_units", intent=intent)
    assert (refused["status"], refused["code"]) == (409, "INTENT_EXPIRED")
    assert await payer.balance() == "100"


async def test_a_paid_intent_gives_its_answer_for_a_day_and_then_its_state_alone(
    client: McpClient, payer: TestAgent, payee: TestAgent
):
    intent = await previewed(client, payee)
    first = await client.done("send_units", intent=intent)
    await set_back(client.registry, intent, 23 * 60)
    assert await client.done("send_units", intent=intent) == first
    await set_back(client.registry, intent, 2 * 60)
    later = await client.done("send_units", intent=intent)
    assert (later["status"], later["payment"]) == ("paid", first["transfer_id"])
    assert await payer.balance() == "94.975"


async def test_an_intent_whose_kept_answer_is_gone_is_not_paid_again(
    client: McpClient, payer: TestAgent, payee: TestAgent
):
    intent = await previewed(client, payee)
    await client.done("send_units", intent=intent)
    await client.registry.database.transaction(lambda tx: tx.execute("DELETE FROM plumbing_idempotency"))
    assert (await client.refused("send_units", intent=intent))["code"] == "INTENT_PAID"
    assert await payer.balance() == "94.975"


async def test_fifty_payments_of_one_intent_at_once_pay_once(
    client: McpClient, payer: TestAgent, payee: TestAgent
):
    intent = await previewed(client, payee)
    done = await at_once(*(client.call("send_units", intent=intent) for _ in range(20)))
    assert any(not one["isError"] for one in done)
    assert (await payer.balance(), await payee.balance()) == ("94.975", "105")


async def test_twenty_intents_are_open_at_once(payee: TestAgent, registry: TestRegistry):
    payer = await registry.agent(name="Planner")
    client = McpClient(registry, payer.token)
    made = await at_once(
        *(client.call("preview_transfer", receiver=payee.did, amount="1") for _ in range(20))
    )
    assert not any(one["isError"] for one in made)
    await registry.database.transaction(lambda tx: tx.execute("DELETE FROM plumbing_rate_limit"))
    other = McpClient(registry, payer.token, "/mcp/rpc")
    refused = await other.refused("preview_transfer", receiver=payee.did, amount="1")
    assert (refused["status"], refused["code"]) == (429, "QUOTA_REACHED")
    await other.done("send_units", intent=made[0]["structuredContent"]["result"]["intent"])
    await previewed(other, payee, "1")


async def test_a_payment_over_the_limit_waits_for_the_owner_and_is_then_made_by_the_same_intent(
    client: McpClient, owner: TestDeveloper, payer: TestAgent, payee: TestAgent
):
    await govern(owner, payer, approval_over="2")
    intent = await previewed(client, payee)
    waiting = await client.done("send_units", intent=intent)
    assert waiting["status"] == "approval_required"
    assert waiting["approve_url"] == (
        f"{client.registry.settings.base_url}/account/approvals/{waiting['approval_id']}"
    )
    assert waiting["expires_at"]
    assert await client.done("send_units", intent=intent) == waiting
    await set_back(client.registry, intent, 60)
    await decide(owner, payer, waiting["approval_id"], "approve")
    assert (await client.done("send_units", intent=intent))["status"] == "completed"
    assert await payer.balance() == "94.975"


async def test_a_denied_payment_is_not_made_and_its_intent_ends_in_time(
    client: McpClient, owner: TestDeveloper, payer: TestAgent, payee: TestAgent
):
    await govern(owner, payer, approval_over="2")
    intent = await previewed(client, payee)
    waiting = await client.done("send_units", intent=intent)
    await decide(owner, payer, waiting["approval_id"], "deny")
    assert (await client.refused("send_units", intent=intent))["code"] == "SPEND_APPROVAL_UNUSABLE"
    await set_back(client.registry, intent, 11)
    assert (await client.refused("send_units", intent=intent))["code"] == "INTENT_EXPIRED"
    assert await payer.balance() == "100"


async def test_a_call_over_the_limit_waits_for_the_owner_too(service: Service):
    registry = service.payments.registry
    owner = await registry.developer()
    caller = await owner.agent(name="Governed")
    await govern(owner, caller, approval_over="1")
    client = McpClient(registry, caller.token, revision=MODERN_REVISION)
    asked = {"agent": service.payments.service.did, "message": "good morning"}
    intent = (await client.done("preview_call", **asked))["intent"]
    waiting = await client.done("buy_call", intent=intent)
    assert waiting["status"] == "approval_required"
    assert not service.calls
    await decide(owner, caller, waiting["approval_id"], "approve")
    assert (await client.done("buy_call", intent=intent))["status"] == "settled"


async def test_a_client_that_opens_pages_is_led_to_the_approval_and_its_word_decides_nothing(
    client: McpClient, owner: TestDeveloper, payer: TestAgent, payee: TestAgent
):
    await govern(owner, payer, approval_over="2")
    client.revision, client.capabilities = MODERN_REVISION, {"elicitation": {"url": {}}}
    intent = await previewed(client, payee)
    asked = await client.call("send_units", intent=intent)
    assert (asked["resultType"], asked["requestState"]) == ("input_required", intent)
    (request,) = asked["inputRequests"].values()
    assert request["method"] == "elicitation/create"
    assert request["params"]["mode"] == "url"
    assert request["params"]["url"].startswith(f"{client.registry.settings.base_url}/account/approvals/")
    accepted = {name: {"action": "accept"} for name in asked["inputRequests"]}
    repeated = {
        "name": "send_units",
        "arguments": {"intent": intent},
        "inputResponses": accepted,
        "requestState": intent,
    }
    waiting = (await client.result("tools/call", repeated))["structuredContent"]["result"]
    assert waiting["status"] == "approval_required"
    assert await payer.balance() == "100"
    await decide(owner, payer, waiting["approval_id"], "approve")
    paid = (await client.result("tools/call", repeated))["structuredContent"]["result"]
    assert paid["status"] == "completed"


@pytest.mark.parametrize("capabilities", [{}, {"elicitation": {"form": {}}}])
async def test_a_client_that_opens_no_pages_gets_the_address(
    client: McpClient, owner: TestDeveloper, payer: TestAgent, payee: TestAgent, capabilities: dict[str, Any]
):
    await govern(owner, payer, approval_over="2")
    client.revision, client.capabilities = MODERN_REVISION, capabilities
    waiting = await client.done("send_units", intent=await previewed(client, payee))
    assert waiting["approve_url"]


async def test_a_payment_that_is_refused_leaves_its_intent_open(
    client: McpClient, payer: TestAgent, payee: TestAgent
):
    intent = await previewed(client, payee, "90")
    await payer.transfer(payee, "50")
    assert (await client.refused("send_units", intent=intent))["code"] == "INSUFFICIENT_BALANCE"
    await payee.transfer(payer, "60")
    assert (await client.done("send_units", intent=intent))["status"] == "completed"


async def test_twenty_calls_a_minute_move_units(registry: TestRegistry, payee: TestAgent):
    payer = await registry.agent(name="Busy")
    client = McpClient(registry, payer.token)
    intent = await previewed(client, payee, "1")
    results = [await client.call("send_units", intent=intent) for _ in range(21)]
    assert not any(one["isError"] for one in results[:20])
    refused = results[20]["structuredContent"]
    assert (refused["code"], refused["status"]) == ("RATE_LIMITED", 429)
    assert 1 <= refused["context"]["retry_after"] <= 60
    assert (await client.done("read_balance"))["balance"] == "98.995"


async def test_a_hundred_and_twenty_calls_a_minute_are_answered(registry: TestRegistry):
    client = McpClient(registry, (await registry.agent(name="Reader")).token)
    codes = [await client.call("read_balance") for _ in range(121)]
    assert not any(one["isError"] for one in codes[:120])
    assert codes[120]["structuredContent"]["code"] == "RATE_LIMITED"


async def test_old_intents_are_forgotten(client: McpClient, payee: TestAgent):
    intent = await previewed(client, payee)
    await set_back(client.registry, intent, 31 * 24 * 60)
    await client.registry.database.transaction(delete_old)
    assert (await client.refused("send_units", intent=intent))["code"] == "INTENT_UNKNOWN"


async def test_the_arguments_of_an_intent_are_sealed(client: McpClient, payee: TestAgent):
    intent = await previewed(client, payee, message="A word between us.")
    sealed = await client.registry.database.query(
        lambda tx: tx.fetchval("SELECT arguments FROM commerce_intent WHERE id = $1", intent)
    )
    assert b"between" not in sealed
    assert payee.did.encode() not in sealed


async def govern(owner: TestDeveloper, agent: TestAgent, **policy: str) -> None:
    answer = await owner.registry.http.put(
        f"/api/v1/agents/{agent.did}/authz", json={"spend_policy": policy}, headers=owner.headers
    )
    assert answer.status_code == 200, answer.text


async def decide(owner: TestDeveloper, agent: TestAgent, approval: str, word: str) -> None:
    path = f"/agents/{agent.did}/spend-approvals/{approval}/{word}"
    assert (await owner.registry.post(path, headers=owner.headers)).status_code == 200
