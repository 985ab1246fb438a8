"""An owner of many new accounts pays an agent of its own with their genesis grants."""

from decimal import Decimal

from tests.registry import TestAgent, TestRegistry
from tests.rooms.reputation.rated import Rated

PUPPETS = 6


async def puppets(registry: TestRegistry) -> list[TestAgent]:
    """Agents of new developers, each with a genesis grant."""
    return [await registry.agent() for _ in range(PUPPETS)]


async def record(rated: Rated, agent: TestAgent) -> tuple[int, str, str]:
    """Verified jobs, volume and grade."""
    await rated.compute()
    found = await rated.track_record(agent.did)
    return found["jobs_verified"], found["volume"], (await rated.reputation(agent.did))["grade"]


async def test_jobs_paid_with_genesis_grants_give_neither_mark_nor_score(registry: TestRegistry):
    rated, target = Rated(registry), await registry.agent()
    for puppet in await puppets(registry):
        await rated.pay(puppet, target, "80")
    assert await record(rated, target) == (0, "0", "unrated")
    exported = await rated.exported()
    assert [one["data"]["counts"] for one in exported["events"]] == [False] * PUPPETS


async def test_grants_that_went_through_other_agents_are_grants_still(registry: TestRegistry):
    rated, target = Rated(registry), await registry.agent()
    first, *others = await puppets(registry)
    for puppet in others:
        # By a transfer, and by a job: neither makes other units of them.
        assert (await puppet.transfer(first, "40")).status_code == 200
        await rated.pay(puppet, first, "30")
    await rated.pay(first, target, "200")
    assert await record(rated, target) == (0, "0", "unrated")


async def test_units_of_ones_own_count_once_however_many_accounts_they_pass(registry: TestRegistry):
    rated, target = Rated(registry), await registry.agent()
    first, second, *_ = await puppets(registry)
    await rated.fund(first, "10.05")
    await rated.pay(first, target, "10")
    assert (await record(rated, target))[:2] == (1, "10")
    # The rest of its money is its grant.
    await rated.pay(first, target, "50")
    assert (await record(rated, target))[:2] == (1, "10")
    # What the target earned pays for one more job; transfers bring the other owner nothing.
    assert (await target.transfer(second, "20")).status_code == 200
    await rated.pay(second, target, "5")
    assert (await record(rated, target))[:2] == (1, "10")
    await rated.pay(target, second, "9")
    assert (await record(rated, second))[0] == 1
    await rated.pay(second, target, "8.9")
    assert (await record(rated, target))[:2] == (2, "18.9")


async def test_units_that_count_are_never_more_than_were_granted_less_the_fees(registry: TestRegistry):
    rated, agents = Rated(registry), await puppets(registry)
    await rated.fund(agents[0], "30")
    for _ in range(2):
        for payer, payee in zip(agents, agents[1:] + agents[:1], strict=True):
            await rated.pay(payer, payee, "9")
    await rated.compute()
    counted = [one["data"] for one in (await rated.exported())["events"] if one["data"]["counts"]]
    assert counted
    left = await registry.database.query(
        lambda tx: tx.fetchval("SELECT sum(available) FROM reputation_funds")
    )
    fees = sum(Decimal(one["fee"]) for one in counted)
    assert left == (Decimal(30) - fees) * 10**8
