"""Tools of a model that buys calls: limits hold in parallel and after lost answers, and a quote is paid once."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from decimal import Decimal
from typing import Any

import pytest

from hansa_client import AgentCredentials, AsyncRegistry, Registry, RetryPolicy
from hansa_client.tools import AsyncBuyingTools, BuyingTools
from tests.client.both import Client
from tests.client.faults import Faults
from tests.conversations.test_buying import Service, service
from tests.conversations.test_mcp_spending import decide, govern
from tests.registry import TestAgent

__all__ = ["service"]

BUY = "/api/v1/a2a-payment/buy"
ONCE = RetryPolicy(attempts=1)
Open = Callable[..., Any]


class Tools:
    """Tools in one of their forms, whose texts are read."""

    def __init__(self, tools: AsyncBuyingTools | BuyingTools) -> None:
        self.tools = tools

    async def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        function = next(one for one in self.tools.functions if one.__name__ == name)
        if asyncio.iscoroutinefunction(function):
            text = await function(**arguments)
        else:
            text = await asyncio.to_thread(function, **arguments)
        read: dict[str, Any] = json.loads(text)
        return read

    async def quote(self, agent: str) -> str:
        shown = await self.call("quote_call", agent=agent, message="good morning")
        quote: str = shown["quote"]
        return quote

    async def refused(self, name: str, **arguments: Any) -> str:
        code: str = (await self.call(name, **arguments))["error"]["code"]
        return code


@pytest.fixture(params=[AsyncRegistry, Registry], ids=["asynchronous", "synchronous"])
async def open_tools(request: pytest.FixtureRequest, service: Service, faults: Faults) -> AsyncIterator[Open]:
    """Opens tools of an agent: `open_tools(agent, per_call=…, total=…)`."""
    opened: list[Client] = []
    async with service.payments.registry.listening() as address:

        def open_for(agent: TestAgent, **limits: Any) -> Tools:
            is_asynchronous = request.param is AsyncRegistry
            transport = faults.asynchronous() if is_asynchronous else faults.synchronous()
            credentials = AgentCredentials(agent.created["client_id"], agent.created["client_secret"])
            registry = request.param(
                f"http://{address}", agent=credentials, http_transport=transport, retries=ONCE
            )
            opened.append(Client(registry))
            return Tools((AsyncBuyingTools if is_asynchronous else BuyingTools)(registry, **limits))

        yield open_for
        for client in opened:
            await client.close()


async def test_the_limits_hold_in_parallel_and_after_lost_answers_and_refusals_cost_nothing(
    open_tools: Open, service: Service, faults: Faults
):
    registry, payee = service.payments.registry, service.payments.service.did
    payer = await registry.agent(name="Payer")
    tools = open_tools(payer, per_call="2.5", total="6")
    # Ten quotes at the same moment; two of them fit into the total.
    quotes = await asyncio.gather(*(tools.quote(payee) for _ in range(10)))
    ended = await asyncio.gather(*(tools.call("pay_call", quote=one) for one in quotes))
    assert sorted(one.get("status") or one["error"]["code"] for one in ended) == [
        *["BUDGET_EXCEEDED"] * 8,
        *["settled"] * 2,
    ]
    assert (tools.tools.spent, len(service.calls)) == (Decimal(5), 2)
    assert await payer.balance() == "94.975"
    assert await tools.refused("quote_call", agent=payee, message="more") == "BUDGET_EXCEEDED"
    low = open_tools(payer, per_call="2.49", total="6")
    assert await low.refused("quote_call", agent=payee, message="more") == "BUDGET_EXCEEDED"
    assert await low.refused("pay_call", quote="0" * 32) == "QUOTE_UNKNOWN"
    poor = await registry.agent(name="Poor")
    assert await low.refused("quote_call", agent=poor.did, message="more") == "PRICE_NOT_PAYABLE"
    assert await low.refused("quote_call", agent="no DID", message="more") == "TARGET_AGENT_MALFORMED"
    await lost(open_tools(payer, per_call="5", total="4"), payee, faults)
    assert await payer.balance() == "92.4625"
    await registry.post(
        "/teg/transfer", json={"receiver_agent_id": payer.did, "amount": "99"}, headers=poor.headers
    )
    tools = open_tools(poor, per_call="5", total="5")
    quote = await tools.quote(payee)
    assert await tools.refused("pay_call", quote=quote) == "INSUFFICIENT_BALANCE"
    assert tools.tools.spent == 0


async def lost(tools: Tools, payee: str, faults: Faults) -> None:
    """An answer that is lost holds its price; the same quote then gets the answer, and is paid once."""
    quote, other = [await tools.quote(payee) for _ in range(2)]
    faults.next(BUY, "request lost", "answer lost")
    assert await tools.refused("pay_call", quote=quote) == "REGISTRY_UNREACHABLE"
    assert tools.tools.spent == 0
    assert await tools.refused("pay_call", quote=quote) == "OUTCOME_UNKNOWN"
    assert tools.tools.spent == Decimal("2.5")
    assert await tools.refused("pay_call", quote=other) == "BUDGET_EXCEEDED"
    faults.next(BUY, "503")
    assert await tools.refused("pay_call", quote=quote) == "OUTCOME_UNKNOWN"
    paid, again = [await tools.call("pay_call", quote=quote) for _ in range(2)]
    assert (paid["status"], again) == ("settled", paid)
    assert tools.tools.spent == Decimal("2.5")


async def test_a_quote_is_paid_after_the_approval_of_the_owner(open_tools: Open, service: Service):
    registry = service.payments.registry
    developer = await registry.developer()
    agent = await developer.agent(name="Supervised")
    await govern(developer, agent, approval_over="1")
    tools = open_tools(agent, per_call="5", total="5")
    quote = await tools.quote(service.payments.service.did)
    assert await tools.refused("pay_call", quote=quote) == "SPEND_APPROVAL_REQUIRED"
    assert tools.tools.spent == 0
    path = f"/agents/{agent.did}/spend-approvals?status=pending"
    [waiting] = (await registry.get(path, headers=developer.headers)).json()["items"]
    await decide(developer, agent, waiting["approval_id"], "approve")
    assert (await tools.call("pay_call", quote=quote))["status"] == "settled"
    assert (tools.tools.spent, await agent.balance()) == (Decimal("2.5"), "97.4875")
