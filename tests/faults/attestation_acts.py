"""An audit cycle whose statements fail: there is one chain, and the next cycle continues it."""

import asyncio
from functools import partial

import asyncpg
from msgspec.structs import asdict

from hansa.rooms import auditor
from hansa.rooms.auditor.attestations import reading
from hansa.rooms.auditor.liabilities import hash_of, store
from hansa.rooms.auditor.liabilities.committing import read_forest
from hansa.rooms.auditor.liabilities.sum_tree import root_of
from hansa_verify import AuditorKey, verify_attestations
from tests.faults.completed import POOL_SIZE, CompletedActs, observed
from tests.faults.failing import Fault, Plan, put_under_plan
from tests.properties.scale import by_tier
from tests.registry import StartRegistry, TestRegistry

FAULTS: tuple[Fault, ...] = by_tier((Fault.KILLED_AFTER,), tuple(Fault), tuple(Fault))
STEP = by_tier(3, 1, 1)
WITHIN_SECONDS = 30
FORGET = "SET LOCAL session_replication_role = replica; UPDATE auditor_verdict SET checked_at = '2026-01-01'"


async def cycle(registry: TestRegistry) -> None:
    async with asyncio.timeout(WITHIN_SECONDS):
        await auditor.run_cycle(registry.runtime)


async def prove_chain(observer: "asyncpg.Connection[asyncpg.Record]") -> int:
    """The chain is valid from its first record on; how many records it has."""
    rows = await reading.list_attestations(observer, "hansa.local", None, 10_000)
    records = [
        {**asdict(row), "ts": auditor.attestations.rules.moment_text(row.ts)} for row in reversed(rows)
    ]
    keys = [
        AuditorKey(key.kid, key.public_key, key.retired_at_id) for key in await reading.list_keys(observer)
    ]
    verdict = verify_attestations(records, keys, exact=True)
    assert verdict.is_valid, verdict.steps
    head = await observer.fetchrow("SELECT head_id, head_digest FROM auditor_chain")
    assert head is not None
    assert (head["head_id"], head["head_digest"]) == (verdict.head_id, verdict.head_digest)
    await prove_tree(observer)
    return verdict.records


async def prove_tree(observer: "asyncpg.Connection[asyncpg.Record]") -> None:
    """The stored places give the tree of the newest verdict."""
    tree = await store.read_tree(observer)
    assert tree is not None
    async with observer.transaction():
        levels = await read_forest(observer, tree)
    assert bytes(levels[-1]) == tree.blocks
    newest = await observer.fetchrow(
        "SELECT id, liabilities_root FROM auditor_verdict ORDER BY id DESC LIMIT 1"
    )
    assert newest is not None
    assert (newest["id"], newest["liabilities_root"]) == (tree.verdict_id, hash_of(root_of(tree.blocks)))


async def _cycle(fault: Fault, start_registry: StartRegistry) -> None:
    registry = await start_registry(database_pool_size=POOL_SIZE, rate_limit_reads="off")
    async with observed(registry) as (plan, observer):
        await _fail_each(registry, plan, observer, fault)


async def _fail_each(
    registry: TestRegistry, plan: Plan, observer: "asyncpg.Connection[asyncpg.Record]", fault: Fault
) -> None:
    await cycle(registry)
    await put_under_plan(registry.database, plan)
    number, had = 0, 1
    while True:
        await observer.execute(f"BEGIN; {FORGET}; COMMIT")
        plan.fail(number, fault)
        try:
            await cycle(registry)
        except Exception:  # noqa: BLE001
            assert plan.has_failed
        plan.watch()
        await observer.execute(f"BEGIN; {FORGET}; COMMIT")
        for _ in range(3):
            try:
                await cycle(registry)
            except Exception:  # noqa: BLE001
                continue
            break
        has = await prove_chain(observer)
        assert has > had
        if number >= len(plan.listed):
            break
        number, had = number + STEP, has
    assert number > 15


CYCLES = CompletedActs("cycle", {fault.value: partial(_cycle, fault) for fault in FAULTS})
