"""Pairs of acts on the same stake, in every order of their statements."""

from collections.abc import AsyncIterator, Callable
from typing import Any
from uuid import uuid4

import pytest

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor, parse_amount
from hansa.rooms import ledger
from hansa.rooms.ledger import staking
from tests.properties.interleaving import Choose, Director, UseCase, directing, in_every_order
from tests.registry import DatabaseFarm
from tests.rooms.ledger.staking.stakers import Stakers, open_stakers

POLICY = staking.StakingPolicy(is_open=True, pays_rewards=True, minimum=Minor(1))
Judge = Callable[[list[Any], ledger.Balance], bool]


class Pair:
    """Account that holds 40 liquid and 60 staked for ten years, and the acts of two sides on it."""

    def __init__(self, settings: Settings) -> None:
        self.settings, self.book = settings, ledger.Book.of(settings)
        self.did, self.other = (f"did:hansa:hansa.local:{uuid4()}" for _ in range(2))

    def stake(self, amount: str) -> UseCase:
        order = staking.StakeOrder(self.did, parse_amount(amount), 0)
        return lambda tx: staking.stake(tx, order, POLICY, self.book)

    def unstake(self, amount: str) -> UseCase:
        order = staking.UnstakeOrder(self.did, parse_amount(amount))
        return lambda tx: staking.unstake(tx, order, self.book, self.unpinned)

    async def unpinned(self, _: Tx, __: str, ___: int) -> None:
        """No vote pins the stake."""

    def claim(self) -> UseCase:
        return lambda tx: staking.claim_rewards(tx, self.did, POLICY, self.book)

    def compound(self) -> UseCase:
        return lambda tx: staking.compound(tx, self.did, self.settings, self.is_kept_active)

    async def is_kept_active(self, _: Tx, __: str) -> bool:
        """No agent is suspended."""
        return True

    def transfer(self, amount: str) -> UseCase:
        order = ledger.TransferOrder(self.did, self.other, parse_amount(amount))
        return lambda tx: ledger.transfer(tx, order, self.book)

    async def open(self, tx: Tx) -> None:
        for did in (self.did, self.other):
            await ledger.open_account(tx, did)
        for did in (self.did, self.book.fee_collector):
            assert await ledger.grant(tx, payee=did, amount=parse_amount("100"), ref="test", book=self.book)
        position = (await self.stake("60")(tx)).position
        await tx.execute(
            "UPDATE ledger_stake_position SET auto_compound = true, staked_at = staked_at - interval '3650 days' WHERE id = $1",
            position.id,
        )


def units(amount: Minor) -> int:
    """Whole units: the seconds of a test earn less than one."""
    return amount // 10**8


PAIRS: dict[str, tuple[Callable[[Pair], list[UseCase]], Judge]] = {
    "of two releases of the same units one is refused": (
        lambda pair: [pair.unstake("60"), pair.unstake("60")],
        lambda outcomes, held: (
            {type(one) for one in outcomes} == {staking.UnstakeReceipt, staking.InsufficientUnlockedStake}
            and (units(held.liquid), held.staked) == (100, 0)
        ),
    ),
    "of two claims one is paid": (
        lambda pair: [pair.claim(), pair.claim()],
        lambda outcomes, held: (
            sorted(units(one.paid) for one in outcomes) == [0, 12] and units(held.liquid) == 52
        ),
    ),
    "a release and a claim lose no reward": (
        lambda pair: [pair.unstake("60"), pair.claim()],
        lambda outcomes, held: (
            units(outcomes[1].paid) == 12 and (units(held.liquid), held.staked) == (112, 0)
        ),
    ),
    "of a claim and a compounding one pays the reward": (
        lambda pair: [pair.claim(), pair.compound()],
        lambda outcomes, held: (
            sorted((units(outcomes[0].paid), units(outcomes[1]))) == [0, 12]
            and units(held.liquid) + units(held.staked) == 112
        ),
    ),
    "of two compoundings one pays the reward": (
        lambda pair: [pair.compound(), pair.compound()],
        lambda outcomes, held: sorted(map(units, outcomes)) == [0, 12] and units(held.staked) == 72,
    ),
    "beside a release a compounding adds the reward or leaves it due": (
        lambda pair: [pair.unstake("60"), pair.compound()],
        lambda outcomes, held: (
            units(outcomes[1]) == units(held.staked)
            and units(held.staked) in {0, 12}
            and units(held.liquid) == 100
        ),
    ),
    "of a stake and a transfer of the same units one is refused": (
        lambda pair: [pair.stake("30"), pair.transfer("30")],
        lambda outcomes, held: (
            sum(isinstance(one, ledger.InsufficientBalance) for one in outcomes) == 1
            and units(held.liquid) in {9, 10}
        ),
    ),
}


@pytest.fixture(scope="module")
async def stage(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[Stakers, Director]]:
    async with (
        open_stakers(
            database_farm, tmp_path_factory.mktemp("stage"), staking_rewards_enabled=True
        ) as stakers,
        directing(stakers.purses.registry.database.dsn, 2) as director,
    ):
        yield stakers, director


@pytest.mark.parametrize("name", PAIRS)
async def test_in_every_order_of_statements(name: str, stage: tuple[Stakers, Director]) -> None:
    stakers, director = stage
    registry = stakers.purses.registry
    sides, is_right = PAIRS[name]

    async def play(choose: Choose) -> None:
        pair = Pair(registry.settings)
        await registry.database.transaction(pair.open)
        outcomes = await director.play(sides(pair), choose)
        held = await registry.database.read(lambda tx: ledger.balance_of(tx, pair.did))
        assert is_right(outcomes, held), (outcomes, held)
        await stakers.prove()

    assert await in_every_order(play) > 1
