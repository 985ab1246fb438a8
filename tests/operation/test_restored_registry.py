"""A registry is served from an old backup, or fails over to a replica that lacks the newest commits: its peer's signed messages
complete what is lacking, on both sides.
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
from tests.operation.registry_process import until
from tests.properties.scale import by_tier
from tests.registry import DatabaseFarm, name_of

FAILS_OVER = by_tier(False, True, True)
OLDER = "the database is older than what crossed to other registries"

_CUT_OFF = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1"
_CROSSING = "SELECT crossing, own_epoch FROM transfers_pair"


@pytest.mark.parametrize("has_file", by_tier([True], [True, False], [True, False]))
async def test_after_the_restore_of_an_old_backup_commits_are_replayed_and_nothing_is_refunded_that_was_credited(
    database_farm: DatabaseFarm, tmp_path: Path, *, has_file: bool
) -> None:
    async with crossing_registries(database_farm, tmp_path) as crossing, AsyncExitStack() as stack:
        a, b = crossing.a, crossing.b
        await transfers(crossing, a, b)
        await crossing.heal()
        backup = await copied(database_farm, a)
        await transfers(crossing, a, b)
        await transfers(crossing, b, a)
        await crossing.heal()
        before = await crossing.a.rows("SELECT transfer_id::text, state, amount FROM transfers_sent")
        await written_down(a)
        if not has_file:
            _high_water(a).unlink()
        await a.restart_on(backup, stack)
        async with asyncio.timeout(60):
            while (await place_of(a))[1] == 1 or {(await place_of(one))[0] for one in (a, b)} != {"open"}:
                await crossing.a.still_open()
                await crossing.b.still_open()
                await asyncio.sleep(0.2)
        await crossing.heal()
        after = await crossing.a.rows("SELECT transfer_id::text, state, amount FROM transfers_sent")
        assert after == before
        assert len(crossing.acknowledged) == 3 * SENDERS
        await transfers(crossing, a, b)
        await transfers(crossing, b, a)
        await crossing.heal()
        assert len(crossing.acknowledged) == 5 * SENDERS
        await crossing.prove()
        if has_file:
            assert OLDER in a.process.log.read_text()
        if FAILS_OVER:
            await _fail_over(crossing, database_farm)


async def _fail_over(crossing: Crossing, farm: DatabaseFarm) -> None:
    """The process goes on with a database that lacks what was committed last, and notices it while it serves."""
    a, b = crossing.a, crossing.b
    epoch, noticed = (await place_of(a))[1], a.process.log.read_text().count(OLDER)
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
    assert a.process.log.read_text().count(OLDER) > noticed


async def transfers(crossing: Crossing, one: Side, other: Side) -> None:
    async with httpx2.AsyncClient(timeout=30, trust_env=False) as http:
        await asyncio.gather(*(crossing.send(http, one, other, number) for number in range(SENDERS)))
    assert not crossing.failed


async def place_of(side: Side) -> tuple[str, int]:
    row = await side.registry.database.look(lambda tx: tx.fetchrow(_CROSSING))
    assert row is not None
    return row["crossing"], row["own_epoch"]


async def written_down(side: Side) -> None:
    """The file beside the keys follows the database by a second at most."""
    places = {peer: list(place) for peer, place in (await side.registry.database.look(store.places)).items()}
    await until(
        lambda: _high_water(side).exists() and json.loads(_high_water(side).read_bytes())["pairs"] == places
    )


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
