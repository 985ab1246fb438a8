"""Units that the operator issues: once for each reference, within the limits of one issue and of the supply."""

import asyncio

import pytest

from hansa.foundation.values.money import Minor, units
from hansa.rooms.ledger.errors import MintTooLarge, ReferenceInvalid, ReferenceUsed, SupplyExhausted
from tests.rooms.ledger.treasury import destroy, mint, treasury_holds


async def issued_in(registry):
    verdict = await registry.supply()
    assert verdict["status"] == "OK"
    return verdict["tokens_issued"]


async def test_minted_units_are_the_treasurys_and_count_into_the_supply(registry):
    minted = await mint(registry, 5, "winter")
    assert (minted.amount, minted.supply) == (5, units(10**6) + 5)
    assert await treasury_holds(registry) == units(10**6) + 5
    assert await issued_in(registry) == "1000000.00000005"


async def test_a_reference_used_before_issues_nothing(registry):
    await mint(registry, 5, "winter")
    for ref in ("winter", "genesis"):
        with pytest.raises(ReferenceUsed):
            await mint(registry, 7, ref)
    assert await issued_in(registry) == "1000000.00000005"


async def test_of_many_mints_under_one_reference_at_the_same_moment_one_issues(registry):
    outcomes = await asyncio.gather(*(mint(registry, 5, "winter") for _ in range(8)), return_exceptions=True)
    assert sorted(type(outcome).__name__ for outcome in outcomes) == [*["ReferenceUsed"] * 7, "SupplyChange"]
    assert await issued_in(registry) == "1000000.00000005"


async def test_one_mint_issues_no_more_than_its_limit(registry):
    assert (await mint(registry, 100, "full", amount_max=Minor(100))).amount == 100
    with pytest.raises(MintTooLarge):
        await mint(registry, 101, "over", amount_max=Minor(100))
    assert await issued_in(registry) == "1000000.000001"


@pytest.mark.parametrize("ref", ["", "  ", "x" * 129, "two\nlines", "a\x00b", "\udcff"])
async def test_a_reference_is_short_and_printable(registry, ref):
    with pytest.raises(ReferenceInvalid):
        await mint(registry, 5, ref)


async def test_the_supply_reaches_its_limit_and_never_passes_it(start_registry):
    registry = await start_registry(genesis_supply="89999999999")
    with pytest.raises(SupplyExhausted):
        await mint(registry, units(1) + 1, "over")
    outcomes = await asyncio.gather(
        *(mint(registry, units(1), f"last-{number}") for number in range(6)), return_exceptions=True
    )
    assert sorted(type(outcome).__name__ for outcome in outcomes) == [
        "SupplyChange",
        *["SupplyExhausted"] * 5,
    ]
    assert await treasury_holds(registry) == units(9 * 10**10)
    assert await issued_in(registry) == "90000000000"


async def test_what_was_destroyed_may_be_issued_again(start_registry):
    registry = await start_registry(genesis_supply="90000000000")
    assert (await destroy(registry, units(5), "winter")).supply == units(9 * 10**10 - 5)
    with pytest.raises(SupplyExhausted):
        await mint(registry, units(5) + 1, "over")
    assert (await mint(registry, units(5), "again")).supply == units(9 * 10**10)
    assert await issued_in(registry) == "90000000005"
