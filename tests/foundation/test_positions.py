"""Positions begin above all that were ever returned, also by a copy that was served before and given up."""

import asyncio
from contextlib import suppress

from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.positions import POSITIONS_A_SECOND, renew_positions
from hansa.rooms import journal
from tests.registry import TestRegistry


class UndoneError(Exception):
    """Rolls a transaction back."""


async def renewed(tx: Tx) -> int:
    return await renew_positions(tx, await journal.newest_position(tx))


async def first_position_of_a_copy(registry: TestRegistry) -> int:
    """Return the first position of a copy of the registry; the registry itself is unchanged."""
    found: list[int] = []

    async def undo(tx: Tx) -> None:
        found.append(await renewed(tx))
        assert await tx.fetchval("SELECT plumbing_position()") == found[-1]
        raise UndoneError

    with suppress(UndoneError):
        await registry.database.transaction(undo)
    return found[-1]


async def test_a_second_return_from_one_backup_begins_above_all_of_the_first(registry: TestRegistry):
    before = await registry.database.query(journal.newest_sequence)
    first = await first_position_of_a_copy(registry)
    second = int(await registry.database.query(clock.seconds))
    while int(await registry.database.query(clock.seconds)) <= second + 1:  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    later = await first_position_of_a_copy(registry)
    assert later >= first + POSITIONS_A_SECOND
    assert await registry.database.query(journal.newest_sequence) == before


async def test_positions_that_are_ahead_of_the_clock_still_rise(registry: TestRegistry):
    async def far_ahead(tx: Tx) -> tuple[int, int]:
        newest = 2**52
        return newest, await renew_positions(tx, newest)

    newest, first = await registry.database.transaction(far_ahead)
    assert newest < first < 2**53
