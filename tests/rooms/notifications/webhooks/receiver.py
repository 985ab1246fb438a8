"""A receiver of webhooks: a real HTTP server that keeps its requests and answers as it is set."""

import asyncio
import base64
import hmac
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.telemetry.metrics import webhook_tries_total
from hansa.rooms.notifications.webhooks import WEBHOOKS
from tests.founded import open_copy
from tests.outside import Host, host
from tests.registry import DatabaseFarm, StartRegistry, TestDeveloper, TestRegistry
from tests.running_jobs import run_due, time_passes

HOOKS = "/developers/webhooks"


@dataclass(frozen=True)
class Received:
    """One call: the request line, its headers by lower-case name, the bytes of its body."""

    line: str
    headers: dict[str, str] = field(repr=False)
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def message(self) -> dict[str, Any]:
        return json.loads(self.body)

    def is_signed_with(self, secret: str) -> bool:
        """Checked by the published rule, on the bytes as they came."""
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
        signed = b".".join((self.id.encode(), self.headers["webhook-timestamp"].encode(), self.body))
        wanted = base64.b64encode(hmac.new(key, signed, sha256).digest()).decode()
        return f"v1,{wanted}" in self.headers["webhook-signature"].split(" ")


@dataclass
class Receiver:
    """`status` is its answer, after `pause` seconds."""

    listening: Host
    status: int = 200
    pause: float = 0.0
    received: list[Received] = field(default_factory=list)

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.listening.port}"

    @property
    def url(self) -> str:
        return f"http://{self.place}/hook"

    @property
    def types(self) -> list[str]:
        return [call.message["type"] for call in self.received]


@asynccontextmanager
async def receiving() -> AsyncIterator[Receiver]:
    """A receiver that listens."""
    receiver: Receiver

    async def keep(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line, *lines = receiver.listening.heads[-1].removesuffix("\r\n\r\n").split("\r\n")
        headers = {name.lower(): value for name, value in (entry.split(": ", 1) for entry in lines)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        receiver.received.append(Received(line, headers, body))
        await asyncio.sleep(receiver.pause)
        writer.write(
            f"HTTP/1.1 {receiver.status} X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()
        )

    async with host(keep) as listening:
        receiver = Receiver(listening)
        yield receiver


class Stage:
    """A registry and the receivers that it may call, lent to one test after the other."""

    def __init__(self, registry: TestRegistry, receivers: list[Receiver]) -> None:
        self.registry = registry
        self._free = receivers

    @asynccontextmanager
    async def receiving(self) -> AsyncIterator[Receiver]:
        """A receiver that nobody else uses meanwhile, as good as new."""
        lent = self._free.pop()
        lent.status, lent.pause = 200, 0.0
        lent.received.clear()
        lent.listening.forget()
        try:
            yield lent
        finally:
            self._free.append(lent)


@asynccontextmanager
async def open_stage(farm: DatabaseFarm, directory: Path, *, receivers: int) -> AsyncIterator[Stage]:
    """A registry with so many receivers."""
    async with AsyncExitStack() as stack:
        pool = [await stack.enter_async_context(receiving()) for _ in range(receivers)]
        allowed = ",".join(receiver.place for receiver in pool)
        opening = open_copy(farm, directory, outgoing_allow_user_hosts=allowed)
        yield Stage(await stack.enter_async_context(opening), pool)


@dataclass(frozen=True)
class Hook:
    """A webhook of a developer."""

    owner: TestDeveloper
    id: str
    secret: str

    @property
    def _registry(self) -> TestRegistry:
        return self.owner.registry

    async def read(self) -> dict[str, Any]:
        return _json(await self._registry.get(f"{HOOKS}/{self.id}", headers=self.owner.headers))

    async def change(self, **members: Any) -> dict[str, Any]:
        path = f"/api/v1{HOOKS}/{self.id}"
        return _json(await self._registry.http.put(path, json=members, headers=self.owner.headers))

    async def test(self) -> dict[str, Any]:
        return _json(await self._registry.post(f"{HOOKS}/{self.id}/test", headers=self.owner.headers))

    async def deliveries(self, **query: Any) -> list[dict[str, Any]]:
        path = f"{HOOKS}/{self.id}/deliveries"
        return _json(await self._registry.get(path, params=query, headers=self.owner.headers))["items"]

    async def resend(self, delivery_id: str) -> dict[str, Any]:
        path = f"{HOOKS}/{self.id}/deliveries/{delivery_id}/resend"
        return _json(await self._registry.post(path, headers=self.owner.headers))


async def registry_that_may_call(
    start_registry: StartRegistry, *receivers: Receiver, **settings: Any
) -> TestRegistry:
    """A registry whose operator lets it call these receivers."""
    allowed = ",".join(receiver.place for receiver in receivers)
    return await start_registry(outgoing_allow_user_hosts=allowed, **settings)


async def hook(owner: TestDeveloper, url: str, *event_types: str, **more: Any) -> Hook:
    """Have an address notified of these, by default of everything."""
    body = {"url": url, "event_types": list(event_types or ["*"]), **more}
    answer = await owner.registry.post(HOOKS, json=body, headers=owner.headers)
    assert answer.status_code == 201, answer.text
    return Hook(owner, answer.json()["id"], answer.json()["secret"])


async def send_due(runtime: Runtime) -> int:
    """Send every webhook that is due until none is; return the number of attempts in this process."""
    before = _attempts()
    await run_due(runtime, WEBHOOKS)
    return _attempts() - before


def _attempts() -> int:
    return int(sum(webhook_tries_total.labels(result)._value.get() for result in ("taken", "failed")))


async def move_clock(registry: TestRegistry, seconds: float) -> None:
    """Move every delivery and lease so many seconds into the past."""
    await registry.database.transaction(lambda tx: _earlier(tx, seconds))
    await time_passes(registry.runtime, seconds)


async def _earlier(tx: Any, seconds: float) -> None:
    earlier = f"interval '{seconds} seconds'"
    await tx.execute(
        f"UPDATE notifications_webhook SET paused_until = paused_until - {earlier},"
        f" former_secret_until = former_secret_until - {earlier}"
    )
    await tx.execute(
        f"UPDATE notifications_webhook_delivery SET next_attempt_at = next_attempt_at - {earlier}, created_at = created_at - {earlier}"
    )


def _json(answer: Any) -> Any:
    assert answer.status_code == 200, answer.text
    return answer.json()
