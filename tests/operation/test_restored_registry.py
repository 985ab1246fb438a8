"""A registry is served from an old backup, or fails over to a replica that lacks the newest commits: its peer's signed messages
complete the missing rows, on both sides.
"""

import asyncio
import json
from contextlib import AsyncExitStack
from pathlib import Path

import asyncpg
import httpx2
import pytest

from hansa.rooms.transfers.crossing import store
from hansa.rooms.transfers.crossing.high_water import FILE
from tests.operation.crossing_sides import SENDERS, Crossing, Side, crossing_registries
from tests.operation.registry_process import until_async
from tests.properties.scale import by_tier
from tests.registry import DatabaseFarm, name_of

FAILS_OVER = by_tier(False, True, True)
OLDER = "the database is older than what crossed to other registries"

_CUT_OFF = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1"
_CROSSING = "SELECT crossing, own_epoch FROM transfers_pair"


@pytest.mark.parametrize(
    "file", by_tier(["current"], ["current", "behind", "missing"], ["current", "behind", "missing"])
)
async def test_after_the_restore_of_an_old_backup_commits_are_replayed_and_nothing_is_refunded_that_was_credited(
    database_farm: DatabaseFarm, tmp_path: Path, *, file: str
) -> None:
    async with crossing_registries(database_farm, tmp_path) as crossing, AsyncExitStack() as stack:
        a, b = crossing.a, crossing.b
        await transfers(crossing, a, b)
        await crossing.heal()
        await written_down(a)
        backup, file_of_backup = await copied(database_farm, a), _high_water(a).read_bytes()
        await transfers(crossing, a, b)
        await transfers(crossing, b, a)
        await crossing.heal()
        before = await crossing.a.rows("SELECT transfer_id::text, state, amount FROM transfers_sent")
        await written_down(a)
        await a.process.kill()
        if file == "behind":
            _high_water(a).write_bytes(file_of_backup)
        elif file == "missing":
            _high_water(a).unlink()
        await a.restart_on(backup, stack)
        if file == "behind":
            await sent_meanwhile(crossing)
        async with asyncio.timeout(60):
            while (await place_of(a))[1] == 1 or {(await place_of(one))[0] for one in (a, b)} != {"open"}:
                await crossing.a.still_open()
                await crossing.b.still_open()
                await asyncio.sleep(0.2)
        await crossing.heal()
        after = await crossing.a.rows("SELECT transfer_id::text, state, amount FROM transfers_sent")
        assert before.items() <= after.items()
        await crossing.prove()
        crossing.failed.clear()
        await transfers(crossing, a, b)
        await transfers(crossing, b, a)
        await crossing.heal()
        await crossing.prove()
        if file == "current":
            assert OLDER in a.process.log.read_text()
        if FAILS_OVER:
            await _fail_over(crossing, database_farm)


async def _fail_over(crossing: Crossing, farm: DatabaseFarm) -> None:
    """Give the process a database that lacks the last commits, which it notices while it serves."""
    a, b = crossing.a, crossing.b
    epoch = (await place_of(a))[1]
    replica = await copied(farm, a)
    await transfers(crossing, a, b)
    await transfers(crossing, b, a)
    committed = await a.rows("SELECT transfer_id::text, state, amount FROM transfers_sent")
    await written_down(a)
    await exchanged(farm, a, replica)
    async with asyncio.timeout(60):
        while (await place_of(a))[1] == epoch or {(await place_of(one))[0] for one in (a, b)} != {"open"}:
            await a.still_open()
            await b.still_open()
            await asyncio.sleep(0.2)
    await crossing.heal()
    assert await a.rows("SELECT transfer_id::text, state, amount FROM transfers_sent") == committed
    await crossing.prove()


async def transfers(crossing: Crossing, one: Side, other: Side) -> None:
    async with httpx2.AsyncClient(timeout=60, trust_env=False) as http:
        await asyncio.gather(*(crossing.send(http, one, other, number) for number in range(SENDERS)))
    assert not crossing.failed


async def sent_meanwhile(crossing: Crossing) -> None:
    """Nothing shows yet that the database is older: the pair chain must, when units are to cross."""
    async with httpx2.AsyncClient(timeout=60, trust_env=False) as http:
        await asyncio.gather(
            *(crossing.send(http, crossing.a, crossing.b, number) for number in range(SENDERS))
        )


async def place_of(side: Side) -> tuple[str, int]:
    row = await side.registry.database.query(lambda tx: tx.fetchrow(_CROSSING))
    assert row is not None
    return row["crossing"], row["own_epoch"]


async def written_down(side: Side) -> None:
    """The file beside the keys follows the database by a second at most."""

    async def is_current() -> bool:
        places = await side.registry.database.query(store.places)
        file = _high_water(side)
        return file.exists() and json.loads(file.read_bytes())["pairs"] == {
            peer: list(place) for peer, place in places.items()
        }

    await until_async(is_current)


def _high_water(side: Side) -> Path:
    return side.registry.settings.data_dir / "keys" / FILE


async def exchanged(farm: DatabaseFarm, side: Side, replica: str) -> None:
    """The replica under the name of the database; whoever is connected is cut off and finds the replica."""
    source = side.registry.settings.database_url
    assert source is not None
    name, other = name_of(source), name_of(replica)
    admin = await asyncpg.connect(await farm.fresh())
    try:
        await admin.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
        await admin.execute(_CUT_OFF, name)
        await admin.execute(f'ALTER DATABASE "{name}" RENAME TO "{name}_lost"')
        await admin.execute(f'ALTER DATABASE "{other}" RENAME TO "{name}"')
    finally:
        await admin.close()


async def copied(farm: DatabaseFarm, side: Side) -> str:
    """A copy of the database as it is now; whoever is connected is cut off and comes back."""
    source, copy = side.registry.settings.database_url, farm.unused()
    assert source is not None
    admin = await asyncpg.connect(await farm.fresh())
    try:
        await admin.execute(f'ALTER DATABASE "{name_of(source)}" ALLOW_CONNECTIONS false')
        await admin.execute(_CUT_OFF, name_of(source))
        await farm.copy(source, copy)
        await admin.execute(f'ALTER DATABASE "{name_of(source)}" ALLOW_CONNECTIONS true')
    finally:
        await admin.close()
    return copy
