"""Settlements of a served registry: those under way in a process that is killed hard are ended by the next one, each once."""

import asyncio
import contextlib
import os
import signal
from collections import Counter
from random import Random

import asyncpg
import httpx2

from tests.faults.payment_acts import BY_PAYEE, RESERVED, PaymentWorld
from tests.hostile.served import Served, serve
from tests.operation.registry_process import is_alive
from tests.payment_proof import open_tokens, prove_tokens
from tests.properties.proof import prove_book, prove_supply
from tests.properties.scale import printed_seed
from tests.registry import StartRegistry, TestRegistry
from tests.running_jobs import time_passes

SETTLING, RACING = 6, 12
KILLED_WITHIN_SECONDS = 0.15
WITHIN_SECONDS = 120
SWEEP_SECONDS = 60

# pg_locks is read anew each time; a transaction goes on seeing the pg_stat_activity that it read first.
_IS_AWAITED = (
    "SELECT EXISTS (SELECT FROM pg_locks"
    " WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid)))"
)
_IS_AT_WORK = """
SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
  AND backend_type = 'client backend' AND state <> 'idle')
"""
_STATES = "SELECT status, count(*) AS many FROM commerce_payment_token GROUP BY status"


async def test_what_a_killed_process_was_settling_ends_once_in_the_next_one(start_registry: StartRegistry):
    random = Random(printed_seed())
    registry = await start_registry(rate_limit_reads="off")
    world = await PaymentWorld.of(registry)
    kinds = ({}, RESERVED, BY_PAYEE)
    made = [await world.authorized(**kinds[n % 3]) for n in range(SETTLING)]
    async with serve(registry) as killed:
        await kill_while_settling(world, killed, made)
    # What reached the database is settled by it; of the others nothing is there.
    assert set(await states(registry)) <= {"authorized", "settled"}
    for token_id in await registry.database.read(open_tokens):
        await world.left_settling(token_id, 1)
    raced = [await world.authorized(**kinds[n % 3]) for n in range(RACING)]
    async with serve(registry) as killed:
        await kill_among_requests(world, killed, raced, random)
    late, unused = await world.authorized(**RESERVED), await world.authorized(**RESERVED)
    await world.left_settling(late["token_id"], 91)
    # The leases of the killed process end: the next one looks when they do.
    await time_passes(registry.runtime, SWEEP_SECONDS)
    async with serve(registry):
        still_open = await registry.database.read(open_tokens)
        assert unused["token_id"] in still_open
        await world.execute(
            "UPDATE commerce_payment_token SET expires_at = clock_timestamp() WHERE status IN ('authorized', 'consumed')"
        )
        await time_passes(registry.runtime, SWEEP_SECONDS)
        async with asyncio.timeout(WITHIN_SECONDS):
            while await registry.database.read(open_tokens):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
    ended = await states(registry)
    assert sum(ended.values()) == SETTLING + RACING + 2
    assert set(ended) <= {"settled", "released", "expired", "failed"}
    assert ended["settled"] >= SETTLING
    assert (ended["failed"], ended["expired"] >= 1) == (1, True)
    await registry.database.read(prove_tokens)
    await registry.database.read(prove_book)
    await prove_supply(registry.supply)


async def kill_while_settling(world: PaymentWorld, served: Served, made: list[dict[str, str]]) -> None:
    """The settlements wait for an account, and the process dies meanwhile."""
    service = world.payments.service
    holder = await asyncpg.connect(world.registry.database.dsn)
    async with holder.transaction(), httpx2.AsyncClient(base_url=f"{served.url}/api/v1", timeout=60) as http:
        await holder.execute("SELECT 1 FROM ledger_account WHERE did = $1 FOR UPDATE", service.did)

        async def settle(one: dict[str, str]) -> None:
            by = service if one["capture_by"] == "payee" else world.payments.caller
            with contextlib.suppress(httpx2.TransportError):
                await http.post("/a2a-payment/settle", json={"token": one["token"]}, headers=by.headers)

        asking = [asyncio.create_task(settle(one)) for one in made]
        async with asyncio.timeout(WITHIN_SECONDS):
            while not await holder.fetchval(_IS_AWAITED):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        await kill_hard(served)
        await asyncio.gather(*asking)
    async with asyncio.timeout(WITHIN_SECONDS):
        while await holder.fetchval(_IS_AT_WORK):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    await holder.close()


async def kill_among_requests(
    world: PaymentWorld, served: Served, made: list[dict[str, str]], random: Random
) -> None:
    """Each token is settled, given up or verified at the same moment, and the process dies at some point of it."""
    async with httpx2.AsyncClient(base_url=f"{served.url}/api/v1", timeout=60) as http:

        async def ask(one: dict[str, str], number: int) -> None:
            by = world.payments.service if one["capture_by"] == "payee" else world.payments.caller
            path = ("settle", "settle", "release", "verify")[number % 4]
            try:
                await http.post(f"/a2a-payment/{path}", json={"token": one["token"]}, headers=by.headers)
            except httpx2.TransportError:
                return

        asking = [asyncio.create_task(ask(one, number)) for number, one in enumerate(made)]
        await asyncio.sleep(random.uniform(0, KILLED_WITHIN_SECONDS))
        await kill_hard(served)
        await asyncio.gather(*asking)


async def kill_hard(served: Served) -> None:
    os.kill(served.pid, signal.SIGKILL)
    async with asyncio.timeout(WITHIN_SECONDS):
        while is_alive(served.pid):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def states(registry: TestRegistry) -> Counter[str]:
    rows = await registry.database.query(lambda tx: tx.fetch(_STATES))
    return Counter({row["status"]: row["many"] for row in rows})
