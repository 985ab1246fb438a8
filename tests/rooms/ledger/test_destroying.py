"""Units that the operator destroys: once for each reference, and no more than the treasury holds."""

import asyncio

import asyncpg
import pytest

from hansa.foundation.values.money import Minor, units
from hansa.rooms import ledger
from hansa.rooms.ledger.errors import AccountUnknown, ReferenceInvalid, ReferenceUsed, TreasuryInsufficient
from tests.properties.proof import prove_book
from tests.rooms.ledger.treasury import destroy, mint, treasury_holds

SUPPLY = units(10**6)


async def destroyed_in(registry):
    verdict = await registry.supply()
    assert (verdict["status"], verdict["delta"]) == ("OK", "0")
    await registry.database.read(prove_book)
    return verdict["tokens_destroyed"]


async def newest_event(registry):
    return await registry.database.query(lambda tx: tx.fetchval("SELECT max(seq) FROM journal_event"))


async def test_destroyed_units_leave_the_treasury_and_the_supply(registry):
    destroyed = await destroy(registry, 5, "winter")
    assert (destroyed.amount, destroyed.supply) == (5, SUPPLY - 5)
    assert await treasury_holds(registry) == SUPPLY - 5
    assert await destroyed_in(registry) == "0.00000005"


async def test_a_mint_returns_the_supply_without_what_was_destroyed(registry):
    await destroy(registry, 7, "winter")
    assert (await mint(registry, 5, "spring")).supply == SUPPLY - 2


async def test_a_reference_destroys_once(registry):
    await destroy(registry, 5, "winter")
    before = await newest_event(registry)
    with pytest.raises(ReferenceUsed, match="nothing was changed"):
        await destroy(registry, 7, "winter")
    assert await newest_event(registry) == before
    assert await destroyed_in(registry) == "0.00000005"


async def test_what_was_issued_under_a_reference_can_be_destroyed_under_it(registry):
    await mint(registry, 5, "winter")
    assert (await destroy(registry, 5, "winter")).supply == SUPPLY
    with pytest.raises(ReferenceUsed, match="nothing was changed"):
        await mint(registry, 5, "winter")


async def test_of_many_burns_under_one_reference_at_the_same_moment_one_destroys(registry):
    outcomes = await asyncio.gather(
        *(destroy(registry, 5, "winter") for _ in range(8)), return_exceptions=True
    )
    assert sorted(type(outcome).__name__ for outcome in outcomes) == [*["ReferenceUsed"] * 7, "SupplyChange"]
    assert await destroyed_in(registry) == "0.00000005"


async def test_more_than_the_treasury_holds_is_not_destroyed(registry):
    before = await newest_event(registry)
    with pytest.raises(TreasuryInsufficient) as refusal:
        await destroy(registry, SUPPLY + 1, "over")
    assert (refusal.value.status, refusal.value.code) == (409, "TREASURY_INSUFFICIENT")
    assert str(refusal.value) == ("The treasury holds 1000000 units: 1000000.00000001 cannot be destroyed.")
    assert await newest_event(registry) == before
    assert await destroyed_in(registry) == "0"
    assert (await destroy(registry, SUPPLY, "over")).supply == 0


async def test_of_burns_that_the_treasury_cannot_all_cover_only_those_it_covers_destroy(registry):
    outcomes = await asyncio.gather(
        *(destroy(registry, units(400_000), f"share-{number}") for number in range(6)), return_exceptions=True
    )
    kinds = sorted(type(outcome).__name__ for outcome in outcomes)
    assert kinds == ["SupplyChange"] * 2 + ["TreasuryInsufficient"] * 4
    assert await treasury_holds(registry) == units(200_000)
    assert await destroyed_in(registry) == "800000"


async def test_units_that_agents_hold_are_not_destroyed(registry):
    book, did = ledger.Book.of(registry.settings), "did:hansa:hansa.local:holder"

    async def give_everything(tx):
        await ledger.open_account(tx, did)
        assert await ledger.grant(tx, payee=did, amount=SUPPLY, ref="all", book=book)

    await registry.database.transaction(give_everything)
    with pytest.raises(TreasuryInsufficient):
        await destroy(registry, 1, "none left")
    assert (await registry.supply())["total_circulating"] == "1000000"


async def test_a_supply_that_was_destroyed_whole_does_not_come_back_at_a_start(registry):
    book = ledger.Book.of(registry.settings)
    await destroy(registry, SUPPLY, "the end")
    assert await registry.database.transaction(lambda tx: ledger.initialize_ledger(tx, book, SUPPLY)) is False
    assert (await registry.supply())["net_supply"] == "0"


@pytest.mark.parametrize("amount", [0, -5])
async def test_the_database_refuses_to_destroy_nothing_or_less(registry, amount):
    with pytest.raises(asyncpg.CheckViolationError):
        await destroy(registry, amount, "less than nothing")
    assert await destroyed_in(registry) == "0"


@pytest.mark.parametrize("ref", ["", "  ", "x" * 129, "two\nlines", "a\x00b", "\udcff"])
async def test_a_reference_is_short_and_printable(registry, ref):
    with pytest.raises(ReferenceInvalid):
        await destroy(registry, 5, ref)


async def test_a_registry_of_another_method_has_no_treasury_to_destroy_from(registry):
    book = ledger.Book.of(registry.settings.model_copy(update={"did_method": "other"}))
    with pytest.raises(AccountUnknown, match="did:other:system:treasury"):
        await registry.database.transaction(
            lambda tx: ledger.destroy(tx, amount=Minor(5), ref="elsewhere", book=book)
        )
