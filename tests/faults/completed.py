"""Acts whose statements fail, each once, and that a repetition completes: `test_acts_are_completed_after_a_failure.py` runs them all."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg

from tests.faults.failing import Fault, Plan
from tests.founded import RegistriesOfATest, founded_by
from tests.properties.scale import by_tier
from tests.registry import DatabaseFarm, StartRegistry, TestRegistry

POOL_SIZE = 2
"""Few connections, so that a spoilt one is met again at once."""

FailEach = Callable[[StartRegistry], Awaitable[None]]
"""Starts a registry, fails each statement of one act there, and judges what a repetition leaves."""


@dataclass(frozen=True)
class CompletedActs:
    """Acts of one subject by name; each has a registry of its own."""

    subject: str
    acts: Mapping[str, FailEach]

    @asynccontextmanager
    async def open_stage(
        self, farm: DatabaseFarm, directory: Path
    ) -> AsyncIterator[tuple[DatabaseFarm, Path]]:
        yield farm, directory

    async def fail(self, name: str, stage: tuple[DatabaseFarm, Path]) -> None:
        """Fail every statement of this act once, each time until it is completed."""
        farm, directory = stage
        registries = RegistriesOfATest(farm, founded_by(farm), directory)
        try:
            await self.acts[name](registries.start)
        finally:
            await registries.end()


@dataclass(frozen=True)
class Failure:
    """Failure of one statement by one fault; within `happens` the statement fails, afterwards all pass."""

    plan: Plan
    fault: Fault
    number: int
    statement: str

    def __str__(self) -> str:
        return f"statement {self.number} ({self.statement[:60]}): {self.fault.value}"

    @contextmanager
    def happens(self) -> Iterator[None]:
        self.plan.fail(self.number, self.fault)
        yield
        assert self.plan.has_failed, str(self)
        self.plan.watch()


def failures(plan: Plan, faults_of: Callable[[int, str], Sequence[Fault]]) -> Iterator[Failure]:
    """Yield each failure of the statements that the plan has just listed."""
    statements = list(plan.listed)
    assert statements
    for number, statement in enumerate(statements):
        for fault in faults_of(number, statement):
            yield Failure(plan, fault, number, statement)
    print(f"{len(statements)} statements, each failed once")


def faults_of_commits(statement: str, committing: Sequence[str] = ("COMMIT",)) -> tuple[Fault, ...]:
    """Faults of a statement: for each commit those that differ most where it commits, else one; in the deeper tiers each."""
    is_committing = any(words in statement for words in committing)
    few = (Fault.REFUSED, Fault.ANSWER_LOST) if is_committing else (Fault.REFUSED,)
    return by_tier(few, tuple(Fault), tuple(Fault))


@asynccontextmanager
async def observed(registry: TestRegistry) -> AsyncIterator[tuple[Plan, "asyncpg.Connection[Any]"]]:
    """A plan for the registry, which is not under it yet, and a connection that never fails."""
    observer = await asyncpg.connect(registry.database.dsn)
    try:
        yield Plan(observer), observer
    finally:
        await observer.close()
