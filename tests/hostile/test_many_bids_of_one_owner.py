"""Places of a work order that one owner would take by many agents: all its agents together have a bounded number of bids."""

import pytest

from hansa.rooms.treasury.work_orders import judging
from tests.organizations import acting_as, code, found
from tests.registry import TestAgent, at_once
from tests.work_orders import Offering, offering

BIDS = 2


@pytest.fixture
async def work(registry, monkeypatch: pytest.MonkeyPatch) -> Offering:
    monkeypatch.setattr(judging, "BIDS_OF_OWNER_MAX", BIDS)
    return await offering(registry)


async def agents_of_organization(registry, count: int) -> list[TestAgent]:
    """Agents of one organization, each created by another member."""
    guild = await found(registry)
    admins = [guild.owner, *[await guild.member("admin") for _ in range(count - 1)]]
    agents = []
    for admin in admins:
        agent = await guild.agent(admin)
        token = await registry.post(f"/agents/{agent.did}/act-token", headers=admin.headers)
        agents.append(acting_as(agent, token.json()["access_token"]))
    return agents


async def test_agents_of_one_developer_have_so_many_bids_on_an_order_together(registry, work):
    owner, order = await registry.developer(), await work.open()
    agents = [await owner.agent() for _ in range(BIDS + 1)]
    bids = [await work.bid(agent, order) for agent in agents[:BIDS]]
    refused = await work.try_bid(agents[BIDS], order)
    assert code(refused) == (409, "LIMIT_REACHED")
    assert refused.json()["detail"] == (
        f"There are at most {BIDS} bids of all agents of one owner on a work order."
    )
    await work.withdraw(agents[0], bids[0])
    assert code(await work.try_bid(agents[BIDS], order)) == (409, "LIMIT_REACHED")
    assert (await work.read(order))["bid_count"] == BIDS - 1
    await work.bid(await registry.agent(), order)
    await work.bid(agents[BIDS], await work.open())


async def test_agents_of_one_organization_have_so_many_bids_together(registry, work):
    order = await work.open()
    *first, last = await agents_of_organization(registry, BIDS + 1)
    for agent in first:
        await work.bid(agent, order)
    assert code(await work.try_bid(last, order)) == (409, "LIMIT_REACHED")


async def test_bids_of_one_owner_at_the_same_moment_do_not_pass_the_bound(registry, work):
    owner, order = await registry.developer(), await work.open()
    agents = [await owner.agent() for _ in range(BIDS + 3)]
    answers = await at_once(*(work.try_bid(agent, order) for agent in agents))
    assert sorted(answer.status_code for answer in answers) == [201] * BIDS + [409] * 3
    assert (await work.read(order))["bid_count"] == BIDS
