"""Each statement of a purchase fails once: it is paid once or not at all, its work is done once, and a repetition says which.

A purchase whose end failed is ended by its job, as after a process that died.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import asyncpg
import httpx2
import pytest

from hansa.doors.mcp.exchange import CALLS, MONEY_CALLS
from hansa.foundation.plumbing.web.limits import LeasedLimit
from hansa.rooms.commerce.payments import purchase
from hansa.rooms.commerce.payments.purchase import PURCHASE_ENDS
from hansa.rooms.commerce.payments.settlement_worker import resume_settlements
from tests.conversations.mcp_client import McpClient
from tests.faults.completed import faults_of_commits
from tests.faults.failing import Plan, put_under_plan
from tests.outside import Host, host
from tests.paying import Payments
from tests.payment_proof import open_tokens, prove_tokens
from tests.properties.proof import prove_book, prove_supply
from tests.registry import DatabaseFarm, open_registry
from tests.running_jobs import run_due, time_passes

POOL_SIZE = 2
TRIES = POOL_SIZE + 2
HOUR = 3600.0
# Behind a purchase a process waits so long for its transfer; here nothing else would carry on with it.
SETTLED_WITHIN_SECONDS = 0.3


@dataclass
class Market:
    """A caller, a service that is called at an address of this machine, and the tokens that it was called with."""

    payments: Payments
    observer: "asyncpg.Connection[asyncpg.Record]"
    plan: Plan
    called_with: list[str] = field(default_factory=list)
    number: int = 0

    async def buy(self, key: str) -> httpx2.Response:
        body = {
            "target_agent_did": self.payments.service.did,
            "message": "good morning",
            "max_amount": "1",
        }
        async with asyncio.timeout(30):
            return await self.payments.post("buy", self.payments.caller, body, **{"Idempotency-Key": key})

    def new_key(self) -> str:
        self.number += 1
        return f"purchase-{self.number}"

    async def repeated(self, key: str) -> httpx2.Response:
        """The answer to the same request, once its connections are whole and its end has come."""
        for _ in range(TRIES):
            answer = await self.buy(key)
            if answer.status_code < 500 and "IDEMPOTENCY_KEY_IN_PROGRESS" not in answer.text:
                return answer
            await time_passes(self.payments.registry.runtime, HOUR)
            await run_due(self.payments.registry.runtime, PURCHASE_ENDS)
        raise AssertionError(f"the purchase does not end: {answer.text}")

    async def end_what_is_open(self) -> None:
        runtime = self.payments.registry.runtime
        await time_passes(runtime, HOUR)
        await run_due(runtime, PURCHASE_ENDS)
        await self.observer.execute(
            "UPDATE commerce_payment_token SET settling_at = settling_at - interval '10 seconds'"
            " WHERE status = 'settling'"
        )
        await resume_settlements(runtime)

    async def paid(self) -> int:
        settled: int = await self.observer.fetchval(
            "SELECT count(*) FROM commerce_payment_token WHERE status = 'settled'"
        )
        return settled


@pytest.fixture(scope="module")
async def market(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Market]:
    dsn = await database_farm.fresh()
    met: list[Market] = []
    listening: Host

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        headers = dict(line.lower().split(": ", 1) for line in listening.heads[-1].split("\r\n")[1:] if line)
        call = json.loads(await reader.readexactly(int(headers["content-length"])))
        met[0].called_with.append(headers["x-payment-token"])
        body = json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": {"text": "bonjour"}}).encode()
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

    async with host(speak) as listening:
        place = f"127.0.0.1:{listening.port}"
        settings = {"genesis_grant_amount": "100000", "rate_limit_reads": "off", "rate_limit_writes": "off"}
        async with open_registry(
            dsn,
            tmp_path_factory.mktemp("purchases"),
            database_pool_size=POOL_SIZE,
            outgoing_allow_user_hosts=place,
            **settings,
        ) as registry:
            interface = {
                "url": f"http://{place}/a2a",
                "protocolBinding": "JSONRPC",
                "protocolVersion": "1.0",
            }
            service = await registry.agent(
                name="Service", pricing={"base_rate": "1"}, supportedInterfaces=[interface]
            )
            caller = await registry.agent(name="Caller")
            observer = await asyncpg.connect(dsn)
            met.append(Market(Payments(registry, caller, service), observer, Plan(observer)))
            await put_under_plan(registry.database, met[0].plan)
            yield met[0]
            await observer.close()


async def _undisturbed(market: Market) -> list[str]:
    """The statements of a purchase when nothing fails."""
    for _ in range(2):
        market.plan.watch()
        answer = await market.buy(market.new_key())
        assert answer.status_code == 200, answer.text
    return list(market.plan.listed)


async def test_whichever_statement_of_a_purchase_fails_it_is_paid_once_or_not_at_all(
    market: Market, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(purchase, "SETTLED_WITHIN_SECONDS", SETTLED_WITHIN_SECONDS)
    statements = await _undisturbed(market)
    for number, statement in enumerate(statements):
        for fault in faults_of_commits(statement):
            site = f"statement {number} of {len(statements)} ({statement[:60]}): {fault.value}"
            paid, called = await market.paid(), len(market.called_with)
            key = market.new_key()
            market.plan.fail(number, fault)
            first = await market.buy(key)
            assert market.plan.has_failed, site
            assert first.status_code in {200, 503}, (site, first.text)
            await prove_tokens(market.observer)
            market.plan.watch()
            answer = await market.repeated(key)
            assert answer.status_code == 200, (site, answer.text)
            await market.end_what_is_open()
            assert await open_tokens(market.observer) == [], site
            _require_same_purchase(first, answer.json(), site)
            assert await market.paid() - paid <= 1, site
            # What was undone before the call begins anew; no token is sent twice.
            assert len(market.called_with) - called <= 2, site
            assert len(set(market.called_with)) == len(market.called_with), site
            await prove_tokens(market.observer)
    await prove_book(market.observer)
    await prove_supply(market.payments.registry.supply)
    print(f"purchase: {len(statements)} statements, each failed once")


async def test_whichever_statement_of_a_call_bought_by_an_intent_fails_it_is_paid_once(
    market: Market, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(purchase, "SETTLED_WITHIN_SECONDS", SETTLED_WITHIN_SECONDS)
    registry = market.payments.registry
    for limit in (CALLS, MONEY_CALLS):
        limit.put(registry.runtime, LeasedLimit(registry.database, limit.name, 0))
    tools = McpClient(registry, market.payments.caller.token)
    asked = {"agent": market.payments.service.did, "message": "good morning"}

    async def intent() -> str:
        return str((await tools.done("preview_call", **asked))["intent"])

    for _ in range(2):
        known = await intent()
        market.plan.watch()
        await tools.done("buy_call", intent=known)
    statements = list(market.plan.listed)
    for number, statement in enumerate(statements):
        for fault in faults_of_commits(statement):
            site = f"statement {number} of {len(statements)} ({statement[:60]}): {fault.value}"
            known, paid = await intent(), await market.paid()
            market.plan.fail(number, fault)
            first = await tools.send("tools/call", {"name": "buy_call", "arguments": {"intent": known}})
            assert market.plan.has_failed, site
            assert first.status_code in {200, 503}, (site, first.text)
            market.plan.watch()
            bought = await _bought_by(market, tools, known)
            await market.end_what_is_open()
            assert await open_tokens(market.observer) == [], site
            again = await tools.done("buy_call", intent=known)
            assert (again["token_id"], again["answer"]) == (bought["token_id"], bought["answer"]), site
            assert await market.paid() - paid <= 1, site
            assert len(set(market.called_with)) == len(market.called_with), site
            await prove_tokens(market.observer)
    await prove_book(market.observer)
    await prove_supply(registry.supply)


async def _bought_by(market: Market, tools: McpClient, intent: str) -> dict[str, Any]:
    """The answer to the same intent, once its connections are whole and its end has come."""
    refused: dict[str, Any] = {}
    for _ in range(TRIES):
        answer = await tools.send("tools/call", {"name": "buy_call", "arguments": {"intent": intent}})
        if answer.status_code == 200:
            result = answer.json()["result"]
            if not result["isError"]:
                bought: dict[str, Any] = result["structuredContent"]["result"]
                return bought
            refused = result["structuredContent"]
            assert refused["status"] >= 500 or refused["code"] == "IDEMPOTENCY_KEY_IN_PROGRESS", refused
        await time_passes(market.payments.registry.runtime, HOUR)
        await run_due(market.payments.registry.runtime, PURCHASE_ENDS)
    raise AssertionError(f"the purchase does not end: {refused}")


def _require_same_purchase(first: httpx2.Response, repeated: dict[str, Any], site: str) -> None:
    """A first answer that came is the one that is repeated, though its transfer may have ended since."""
    if first.status_code == 200:
        shown = first.json()
        assert shown["token_id"] == repeated["token_id"], (site, shown, repeated)
        assert shown["answer"] == repeated["answer"], (site, shown, repeated)
