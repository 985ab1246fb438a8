"""Two agents of a registry, one of which pays the other for calls."""

import asyncio
from dataclasses import dataclass
from typing import Any

import httpx2

from tests.registry import TestAgent, TestRegistry

ELSEWHERE = "did:web:agents.elsewhere.example"


@dataclass(frozen=True)
class Payments:
    """Requests of a caller and a service to the payment routes."""

    registry: TestRegistry
    caller: TestAgent
    service: TestAgent

    @classmethod
    async def between_two(cls, registry: TestRegistry) -> "Payments":
        """Two agents of different developers, each with the genesis grant of 100 units."""
        return cls(registry, await registry.agent(name="Caller"), await registry.agent(name="Service"))

    async def post(self, path: str, by: TestAgent | None, body: object, **headers: str) -> httpx2.Response:
        sent = {**(by.headers if by else {}), **headers}
        return await self.registry.post(f"/a2a-payment/{path}", json=body, headers=sent)

    async def ask(self, amount: object = "1", *, key: str | None = None, **more: Any) -> httpx2.Response:
        body = {"target_agent_did": self.service.did, "amount": amount, **more}
        headers = {"Idempotency-Key": key} if key else {}
        return await self.post("authorize", self.caller, body, **headers)

    async def authorized(self, amount: str = "1", **more: Any) -> dict[str, Any]:
        answer = await self.ask(amount, **more)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def verify(self, token: object, **more: Any) -> dict[str, Any]:
        answer = await self.post("verify", None, {"token": token, **more})
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def settle(
        self, token: object, *, by: TestAgent | None = None, wait: int | None = None, **more: Any
    ) -> httpx2.Response:
        headers = {} if wait is None else {"Prefer": f"wait={wait}"}
        return await self.post("settle", by or self.caller, {"token": token, **more}, **headers)

    async def release(self, token: object, *, by: TestAgent | None = None) -> httpx2.Response:
        return await self.post("release", by or self.caller, {"token": token})

    async def listed(self, token_id: str, by: TestAgent | None = None) -> dict[str, Any]:
        role = "payee" if by == self.service else "caller"
        answer = await self.registry.get(
            f"/a2a-payment/my-tokens?token_id={token_id}&role={role}", headers=(by or self.caller).headers
        )
        assert answer.status_code == 200, answer.text
        [found] = answer.json()
        return found

    async def ended(self, token_id: str) -> dict[str, Any]:
        """The token once its settlement has ended."""
        async with asyncio.timeout(20):
            while (token := await self.listed(token_id))["status"] == "settling":
                pass
            return token

    async def balances(self) -> tuple[str, str]:
        return await self.caller.balance(), await self.service.balance()

    async def past_expiry(self, token_id: str) -> None:
        """Let the token's time be over, which no request can do."""
        moved = """UPDATE commerce_payment_token SET created_at = created_at - interval '1 second',
          expires_at = clock_timestamp() - interval '1 millisecond' WHERE id = $1"""
        await self.registry.database.transaction(lambda tx: tx.execute(moved, token_id))
