"""Governed values over time against a plain judge: random decisions, vetoes and resets, read at random moments by fresh and lasting processes."""

import random
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

from hansa.foundation.plumbing import parameters
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.clock import began_at
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.errors import Refused
from hansa.rooms.ledger.rules import OPEN_MAX, fee_policy, fees_over_time
from tests.governed_values import time_passed
from tests.properties.scale import by_tier, printed_seed
from tests.registry import TestRegistry, another_process

LEAD = timedelta(minutes=1)
VALUES: dict[str, list[Any]] = {
    "fee_base_rate_percent": ["0", "0.1", "0.5", "1.25", "2"],
    "fee_max_rate_percent": ["0.25", "1", "5", "10"],
    "bond_maturity_days": [1, 14, 365],
    "staking_rewards_enabled": [True, False],
}


@dataclass
class Judge:
    """Every change as (name, value or None, moment, decision), in the order of the decisions."""

    stated: dict[str, Any]
    changes: list[tuple[str, Any, datetime, str]] = field(default_factory=list)

    def value(self, name: str, at: datetime) -> Any:
        """The value of the change with the latest moment that is not after `at`."""
        found, latest = self.stated[name], None
        for changed, value, moment, _ in self.changes:
            if changed == name and moment <= at and (latest is None or moment >= latest):
                found, latest = self.stated[name] if value is None else value, moment
        return found

    def fees(self, at: datetime) -> list[int]:
        rates = [self.value(name, at) for name in ("fee_base_rate_percent", "fee_max_rate_percent")]
        return fee_policy(*rates).as_integers()

    def is_pending(self, name: str, at: datetime) -> bool:
        return any(changed == name and moment > at for changed, _, moment, _ in self.changes)

    def fits_with(self, added: list[tuple[str, Any, datetime, str]], now: datetime) -> bool:
        """Return whether the base rate is at most the maximum at each moment from now on."""
        after = Judge(self.stated, [*self.changes, *added])
        moments = [now, *(moment for _, _, moment, _ in after.changes if moment > now)]
        return all(
            Fraction(after.value("fee_base_rate_percent", at))
            <= Fraction(after.value("fee_max_rate_percent", at))
            for at in moments
        )

    def let_pass(self, time: timedelta) -> None:
        self.changes = [(name, value, moment - time, by) for name, value, moment, by in self.changes]


class Course:
    """Random decisions on one registry, beside a judge; two processes follow, and one of them is started anew now and then."""

    def __init__(self, registry: TestRegistry, chance: random.Random) -> None:
        self.database, self.settings = registry.database, registry.settings
        self.chance = chance
        self.judge = Judge(dict(self.settings.governed.stated))
        self.lasting, self.fresh = another_process(registry.runtime), another_process(registry.runtime)
        self.numbers = 0

    async def step(self) -> None:
        act = self.chance.choice(
            [self.decide, self.decide, self.decide, self.veto, self.reset, self.wait, self.wait]
        )
        await act()
        if self.chance.random() < 0.3:
            self.fresh = another_process(self.fresh)
        for process in (self.lasting, self.fresh):
            if self.chance.random() < 0.7:
                await parameters.FOLLOWER.of(process).read()
            await self.compare(process)

    async def decide(self) -> None:
        name = self.chance.choice(list(VALUES))
        self.numbers += 1
        by = f"proposal:{self.numbers}"
        added: list[tuple[str, Any, datetime, str]] = []

        async def schedule(tx: Tx) -> None:
            now = await began_at(tx)
            old = self.judge.value(name, now)
            new = self.chance.choice([value for value in VALUES[name] if value != old])
            at = now + timedelta(seconds=self.chance.choice([0, 90, 3_600, 90_000]))
            diff = parameters.diff_of({name: {"from": old, "to": new}})
            is_expected = not self.judge.is_pending(name, now)
            trial = [(name, new, max(at, now + LEAD), by)]
            is_expected = is_expected and self.judge.fits_with(trial, now)
            try:
                moment = await parameters.schedule(tx, self.settings, diff, at, by)
            except Refused:
                assert not is_expected, (name, old, new, self.judge.changes)
            else:
                assert is_expected, (name, old, new, self.judge.changes)
                added.append((name, new, moment, by))

        await self.database.transaction(schedule)
        self.judge.changes += added

    async def veto(self) -> None:
        if not self.judge.changes:
            return
        by = self.chance.choice(self.judge.changes)[3]

        async def unschedule(tx: Tx) -> None:
            now = await began_at(tx)
            withdrawn = [one for one in self.judge.changes if one[3] == by]
            is_early = all(moment > now + LEAD + timedelta(seconds=1) for _, _, moment, _ in withdrawn)
            try:
                await parameters.unschedule(tx, by)
            except parameters.ParameterUnderWay:
                assert not is_early, (by, self.judge.changes)
            else:
                assert all(moment > now + LEAD for _, _, moment, _ in withdrawn), (by, self.judge.changes)
                self.judge.changes = [one for one in self.judge.changes if one[3] != by]

        await self.database.transaction(unschedule)

    async def reset(self) -> None:
        name = self.chance.choice(list(VALUES))
        self.numbers += 1
        by = f"reset:{self.numbers}"

        async def act(tx: Tx) -> None:
            try:
                moment = await parameters.reset(tx, self.settings, name, by)
            except Refused:
                return
            self.judge.changes.append((name, None, moment, by))

        await self.database.transaction(act)

    async def wait(self) -> None:
        time = timedelta(seconds=self.chance.choice([1, 59, 61, 3_600, 100_000]))
        await time_passed(self.database, time)
        self.judge.let_pass(time)
        # No process lives in two times: what it read before has other moments now.
        self.lasting, self.fresh = another_process(self.lasting), another_process(self.fresh)

    async def compare(self, process: Runtime) -> None:
        """Compare what the process finds in a transaction, and at each moment for which its knowledge counts, with the judge."""

        async def read(tx: Tx) -> tuple[datetime, Settings]:
            return await began_at(tx), await parameters.in_force(tx, process.settings)

        now, in_force = await self.database.transaction(read)
        for name in VALUES:
            assert getattr(in_force, name) == self.judge.value(name, now), (name, self.judge.changes)
        governed = process.settings.governed
        line = governed.derived(fees_over_time)
        moments = [now - timedelta(seconds=self.chance.randrange(86_000)) for _ in range(2)]
        moments += [
            now - timedelta(seconds=self.chance.randrange(1_700)),
            now + timedelta(seconds=self.chance.randrange(60)),
            now,
        ]
        moments += [moment for _, _, moment, _ in self.judge.changes if moment > now - timedelta(days=1)]
        for at in moments:
            if at < governed.knowledge.until:
                overlaid = {**governed.stated, **governed.knowledge.overlay(at)}
                assert {name: overlaid[name] for name in VALUES} == {
                    name: self.judge.value(name, at) for name in VALUES
                }, (at, self.judge.changes)
            for given in (line, line[-8:]) if at > now - OPEN_MAX / 2 else (line[-8:],):
                found = await self.database.query(
                    lambda tx, given=given, at=at: tx.fetchval(RATES, given, at)
                )
                expected = self.judge.fees(at)
                assert [Fraction(found[n], found[n + 1]) for n in (0, 2, 4, 6)] == [
                    Fraction(expected[n], expected[n + 1]) for n in (0, 2, 4, 6)
                ], (at, self.judge.changes)


RATES = "SELECT ledger_fees_at($1, $2)"


async def test_every_value_read_is_that_of_a_plain_judge(registry: TestRegistry) -> None:
    course = Course(registry, random.Random(printed_seed()))
    for _ in range(by_tier(40, 400, 4_000)):
        await course.step()
