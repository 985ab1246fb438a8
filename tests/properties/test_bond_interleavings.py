"""Two acts on one bond that meet, in many orders of their statements."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.money import units
from hansa.rooms import commerce, ledger
from hansa.rooms.reputation.bonds.bond import BondShown, Policy
from hansa.rooms.reputation.bonds.moves import begin_release, deposit, slash_bond, unlock
from tests.properties.interleaving import Choose, Director, directing, in_some_orders
from tests.properties.scale import by_tier, printed_seed
from tests.registry import DatabaseFarm
from tests.rooms.reputation.bonded import DAY, Bonded, open_bonded

SAMPLE = by_tier(4, 60, 600)

# In which state they meet, the two acts, and the states and amounts that may be left of a bond of 100.
MEETINGS: dict[str, tuple[str, tuple[str, str], set[tuple[str, str]]]] = {
    "two first deposits": ("none", ("deposit", "deposit"), {("active", "200")}),
    "two further deposits": ("active", ("deposit", "deposit"), {("active", "300")}),
    "deposit and release": ("active", ("deposit", "release"), {("active", "200"), ("releasing", "200")}),
    "release and slash": ("active", ("release", "slash"), {("releasing", "60"), ("slashed", "60")}),
    "deposit and slash": ("active", ("deposit", "slash"), {("active", "160")}),
    "unlock and slash": ("releasing", ("unlock", "slash"), {("released", "0")}),
    "unlock and deposit": ("releasing", ("unlock", "deposit"), {("active", "100"), ("active", "200")}),
    "two unlocks": ("releasing", ("unlock", "unlock"), {("released", "0")}),
}


@pytest.fixture(scope="module")
async def stage(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[Bonded, Director]]:
    async with (
        open_bonded(database_farm, tmp_path_factory.mktemp("met")) as bonds,
        directing(bonds.registry.runtime.database.dsn, 2) as director,
    ):
        yield bonds, director


@pytest.mark.parametrize("name", MEETINGS)
async def test_however_two_acts_meet_the_bond_is_in_one_state_and_is_one_hold(
    name: str, stage: tuple[Bonded, Director]
) -> None:
    bonds, director = stage
    state, acts, left = MEETINGS[name]
    settings = bonds.registry.settings
    policy, book = Policy.of(settings), ledger.Book.of(settings)

    async def play(choose: Choose) -> None:
        bob = await bonds.agreements.contractor()
        if state != "none":
            await bonds.act(bob, "deposit", amount="100")
        if state == "releasing":
            await bonds.act(bob, "release")
            await bonds.elapse(bob, 15 * DAY)

        async def act(tx: Tx, act: str) -> Any:
            match act:
                case "deposit":
                    return await deposit(tx, bob.did, units(100), policy, book)
                case "release":
                    return await begin_release(tx, bob.did, settings)
                case "unlock":
                    return await unlock(tx, bob.did, book)
                case _:
                    return await slash_bond(tx, commerce.BondSlash(bob.did, units(40), bob.did), settings)

        sides = [lambda tx, one=one: act(tx, one) for one in acts]
        outcomes = await director.play(sides, choose)
        for outcome in outcomes:
            assert isinstance(outcome, BondShown | commerce.BondSlashed | Refused), repr(outcome)
        bond = await bonds.status(bob)
        assert (bond["state"], bond["amount"]) in left, outcomes

    await in_some_orders(play, count=SAMPLE, seed=printed_seed())
    await bonds.prove()
