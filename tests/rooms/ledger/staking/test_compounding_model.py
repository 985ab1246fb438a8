"""Drawn histories of stakes, releases, claims, compoundings, slashes and kills, against a plain model: equal to the last unit.

The clock of a stake is drawn as well: in a transaction of a history `statement_timestamp()` is a function of a schema that precedes
those of PostgreSQL.
"""

import random
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import count
from typing import Any

import pytest

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor
from hansa.rooms import ledger
from hansa.rooms.ledger import staking
from tests.properties.scale import by_tier, part_of, printed_seed
from tests.registry import DatabaseFarm
from tests.rooms.ledger.staking.compounding_model import DAY, YEAR, CompoundingModel, Stake
from tests.rooms.ledger.staking.stakers import Stakers, open_stakers

HISTORIES = by_tier(6, 60, 400)
ACTS = by_tier(40, 80, 120)
GRANTED = 500 * 10**8
BEGIN = 2_000_000_000
LOCKS = (0, 1, 29, 30, 89, 90, 180, 364, 365)
POLICY = staking.StakingPolicy(is_open=True, pays_rewards=True, minimum=Minor(1))

_CLOCK = """
CREATE SCHEMA IF NOT EXISTS drawn;
CREATE OR REPLACE FUNCTION drawn.statement_timestamp() RETURNS timestamptz STABLE LANGUAGE sql
  AS $$ SELECT to_timestamp(current_setting('drawn.at')::bigint) $$;
"""
_SET_CLOCK = """
SELECT set_config('drawn.at', $1, true), set_config('search_path', 'drawn, pg_catalog, ' || current_setting('search_path'), true)
"""
_AS_OF_NOW = """
UPDATE ledger_stake_position SET staked_at = statement_timestamp(), unlocks_at = statement_timestamp() + make_interval(days => lock_period)
WHERE id = $1
"""
_POSITIONS = """
SELECT p.id, p.remaining, p.auto_compound, extract(epoch FROM coalesce(p.rewarded_until, p.staked_at))::bigint AS counted_until
FROM ledger_stake_position p JOIN ledger_account a ON a.id = p.account_id WHERE a.did = $1 ORDER BY p.id
"""
_ACCOUNT = """
SELECT a.liquid, a.staked, coalesce(r.due, 0) AS due
FROM ledger_account a LEFT JOIN ledger_stake_reward r ON r.account_id = a.id WHERE a.did = $1
"""
_numbers = count(1)


@pytest.fixture(scope="module")
async def stakers(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stakers]:
    directory = tmp_path_factory.mktemp("compounding-model")
    async with open_stakers(database_farm, directory, staking_rewards_enabled=True) as opened:
        await opened.purses.execute(_CLOCK)
        yield opened


class KilledError(Exception):
    """The process died before the commit."""


class History:
    """An agent with units, and the model of its account."""

    def __init__(self, stakers: Stakers, did: str, rng: random.Random) -> None:
        self.stakers, self.did, self.rng = stakers, did, rng
        self.settings = stakers.purses.registry.settings
        self.book = ledger.Book.of(self.settings)
        self.model = CompoundingModel(GRANTED, BEGIN)
        self.slashed, self.is_killed = 0, False

    async def act(self) -> None:
        acts: list[Callable[[], Awaitable[None]]] = [
            *[self.stake] * 2,
            *[self.unstake] * 2,
            *[self.turn] * 2,
            *[self.compound] * 3,
            *[self.elapse] * 4,
            self.claim,
            self.collect,
            self.slash,
            self.kill,
        ]
        await self.rng.choice(acts)()

    async def done(self, use_case: Callable[[Tx], Awaitable[Any]]) -> Any:
        """Carry out an act at the drawn time; one that is killed leaves nothing."""

        async def at_its_time(tx: Tx) -> Any:
            await tx.execute(_SET_CLOCK, str(self.model.at))
            outcome = await use_case(tx)
            if self.is_killed:
                raise KilledError
            return outcome

        return await self.stakers.purses.registry.database.transaction(at_its_time)

    def amount(self, most: int) -> int:
        return self.rng.choice((1, most, self.rng.randint(1, most), self.rng.randint(1, 1 + most // 1000)))

    async def elapse(self) -> None:
        self.model.at += self.rng.choice((1, DAY - 1, DAY, self.rng.randrange(90 * DAY), YEAR))

    async def stake(self) -> None:
        if self.model.liquid:
            amount, lock = self.amount(self.model.liquid), self.rng.choice(LOCKS)

            async def staked(tx: Tx) -> int:
                order = staking.StakeOrder(self.did, Minor(amount), lock)
                position = (await staking.stake(tx, order, POLICY, self.book)).position
                await tx.execute(_AS_OF_NOW, position.id)
                return position.id

            self.model.stake(await self.done(staked), amount, lock)

    async def unstake(self) -> None:
        only = self.any_stake() if self.rng.random() < 0.5 else None
        releasable = self.model.releasable(only)
        amount = self.amount(releasable + 1)
        order = staking.UnstakeOrder(self.did, Minor(amount), f"stake-{only.number}" if only else None)
        released = self.done(lambda tx: staking.unstake(tx, order, self.book, self.unpinned))
        if amount <= releasable:
            await released
            self.model.unstake(amount, only)
        else:
            with pytest.raises((staking.InsufficientUnlockedStake, staking.PositionLocked)):
                await released

    async def unpinned(self, _: Tx, __: str, ___: int) -> None:
        """No vote pins the stake."""

    async def turn(self) -> None:
        """Turn the growth of a position on or off."""
        if (one := self.any_stake()) is not None:
            grows = self.rng.random() < 0.8
            turned = self.done(
                lambda tx: staking.set_auto_compound(
                    tx, self.did, f"stake-{one.number}", POLICY, auto_compound=grows
                )
            )
            if one.remaining:
                await turned
                one.grows = grows
            else:
                with pytest.raises(staking.PositionReleased):
                    await turned

    def any_stake(self) -> Stake | None:
        return self.rng.choice(self.model.stakes) if self.model.stakes else None

    async def compound(self) -> None:
        added = await self.done(lambda tx: staking.compound(tx, self.did, self.settings, self.is_kept_active))
        assert added == self.model.compound()

    async def is_kept_active(self, _: Tx, __: str) -> bool:
        """No agent is suspended."""
        return True

    async def claim(self) -> None:
        claim = await self.done(lambda tx: staking.claim_rewards(tx, self.did, POLICY, self.book))
        assert (claim.paid, claim.due) == (self.model.claim(), self.model.due)

    async def collect(self) -> None:
        """Fees arrive at one of the accounts that collect them, fewer than are due as often as more."""
        collected, collector = self.amount(10**9), self.rng.choice(await self.stakers.collectors())
        await self.done(
            lambda tx: ledger.grant(
                tx, payee=collector, amount=Minor(collected), ref="drawn fees", book=self.book
            )
        )
        self.model.fees += collected

    async def slash(self) -> None:
        """A slash takes liquid units alone."""
        wanted, ref = self.amount(10**9), f"drawn-slash-{next(_numbers)}"
        order = ledger.orders.destroy(self.did, Minor(wanted), ref, at_most=True)
        (result,) = await self.done(lambda tx: ledger.apply(tx, [order], self.book))
        taken = 0 if result.tx_id is None else result.moved
        assert taken == self.model.slash(wanted)
        self.slashed += taken

    async def kill(self) -> None:
        """A compounding or claim is carried out, and its process ends before the commit."""
        self.is_killed = True
        use_case: Callable[[Tx], Awaitable[Any]] = self.rng.choice(
            (
                lambda tx: staking.compound(tx, self.did, self.settings, self.is_kept_active),
                lambda tx: staking.claim_rewards(tx, self.did, POLICY, self.book),
            )
        )
        with pytest.raises(KilledError):
            await self.done(use_case)
        self.is_killed = False

    async def judge(self) -> None:
        """The account, its positions and the fees are those of the model."""
        database = self.stakers.purses.registry.database
        account = await database.read(lambda tx: tx.fetchrow(_ACCOUNT, self.did))
        assert tuple(account) == (self.model.liquid, self.model.staked, self.model.due)
        rows = await database.read(lambda tx: tx.fetch(_POSITIONS, self.did))
        assert [tuple(row) for row in rows] == [
            (one.number, one.remaining, one.grows, one.counted_until) for one in self.model.stakes
        ]
        assert await self.stakers.fee_collector_holds() == self.model.fees
        self.model.require_exact(GRANTED, self.slashed)


async def test_rewards_that_are_added_to_stakes_are_exact_in_every_drawn_history(stakers: Stakers) -> None:
    seed, grown = printed_seed(), 0
    for number in part_of(HISTORIES):
        agent = await stakers.agent(str(GRANTED // 10**8))
        history = History(stakers, agent.did, random.Random(f"compounding {seed} {number}"))
        history.model.fees = await stakers.fee_collector_holds()
        for step in range(ACTS):
            await history.act()
            try:
                await history.judge()
            except AssertionError as broken:
                raise AssertionError(f"history {number}, act {step}") from broken
        grown += sum(one.remaining for one in history.model.stakes if one.grows) > 0
    assert grown > HISTORIES // 4
    await stakers.prove()
