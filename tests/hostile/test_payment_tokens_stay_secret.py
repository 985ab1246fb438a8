"""Payment tokens in every use and misuse, with crashes: none turns up in a log, a table, a metric or an answer."""

import json
from dataclasses import dataclass, field
from typing import Any

import httpx2

from tests.faults.payment_acts import BY_PAYEE, RESERVED, PaymentWorld
from tests.hostile.served import serve
from tests.hostile.test_secret_canaries import command_line_of, dump, gone, log_of_the_database, spellings
from tests.registry import StartRegistry, TestAgent

PATHS = ("verify", "settle", "release", "settle-many")
CRASHES = ("commerce_payment_token", "ledger_account", "plumbing_idempotency")


@dataclass
class Trade:
    """Requests of a caller and a service to the payment routes, and every answer except those that show a new token."""

    world: PaymentWorld
    http: httpx2.AsyncClient
    tokens: list[str] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)

    async def ask(self, key: str, **more: Any) -> httpx2.Response:
        body = {"target_agent_did": self.world.payments.service.did, "amount": "1", **more}
        headers = {**self.world.payments.caller.headers, "Idempotency-Key": key}
        return await self.http.post("/a2a-payment/authorize", json=body, headers=headers)

    async def authorize(self, **more: Any) -> str:
        """A new token, which is shown again under its key."""
        key = self.world.new_key()
        first, again = [await self.ask(key, **more) for _ in range(2)]
        assert first.json() == again.json(), first.text
        self.tokens.append(first.json()["token"])
        return self.tokens[-1]

    async def say(self, path: str, by: TestAgent | None = None, **request: Any) -> httpx2.Response:
        headers = {**(by.headers if by else {}), **request.pop("headers", {})}
        method = request.pop("method", "POST")
        answer = await self.http.request(method, path, headers=headers, **request)
        self.answers.append(f"{answer.headers}\n{answer.text}")
        return answer


async def test_no_payment_token_turns_up_where_it_does_not_belong(start_registry: StartRegistry):
    registry = await start_registry(public_base_url="http://registry.test", rate_limit_reads="off")
    world = await PaymentWorld.of(registry)
    async with serve(registry, LOG_LEVEL="debug", LOG_FORMAT="json") as served:
        # A server closes the connection on which it crashed.
        each_alone = httpx2.Limits(max_keepalive_connections=0)
        async with httpx2.AsyncClient(base_url=f"{served.url}/api/v1", timeout=30, limits=each_alone) as http:
            trade = Trade(world, http)
            await use_tokens(trade)
            await misuse_tokens(trade)
            await crash_with_tokens_in_hand(trade)
            metrics = (await http.get(f"{served.url}/metrics")).text
        command_line = command_line_of(served)
    assert "request crashed" in served.log.read_text()
    found_in = {
        "log": served.log.read_text(),
        "answers": "\n".join(trade.answers),
        "metrics": metrics,
        "command line": command_line,
        "tables": await dump(registry),
        "the database's log": await log_of_the_database(registry),
    }
    assert "A2APaymentSettled" in found_in["tables"]
    assert len(set(trade.tokens)) >= 5
    leaks = [
        place
        for place, text in found_in.items()
        for token in trade.tokens
        # Without its prefix too: the digits alone are the secret.
        if any(spelling in text for spelling in spellings(token) | {token.removeprefix("apt_")})
    ]
    assert leaks == []


async def use_tokens(trade: Trade) -> None:
    """Each end of a token, and all that lists or names it afterwards."""
    caller, service = trade.world.payments.caller, trade.world.payments.service
    settled, released, failed, captured, expired = [
        await trade.authorize(**kind) for kind in ({}, RESERVED, {"amount": "90"}, BY_PAYEE, RESERVED)
    ]
    await trade.say("/a2a-payment/verify", json={"token": settled, "use_id": "store.1"})
    waiting = {"Prefer": "wait=10"}
    paid = await trade.say("/a2a-payment/settle", caller, json={"token": settled}, headers=waiting)
    assert paid.json()["status"] == "settled"
    await trade.say("/a2a-payment/settle", service, json={"token": captured}, headers=waiting)
    await trade.say("/a2a-payment/release", caller, json={"token": released})
    away = {"receiver_agent_id": service.did, "amount": "50"}
    await trade.say("/teg/transfer", caller, json=away)
    short = await trade.say("/a2a-payment/settle", caller, json={"token": failed}, headers=waiting)
    assert short.json()["status"] == "failed"
    await trade.world.execute(
        "UPDATE commerce_payment_token SET expires_at = clock_timestamp() WHERE status = 'authorized'"
    )
    late = await trade.say("/a2a-payment/verify", json={"token": expired})
    assert late.json()["error"] == "Token expired"
    for role, agent in (("caller", caller), ("payee", service)):
        await trade.say(f"/a2a-payment/my-tokens?role={role}", agent, method="GET")
    await trade.say("/teg/transactions", caller, method="GET")
    await trade.say("/events/", method="GET", headers=trade.world.registry.internal)


async def misuse_tokens(trade: Trade) -> None:
    """The wrong agent, the wrong member, the wrong header, the wrong type, half a body, another route."""
    caller, service = trade.world.payments.caller, trade.world.payments.service
    open_token = await trade.authorize(**RESERVED)
    for token in trade.tokens:
        for path in PATHS:
            for body in (
                {"token": token},
                {"token": [token]},
                {"tokens": [{"token": token}, token]},
                [token],
            ):
                await trade.say(f"/a2a-payment/{path}", service, json=body)
            half = json.dumps({"token": token})[:-1]
            await trade.say(
                f"/a2a-payment/{path}", caller, content=half, headers={"Content-Type": "application/json"}
            )
            await trade.say(f"/a2a-payment/{path}", caller, json={"token": token + "x", token: token})
        for member in ("target_agent_did", "amount", "request_digest", "ttl_seconds"):
            given = {"target_agent_did": service.did, "amount": "1", member: token + "\n"}
            await trade.say("/a2a-payment/authorize", caller, json=given)
        await trade.say("/a2a-payment/my-tokens", headers={"Authorization": f"Bearer {token}"}, method="GET")
        for path in ("/x402/verify", "/x402/settle"):
            payload = {"x402Version": 2, "paymentPayload": {"payload": {"token": token}}}
            await trade.say(
                f"http://{trade.http.base_url.host}:{trade.http.base_url.port}{path}", json=payload
            )
    # The one that was good meanwhile was verified and is good still.
    freed = await trade.say("/a2a-payment/settle", caller, json={"token": open_token, "success": False})
    assert freed.json()["status"] == "released"


async def crash_with_tokens_in_hand(trade: Trade) -> None:
    """Let requests fail on a missing table, with a token in the frames of the traceback."""
    caller, service = trade.world.payments.caller, trade.world.payments.service
    for table in CRASHES:
        tokens = [await trade.authorize(**kind) for kind in (RESERVED, BY_PAYEE)]
        async with gone(trade.world.registry, table):
            for token, by in zip(tokens, (caller, service), strict=True):
                for path in PATHS[:3]:
                    await trade.say(f"/a2a-payment/{path}", by, json={"token": token})
                await trade.say(
                    "/a2a-payment/settle", by, json={"token": token}, headers={"Prefer": "wait=1"}
                )
            refused = await trade.ask(trade.world.new_key(), reserve=True)
            assert refused.status_code >= 400
