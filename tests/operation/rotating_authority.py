"""Transfers between two serving registries in both directions, without a pause, while one of them rotates its certificate authority."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from time import perf_counter
from typing import Any
from uuid import uuid4

import asyncpg
import httpx2
from cryptography import x509
from cryptography.exceptions import InvalidSignature

from hansa.foundation.plumbing.keys.authority import KEY_NAME
from tests.operation.crossing_sides import SENDERS, Crossing, Side
from tests.operation.registry_process import run, until_async

TRANSFERS_BETWEEN = 20
"""Transfers in each direction that are acknowledged after a step, before the next one."""


class Direction:
    """Transfers of one registry to the other, as their payers are answered."""

    def __init__(self) -> None:
        self.acknowledged = self.refused = 0
        self.longest = 0.0
        """The longest time in seconds from a refused transfer to the next one that is acknowledged."""
        self._refused_since: float | None = None

    def answered(self, *, is_completed: bool) -> None:
        """Count an answer."""
        if not is_completed:
            self.refused += 1
            self._refused_since = self._refused_since or perf_counter()
            return
        self.acknowledged += 1
        if self._refused_since is not None:
            self.longest = max(self.longest, perf_counter() - self._refused_since)
            self._refused_since = None


class Traffic:
    """Both directions."""

    def __init__(self) -> None:
        self.directions = (Direction(), Direction())

    @property
    def acknowledged(self) -> int:
        return sum(one.acknowledged for one in self.directions)

    @property
    def refused(self) -> int:
        return sum(one.refused for one in self.directions)

    def longest_refusal(self) -> float:
        """The longest time for which a direction was refused since the last call, in seconds."""
        longest = max(one.longest for one in self.directions)
        for one in self.directions:
            one.longest = 0.0
        return longest

    async def goes_on(self) -> None:
        """Return once some more transfers are acknowledged in each direction."""
        enough = [one.acknowledged + TRANSFERS_BETWEEN for one in self.directions]

        async def is_enough() -> bool:
            return all(one.acknowledged >= most for one, most in zip(self.directions, enough, strict=True))

        await until_async(is_enough)


@asynccontextmanager
async def traffic_between(crossing: Crossing) -> AsyncIterator[Traffic]:
    """Every agent of both registries pays without a pause meanwhile."""
    traffic, ends = Traffic(), asyncio.Event()
    async with httpx2.AsyncClient(timeout=60, trust_env=False) as http:

        async def pay_on(direction: Direction, one: Side, other: Side, number: int) -> None:
            payer, payee = one.agents[number], other.agents[number]
            while not ends.is_set():
                answer = await http.post(
                    f"{one.process.url}/api/v1/teg/cross-registry-transfer",
                    json={"receiver_did": payee.did, "amount": "0.01"},
                    headers={**payer.headers, "Idempotency-Key": uuid4().hex},
                )
                direction.answered(is_completed=answer.json().get("status") == "completed")

        payers = [
            asyncio.create_task(pay_on(direction, one, other, number))
            for direction, (one, other) in zip(
                traffic.directions, ((crossing.a, crossing.b), (crossing.b, crossing.a)), strict=True
            )
            for number in range(SENDERS)
        ]
        try:
            yield traffic
        finally:
            ends.set()
            await asyncio.gather(*payers)


async def rotate(crossing: Crossing, traffic: Traffic) -> None:
    """Take the three steps at registry a, each once the former one is known where it has to be."""
    a, b = crossing.a, crossing.b
    # The first reading counts the bundle that b was given.
    assert (await a.registry.http.get("/.well-known/spiffe-bundle.json")).status_code == 200

    async def has_roots(count: int) -> bool:
        return len(await roots_known(b, a)) == count

    async def signs_anew() -> bool:
        shown = ssl.get_server_certificate(("127.0.0.1", a.registry.settings.federation_port or 0))
        return _is_issued_by(shown, (a.registry.settings.data_dir / "keys" / f"{KEY_NAME}.pem").read_bytes())

    steps: list[tuple[str, timedelta, Callable[[], Awaitable[bool]]]] = [
        ("published", timedelta(0), lambda: has_roots(2)),
        ("signing", timedelta(minutes=11), signs_anew),
        ("finished", timedelta(days=1, minutes=1), lambda: has_roots(1)),
    ]
    for step, age, is_known in steps:
        await later(a.settings["DATABASE_URL"], age)
        taken = await rotate_key(a, "rotate-authority")
        assert taken["step"] == step
        await until_async(is_known)
        await traffic.goes_on()


async def rotate_key(one: Side, command: str) -> dict[str, Any]:
    """Run a command of `hansa keys` beside the process; return its output."""
    ended = await run("keys", command, "--json", data_dir=one.process.data_dir, **one.settings)
    assert ended.code == 0, ended
    printed: dict[str, Any] = json.loads(ended.output)
    return printed


async def later(dsn: str, age: timedelta) -> None:
    """Move the last change of the authority so much into the past."""
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(
            "UPDATE federation_trust SET own_counted_at = own_counted_at - $1::interval", age
        )
        await connection.execute(
            "UPDATE plumbing_registry_key SET recorded_at = recorded_at - $1::interval", age
        )
    finally:
        await connection.close()


async def roots_known(one: Side, other: Side) -> list[object]:
    """The roots of the other registry that this one stores."""
    statement = "SELECT bundle FROM federation_peer WHERE trust_domain = $1"
    bundle = await one.registry.database.query(lambda tx: tx.fetchval(statement, other.frame))
    keys: list[object] = (json.loads(bundle) if isinstance(bundle, str) else bundle)["keys"]
    return keys


def _is_issued_by(certificate: str, authority: bytes) -> bool:
    root = x509.load_pem_x509_certificates(authority)[0]
    try:
        x509.load_pem_x509_certificate(certificate.encode()).verify_directly_issued_by(root)
    except (ValueError, InvalidSignature):
        return False
    return True
