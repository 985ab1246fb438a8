"""Two or three serving registries that are peers, each with a proxy before its listener, and transfers between them."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path
from time import monotonic
from typing import Any
from uuid import uuid4

import httpx2

from hansa.rooms import ledger
from tests.neighbours.two_registries import introduce
from tests.operation.cutting_proxy import CuttingProxy, cutting_proxy
from tests.operation.registry_process import RegistryProcess, free_port
from tests.properties.proof import prove_book
from tests.registry import DatabaseFarm, TestAgent, TestRegistry, open_prepared, open_registry

SENDERS = 6
QUIET_SECONDS = 300.0
"""Only the condition decides; this ends a test that would never end.

After a trouble a peer may not be called for 60 s (the pause after failed calls), and a job of a killed process is taken over after 30 s.
"""

_TIME_PASSES = """
WITH sent AS (
  UPDATE transfers_sent SET next_at = now(), deadline = least(deadline, now()), tries = 0 WHERE next_at IS NOT NULL RETURNING 1
), received AS (
  UPDATE transfers_received SET next_at = now(), tries = 0 WHERE next_at IS NOT NULL RETURNING 1
), jobs AS (
  UPDATE plumbing_job SET due_at = now() WHERE kind LIKE 'transfers: %' AND state = 'waiting' RETURNING 1
)
SELECT (SELECT count(*) FROM sent) + (SELECT count(*) FROM received)
"""
_OPEN = (
    "SELECT 'out' AS direction, frame, transfer_id, state, tries, next_at FROM transfers_sent WHERE next_at IS NOT NULL",
    "SELECT 'in' AS direction, frame, transfer_id, state, tries, next_at FROM transfers_received WHERE next_at IS NOT NULL",
    "SELECT peer, own_epoch, own_seq, seen_epoch, seen_seq, crossing FROM transfers_pair",
    "SELECT kind, key, state, attempts, due_at, last_error FROM plumbing_job WHERE kind LIKE 'transfers: messages%'",
)
_SENT = "SELECT transfer_id::text, state, amount FROM transfers_sent WHERE frame = $1"
_RECEIVED = "SELECT transfer_id::text, state, amount FROM transfers_received WHERE frame = $1"


@dataclass
class Side:
    """One registry: the process that serves it, a second look at its database, and the proxy before its listener."""

    registry: TestRegistry
    process: RegistryProcess
    proxy: CuttingProxy
    agents: list[TestAgent]
    port: int
    settings: dict[str, str]

    @property
    def frame(self) -> str:
        return self.registry.settings.trust_domain

    async def rows(self, statement: str, *values: object) -> dict[str, tuple[str, int]]:
        found = await self.registry.database.query(lambda tx: tx.fetch(statement, *values))
        return {row["transfer_id"]: (row["state"], row["amount"]) for row in found}

    async def restart_on(self, dsn: str, stack: AsyncExitStack) -> None:
        """The process is killed, and the registry served from another database with the same data directory."""
        await self.process.kill()
        settings = {**self.settings, "DATABASE_URL": dsn}
        self.process = RegistryProcess(self.registry.settings.data_dir, port=self.port, **settings)
        stack.push_async_callback(self.process.kill)
        prepared = self.registry.settings.model_copy(update={"database_url": dsn})
        self.registry = await stack.enter_async_context(open_prepared(prepared, dsn))
        await self.process.start()

    async def still_open(self) -> int:
        """Make the transfers that are not closed yet due now, and return their number."""
        count: int = await self.registry.database.transaction(lambda tx: tx.fetchval(_TIME_PASSES))
        return count


@dataclass
class Crossing:
    """Transfers between all registries, and the answers to their senders."""

    sides: list[Side]
    acknowledged: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)

    @property
    def a(self) -> Side:
        return self.sides[0]

    @property
    def b(self) -> Side:
        return self.sides[1]

    async def send(self, http: httpx2.AsyncClient, one: Side, other: Side, number: int) -> None:
        payer, payee = one.agents[number], other.agents[number]
        try:
            answer = await http.post(
                f"{one.process.url}/api/v1/teg/cross-registry-transfer",
                json={"receiver_did": payee.did, "amount": "0.01"},
                headers={**payer.headers, "Idempotency-Key": uuid4().hex},
            )
        except httpx2.TransportError:
            return
        body: Mapping[str, Any] = answer.json()
        if body.get("status") == "completed":
            self.acknowledged.add(body["transfer_id"])
        elif answer.status_code != 200:
            assert answer.status_code in {403, 409, 503}, body
            self.failed.add((body["error"].get("context") or {}).get("transfer_id", ""))

    async def heal(self) -> None:
        """Until each side holds the other's receipts of everything."""
        deadline = monotonic() + QUIET_SECONDS
        while sum([await side.still_open() for side in self.sides]):
            assert monotonic() < deadline, f"not decided although the network healed: {await self._open()}"
            await asyncio.sleep(0.2)

    async def _open(self) -> list[Any]:
        """Return the transfers that are not closed, with their peer and job, for the message of a failure."""
        found = [
            await side.registry.database.query(lambda tx, statement=statement: tx.fetch(statement))
            for side in self.sides
            for statement in _OPEN
        ]
        return [dict(row) for rows in found for row in rows]

    async def prove(self) -> None:
        for one, other in permutations(self.sides, 2):
            sent, received = await one.rows(_SENT, other.frame), await other.rows(_RECEIVED, one.frame)
            committed = {transfer for transfer, (state, _) in sent.items() if state == "committed"}
            credited = {transfer for transfer, (state, _) in received.items() if state == "committed"}
            assert committed == credited
            assert {state for state, _ in sent.values()} <= {"committed", "aborted"}
            assert not committed & self.failed
            assert self.acknowledged & set(sent) <= committed
            totals = {pair.frame: pair for pair in await one.registry.database.read(ledger.corridor_totals)}
            pair = totals.get(other.frame)
            assert pair is not None or not committed
            if pair is not None:
                assert pair.delta == 0
                assert pair.committed_out == pair.confirmed_out == 10**6 * len(committed)
        for side in self.sides:
            await side.registry.database.read(prove_book)
            supply = await side.registry.supply()
            assert (supply["status"], supply["delta"]) == ("OK", "0")


@asynccontextmanager
async def crossing_registries(
    farm: DatabaseFarm, directory: Path, names: str = "ab", **more_of_each: dict[str, Any]
) -> AsyncIterator[Crossing]:
    """One for each name; settings of one alone are given under its name."""
    ports = {name: (free_port(), free_port(), free_port()) for name in names}
    allowed = [f"127.0.0.1:{port}" for three in ports.values() for port in three]
    async with AsyncExitStack() as stack:
        registries: list[TestRegistry] = []
        settings: list[dict[str, str]] = []
        for name, (public, listener, proxied) in ports.items():
            dsn = await farm.fresh()
            given: dict[str, Any] = {
                "trust_domain": f"{name}.example",
                "registry_name": f"registry-{name}",
                "public_base_url": f"http://127.0.0.1:{public}",
                "federation_port": listener,
                "federation_base_url": f"https://127.0.0.1:{proxied}",
                "outgoing_allow_hosts": allowed,
                **more_of_each.get(name, {}),
            }
            settings.append({"DATABASE_URL": dsn, "DATABASE_POOL_SIZE": "8", **_as_environment(given)})
            registries.append(await stack.enter_async_context(open_registry(dsn, directory / name, **given)))
        for one, other in permutations(registries, 2):
            await introduce(one, other)
        sides = []
        for registry, more, (public, listener, proxied) in zip(
            registries, settings, ports.values(), strict=True
        ):
            agents = [await registry.agent() for _ in range(SENDERS)]
            process = RegistryProcess(registry.settings.data_dir, port=public, **more)
            stack.push_async_callback(process.kill)
            proxy = await stack.enter_async_context(cutting_proxy(proxied, listener))
            sides.append(Side(registry, process, proxy, agents, public, more))
        await asyncio.gather(*(side.process.start() for side in sides))
        yield Crossing(sides)


def _as_environment(given: dict[str, Any]) -> dict[str, str]:
    return {
        name.upper(): ",".join(value) if isinstance(value, list) else str(value)
        for name, value in given.items()
    }
