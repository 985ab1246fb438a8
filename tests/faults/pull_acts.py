"""Each statement of a pull fails once, by each fault there is: the card arrives all the same, published once, and no lease is left."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

import asyncpg
import pytest

from hansa.foundation.values.errors import Unavailable
from hansa.rooms.catalogue.pulls import CARD_PULLS
from tests.faults.failing import Fault, Plan, in_turn, put_under_plan
from tests.registry import StartRegistry, TestRegistry
from tests.rooms.catalogue.pulls.agent_host import (
    AgentHost,
    hosted_agent,
    hosting,
    pull_cards,
    registry_that_pulls,
)

FAULTS = (Fault.KILLED_AFTER, Fault.ANSWER_LOST)
TRIES = 6


@pytest.fixture
async def agents() -> AsyncIterator[AgentHost]:
    async with hosting() as listening:
        yield listening


@pytest.fixture
async def registry(start_registry: StartRegistry, agents: AgentHost) -> TestRegistry:
    """A registry with few connections, so that a spoilt one is met again at once, and one card."""
    started = await registry_that_pulls(start_registry, agents, database_pool_size=2)
    agents.serve()
    await hosted_agent(started, agents.url)
    await pull_cards(started)
    return started


async def test_a_changed_card_arrives_whichever_statement_fails_and_however(
    registry: TestRegistry, agents: AgentHost, observer: "asyncpg.Connection[asyncpg.Record]"
):
    plan = Plan(observer)
    await put_under_plan(registry.database, plan)
    agents.serve(description="Listed.")
    await _let_be_due(observer)
    plan.watch()
    await pull_cards(registry)
    statements = list(plan.listed)
    assert [statement for statement in statements if statement.startswith("UPDATE catalogue_card")]
    published = await _published(observer)
    for number, statement in enumerate(statements):
        for fault in in_turn(number, FAULTS):
            site = f"statement {number} ({statement[:60]}), {fault.value}"
            agents.serve(description=site)
            await _let_be_due(observer)
            plan.fail(number, fault)
            await _pull(registry)
            assert plan.has_failed, site
            plan.watch()
            await _pull_until_done(registry, observer, site)
            published += 1
            assert await _published(observer) == published, site
    print(f"{len(statements)} statements, each failed once")


async def _pull(registry: TestRegistry) -> None:
    """Pull the cards that are due; a pull that a dying database interrupts continues later."""
    with suppress(Unavailable, asyncpg.PostgresError):
        await asyncio.wait_for(pull_cards(registry), 30)


async def _pull_until_done(
    registry: TestRegistry, observer: "asyncpg.Connection[asyncpg.Record]", site: str
) -> None:
    for _ in range(TRIES):
        await _let_be_due(observer)
        await _pull(registry)
        stands = await observer.fetchrow(
            "SELECT c.description, c.pull_failures, j.lease_until, v.failures FROM catalogue_card c"
            " JOIN catalogue_visit v ON v.card_id = c.id AND v.errand = 'pull'"
            " JOIN plumbing_job j ON j.key = c.id::text AND j.kind = $1",
            CARD_PULLS.name,
        )
        if tuple(stands) == (site, 0, None, 0):
            return
    raise AssertionError(f"{site}: {stands}")


async def _let_be_due(observer: "asyncpg.Connection[asyncpg.Record]") -> None:
    """End the leases of all processes that died."""
    await observer.execute(
        "UPDATE plumbing_job SET due_at = least(due_at, now()), lease_until = lease_until - interval '1 day' WHERE kind = $1",
        CARD_PULLS.name,
    )


async def _published(observer: "asyncpg.Connection[asyncpg.Record]") -> int:
    return await observer.fetchval("SELECT count(*) FROM journal_event WHERE event_type = 'AgentCardPulled'")
