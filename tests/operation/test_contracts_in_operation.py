"""A served registry is killed hard while contracts run and while a ruling is written: nothing is lost, nothing ends twice."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from itertools import cycle, islice
from random import Random

import asyncpg
import httpx2
import pytest

from hansa.foundation.plumbing.storage.database import Tx
from tests.hostile.served import Served, serve
from tests.operation.contract_courses import AMOUNT, ENDS, PAID, Line, Walk
from tests.operation.registry_process import is_alive
from tests.properties.scale import by_tier, printed_seed
from tests.registry import StartRegistry, TestAgent, TestRegistry
from tests.rooms.commerce.agreements import CONTRACTS_EARLIER, Agreements
from tests.rooms.commerce.disputing import Disputing
from tests.rooms.ledger.purses import Purses

# Two of each course with a commit.
CONTRACTS = by_tier(2 * len(ENDS), 1_000, 1_000)
KILLS = by_tier(2, 30, 300)
# No divisor of the number of courses: each pair gets its share of the proposals that stay open, of which an agent has 100 at most.
PAIRS = 5
AT_ONCE = 16
CALM_SECONDS = (0.05, 0.6)
WITHIN_SECONDS = 120
HELD = 1_000_000

_DUE = "UPDATE plumbing_job SET due_at = clock_timestamp() WHERE kind = 'commerce: contract deadlines' AND key LIKE $1"

_ENDINGS = """
SELECT h.contract_id FROM commerce_contract_history h JOIN commerce_contract c ON c.id = h.contract_id
WHERE h.act IN ('cancelled', 'marked_failed', 'closed') OR h.act = 'approved' AND h.at = c.completed_at
GROUP BY 1 HAVING count(*) <> 1
"""
_COMPLETED = "SELECT count(*) FROM journal_event WHERE event_type = 'ContractCompleted'"
# pg_locks is read anew each time; a transaction goes on seeing the pg_stat_activity that it read first.
_IS_AWAITED = (
    "SELECT EXISTS (SELECT FROM pg_locks"
    " WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid)))"
)
_RULED = (
    "SELECT count(*) FROM journal_event WHERE event_type IN ('DisputeRuled', 'DisputeSlash', 'BondSlashed')"
)


async def test_contracts_that_run_while_the_registry_is_killed_come_to_the_end_of_their_course(
    start_registry: StartRegistry,
) -> None:
    random = Random(printed_seed())
    registry = await start_registry(**RICH)
    agreements = await agreements_of(registry)
    administrator = await registry.administrator("admin_enforcement")
    pairs = [(await registry.agent(), await registry.agent()) for _ in range(PAIRS)]
    line, limits = Line(), httpx2.Limits(max_connections=AT_ONCE)
    async with httpx2.AsyncClient(timeout=60, limits=limits) as http:
        walks = [
            Walk(line, http, course, number, *pairs[number % PAIRS], administrator)
            for number, course in enumerate(islice(cycle(ENDS), CONTRACTS))
        ]
        async with serve(registry) as served:
            line.url = served.url
            await all_of(walks, Walk.begin)
        walking = asyncio.create_task(all_of(walks, lambda walk: walk_to_its_end(walk, registry)))
        for _ in range(KILLS):
            async with serve(registry) as served:
                line.url = served.url
                await asyncio.sleep(random.uniform(*CALM_SECONDS))
                await kill_hard(served)
        async with serve(registry) as served:
            line.url = served.url
            await walking
            async with asyncio.timeout(WITHIN_SECONDS):
                for walk in walks:
                    while ended_as(await walk.read()) != ENDS[walk.course]:  # noqa: ASYNC110
                        await asyncio.sleep(0.05)
    assert [list(row) for row in await registry.database.query(lambda tx: tx.fetch(_ENDINGS))] == []
    assert await registry.database.query(lambda tx: tx.fetchval(_COMPLETED)) == paid_among(walks)
    for place, (contractor, provider) in enumerate(pairs):
        earned = AMOUNT * paid_among(walks[place::PAIRS])
        assert await agreements.balances(provider) == (str(float(HELD + earned)).removesuffix(".0"), "0")
        assert (await agreements.balances(contractor))[1] == "0"
    await agreements.prove()


_BOND = "SELECT FROM reputation_bond WHERE agent_did = $1 FOR UPDATE"
_ACCOUNT = "SELECT FROM ledger_account WHERE did = $1 FOR UPDATE"
# What the ruling waits for, and whose it is. The bond is slashed before the account of the complainant is needed.
WAITS = {
    "for the bond": (_BOND, "bob"),
    "for the account of the defendant": (_ACCOUNT, "bob"),
    "for the account of the complainant": (_ACCOUNT, "alice"),
}


@pytest.mark.parametrize("waits", WAITS)
async def test_a_ruling_killed_between_its_statements_has_done_nothing_and_is_done_once_afterwards(
    start_registry: StartRegistry, waits: str
) -> None:
    registry = await start_registry(**RICH)
    disputing = Disputing(await agreements_of(registry), await registry.administrator("admin_enforcement"))
    alice, bob = await registry.agent(), await registry.agent()
    path = f"/agents/{bob.did}/reputation-bond/deposit"
    bonded = await registry.post(path, json={"amount": "100"}, headers=bob.headers)
    assert bonded.status_code == 200, bonded.text
    paid = (await alice.transfer(bob, "50")).json()["transaction_id"]
    filed = await disputing.in_voting(alice, bob, transaction_id=paid)
    before = await held_by(disputing, alice, bob)
    statement, party = WAITS[waits]
    async with serve(registry) as served:
        await kill_while_ruling(
            disputing, served, filed["id"], (statement, {"alice": alice, "bob": bob}[party].did)
        )
    assert await held_by(disputing, alice, bob) == before
    assert await registry.database.query(lambda tx: tx.fetchval(_RULED)) == 0
    ruled = await disputing.rule(filed, **RULING)
    assert (ruled["slash_applied"], ruled["compensation_amount"]) == ("50", "20")
    assert await disputing.rule(filed, **RULING) == ruled
    assert await registry.database.query(lambda tx: tx.fetchval(_RULED)) == 3
    await disputing.agreements.prove()


RICH = {"genesis_supply": "1000000000", "genesis_grant_amount": str(HELD), "rate_limit_reads": "off"}
RULING = {
    "ruling": "IN_FAVOR_OF_COMPLAINANT",
    "compensation_amount": "20",
    "slash_amount": "50",
    "note": "It was not delivered.",
}


async def agreements_of(registry: TestRegistry) -> Agreements:
    owner = await registry.developer()
    return Agreements(Purses(registry, owner), owner)


async def all_of(walks: list[Walk], act: Callable[[Walk], Awaitable[None]]) -> None:
    """The act of every walk, a few at once."""
    free = asyncio.Semaphore(AT_ONCE)

    async def one(walk: Walk) -> None:
        async with free:
            await act(walk)

    async with asyncio.TaskGroup() as group:
        for walk in walks:
            group.create_task(one(walk))


async def walk_to_its_end(walk: Walk, registry: TestRegistry) -> None:
    await walk.end()
    if walk.course == "left to its deadline":
        await registry.database.transaction(lambda tx: make_due(tx, walk.contract_id))


async def make_due(tx: Tx, contract_id: int) -> None:
    """Four days pass for a contract."""
    await tx.execute(CONTRACTS_EARLIER.replace("$2::interval", "interval '4 days'"), [contract_id])
    await tx.execute(_DUE, f"{contract_id} %")


async def kill_while_ruling(
    disputing: Disputing, served: Served, dispute_id: int, lock: tuple[str, str]
) -> None:
    """A row that the ruling needs is locked; when the ruling waits for it, its process dies."""
    holder = await asyncpg.connect(disputing.registry.database.dsn)
    async with holder.transaction(), httpx2.AsyncClient(timeout=60) as http:
        await holder.execute(*lock)
        url = f"{served.url}/api/v1/admin/disputes/{dispute_id}/ruling"
        asking = asyncio.create_task(http.put(url, json=RULING, headers=disputing.administrator.headers))
        async with asyncio.timeout(WITHIN_SECONDS):
            while not await holder.fetchval(_IS_AWAITED):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        await kill_hard(served)
        with pytest.raises(httpx2.TransportError):
            await asking
    await holder.close()
    await disputing.registry.transactions_ended()


async def held_by(disputing: Disputing, *agents: TestAgent) -> list[tuple[str, str]]:
    return [await disputing.agreements.balances(agent) for agent in agents]


def ended_as(contract: dict[str, str]) -> tuple[str, str]:
    return contract["status"], contract["ended_because"]


def paid_among(walks: list[Walk]) -> int:
    return sum(walk.course in PAID for walk in walks)


async def kill_hard(served: Served) -> None:
    os.kill(served.pid, signal.SIGKILL)
    async with asyncio.timeout(WITHIN_SECONDS):
        while is_alive(served.pid):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
