"""What the operator does by hand on the registry's own data, whether it serves or rests."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from hansa.doors.opening import join_ground
from hansa.foundation.plumbing.database import Database
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.words.money import Minor, parse_amount
from hansa.rooms import ledger, people


async def create_administrator(
    settings: Settings, *, name: str, email: str, password: str, areas: Sequence[str]
) -> int:
    """Create a verified developer who administers these areas; returns the id.

    Raises: Refused, and what joining the ground raises.
    """
    administrator = await people.admit_administrator(name=name, email=email, password=password, areas=areas)
    async with _database(settings) as database:
        return await database.act(lambda tx: people.create_administrator(tx, administrator))


async def mint(settings: Settings, amount: Minor, ref: str) -> ledger.Minted:
    """Issue units to the treasury, once for each `ref`.

    Raises: Refused, and what joining the ground raises.
    """
    amount_max, book = parse_amount(settings.teg_mint_max_avt), ledger.Book.of(settings)
    async with _database(settings) as database:
        return await database.act(
            lambda tx: ledger.mint(tx, amount=amount, ref=ref, amount_max=amount_max, book=book)
        )


@asynccontextmanager
async def _database(settings: Settings) -> AsyncIterator[Database]:
    async with join_ground(settings) as dsn:
        database = Database(dsn, pool_size=1)
        await database.open()
        try:
            yield database
        finally:
            await database.close()
