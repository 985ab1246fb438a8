"""A registry for the tests of one module, with agents that hold exactly the units that a test gives them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hansa.foundation.values.money import parse_positive
from hansa.rooms import ledger
from tests.founded import open_copy
from tests.properties.proof import prove_book, prove_supply
from tests.registry import DatabaseFarm, StartRegistry, TestAgent, TestDeveloper, TestRegistry


@dataclass(frozen=True)
class Purses:
    """Opens agents; grants come from the treasury without a fee."""

    registry: TestRegistry
    developer: TestDeveloper

    async def agent(self, holding: str | None = None) -> TestAgent:
        agent = await self.developer.agent()
        if holding is not None:
            await self.grant(agent, holding)
        return agent

    async def grant(self, agent: TestAgent, amount: str) -> None:
        book = ledger.Book.of(self.registry.settings)
        paid = await self.registry.database.transaction(
            lambda tx: ledger.grant(
                tx, payee=agent.did, amount=parse_positive(amount), ref="test grant", book=book
            )
        )
        assert paid

    async def execute(self, statement: str, *values: object) -> None:
        await self.registry.database.transaction(lambda tx: tx.execute(statement, *values))

    async def fetchval(self, query: str, *values: object) -> Any:
        return await self.registry.database.read(lambda tx: tx.fetchval(query, *values))

    async def prove(self) -> None:
        """No unit was made or lost, and every record of the book agrees with every other."""
        await prove_supply(self.registry.supply)
        await self.registry.database.read(prove_book)


@asynccontextmanager
async def open_purses(farm: DatabaseFarm, directory: Path, **settings: object) -> AsyncIterator[Purses]:
    """A registry without a genesis grant, so that agents begin with nothing."""
    async with open_copy(farm, directory, **_without_grant(settings)) as registry:
        yield Purses(registry, await registry.developer())


async def start_purses(start_registry: StartRegistry, **settings: object) -> Purses:
    """The same for one test: a copy of one that was founded before, which costs a tenth."""
    registry = await start_registry(**_without_grant(settings))
    return Purses(registry, await registry.developer())


def _without_grant(settings: dict[str, object]) -> dict[str, object]:
    return {"genesis_grant_enabled": False, "rate_limit_reads": "off", **settings}
