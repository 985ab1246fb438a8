"""Acts of the operator on the supply, as tests ask for them: whole minor units, out of and into the treasury."""

from hansa.foundation.values.money import Minor, units
from hansa.rooms import ledger
from tests.registry import TestRegistry

AMOUNT_MAX = units(10**6)


async def mint(
    registry: TestRegistry, amount: int, ref: str, amount_max: Minor = AMOUNT_MAX
) -> ledger.SupplyChange:
    book = ledger.Book.of(registry.settings)
    return await registry.database.transaction(
        lambda tx: ledger.mint(tx, amount=Minor(amount), ref=ref, amount_max=amount_max, book=book)
    )


async def destroy(registry: TestRegistry, amount: int, ref: str) -> ledger.SupplyChange:
    book = ledger.Book.of(registry.settings)
    return await registry.database.transaction(
        lambda tx: ledger.destroy(tx, amount=Minor(amount), ref=ref, book=book)
    )


async def treasury_holds(registry: TestRegistry) -> Minor:
    book = ledger.Book.of(registry.settings)
    return (await registry.database.read(lambda tx: ledger.balance_of(tx, book.treasury))).liquid
