"""A pull whose statements fail: the card arrives all the same, published once, and no lease is left."""

import asyncio
from contextlib import suppress

import asyncpg

from hansa.foundation.values.errors import Unavailable
from hansa.rooms.catalogue.pulls import CARD_PULLS
from tests.faults.completed import POOL_SIZE, CompletedActs, failures, observed
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


async def _change_a_card(start_registry: StartRegistry) -> None:
    """A changed card arrives after any failure, published once."""
    async with hosting() as agents:
        registry = await registry_that_pulls(start_registry, agents, database_pool_size=POOL_SIZE)
        agents.serve()
        await hosted_agent(registry, agents.url)
        await pull_cards(registry)
        async with observed(registry) as (plan, observer):
            await put_under_plan(registry.database, plan)
            await _fail_each(registry, agents, plan, observer)


async def _fail_each(
    registry: TestRegistry,
    agents: AgentHost,
    plan: Plan,
    observer: "asyncpg.Connection[asyncpg.Record]",
) -> None:
    agents.serve(description="Listed.")
    await _let_be_due(observer)
    plan.watch()
    await pull_cards(registry)
    assert [statement for statement in plan.listed if statement.startswith("UPDATE catalogue_card")]
    published = await _published(observer)
    for failure in failures(plan, lambda number, _: in_turn(number, FAULTS)):
        site = str(failure)
        agents.serve(description=site)
        await _let_be_due(observer)
        with failure.happens():
            await _pull(registry)
        await _pull_until_done(registry, observer, site)
        published += 1
        assert await _published(observer) == published, site


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


PULLS = CompletedActs("pull", {"a changed card": _change_a_card})
