"""A registry is served from an old backup: its peer's signed messages complete what the backup lacks, on both sides."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import asyncpg
import httpx2
import pytest

from tests.operation.crossing_sides import SENDERS, Crossing, Side, crossing_registries
from tests.properties.scale import by_tier
from tests.registry import DatabaseFarm, name_of

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
        if not has_file:
            (a.registry.settings.data_dir / "keys" / "crossing-high-water.json").unlink()
        await a.restart_on(backup, stack)
        async with asyncio.timeout(60):
            while (await place_of(a))[0] != "open" or (await place_of(b))[0] != "open":
                await crossing.a.still_open()
                await crossing.b.still_open()
                await asyncio.sleep(0.2)
        assert (await place_of(a))[1] > 1
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
            assert "the database is older than what crossed to other registries" in a.process.log.read_text()


async def transfers(crossing: Crossing, one: Side, other: Side) -> None:
    async with httpx2.AsyncClient(timeout=30, trust_env=False) as http:
        await asyncio.gather(*(crossing.send(http, one, other, number) for number in range(SENDERS)))
    assert not crossing.failed


async def place_of(side: Side) -> tuple[str, int]:
    row = await side.registry.database.look(lambda tx: tx.fetchrow(_CROSSING))
    assert row is not None
    return row["crossing"], row["own_epoch"]


async def copied(farm: DatabaseFarm, side: Side) -> str:
    """A copy of the database as it is now; whoever is connected is cut off and comes back."""
    source, copy = side.registry.settings.database_url, farm.unused()
    assert source is not None
    admin = await asyncpg.connect(await farm.fresh())
    try:
        await admin.execute(f'ALTER DATABASE "{name_of(source)}" ALLOW_CONNECTIONS false')
        await admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", name_of(source)
        )
        await farm.copy(source, copy)
        await admin.execute(f'ALTER DATABASE "{name_of(source)}" ALLOW_CONNECTIONS true')
    finally:
        await admin.close()
    return copy
