"""Budgets of a treasury: teams pay and agents draw within them, without approvals."""

import asyncio

import pytest

from hansa.rooms.treasury.agents_moved import BUDGETS_OF_MOVED_AGENTS
from tests.organizations import acting_as, code, found
from tests.rooms.journal.reactors.reacting import reacting
from tests.treasuries import ONE_OWNER, act, fund, liquid, pay, ruled, team_with


@pytest.fixture
async def registry(registry_of_file):
    return registry_of_file


@pytest.fixture
async def guild(registry):
    return await found(registry)


async def budget(guild, by=None, **members):
    """Ask for a budget."""
    body = {"name": "Calls", "amount": "20", "period": "month", **members}
    return await guild.send(by or guild.owner, "POST", "/treasury/budgets", json=body)


async def change(guild, by, made, **members):
    """Ask for a change of a budget."""
    return await guild.send(by, "PATCH", f"/treasury/budgets/{made['budget_id']}", json=members)


async def draw(agent, amount, **headers):
    """Draw from the treasury."""
    return await agent.registry.post(
        "/organizations/treasury/draw", json={"amount": amount}, headers={**agent.headers, **headers}
    )


async def test_members_of_a_team_pay_within_its_budget_without_approvals(registry, guild):
    await fund(guild)
    clerk, other = await guild.member(), await guild.member()
    team = await team_with(guild, "buyers", clerk)
    made = (await budget(guild, team_id=team)).json()
    assert {name: made[name] for name in ("name", "amount", "period", "team_id", "agent_did", "spent", "left")} == {
        "name": "Calls", "amount": "20", "period": "month", "team_id": team, "agent_did": None, "spent": "0", "left": "20",
    }  # fmt: skip
    await ruled(guild, {**ONE_OWNER, "over": "1"})
    payee, number = await registry.agent(), made["budget_id"]
    paid = (await pay(guild, payee, "15", clerk, budget_id=number)).json()
    assert (paid["status"], paid["body"]["budget_id"]) == ("EXECUTED", number)
    over = await pay(guild, payee, "5.1", clerk, budget_id=number)
    assert (code(over), over.json()["error"]["context"]) == ((403, "BUDGET_EXCEEDED"), {"left": "5"})
    assert code(await pay(guild, payee, "1", other, budget_id=number)) == (403, "BUDGET_OF_OTHERS")
    assert code(await pay(guild, payee, "1", guild.owner, budget_id=number)) == (403, "BUDGET_OF_OTHERS")
    [listed] = (await guild.read(clerk, "/treasury/budgets"))["items"]
    assert (listed["spent"], listed["left"]) == ("15", "5")
    # What a budget pays counts toward the maximum of the day alone.
    assert (await pay(guild, payee, "1")).json()["status"] == "EXECUTED"


async def test_a_viewer_does_not_pay_from_the_budget_of_a_team(registry, guild):
    viewer = await guild.member("viewer")
    team = await team_with(guild, "buyers", viewer)
    made = (await budget(guild, team_id=team)).json()
    refused = await pay(guild, await registry.agent(), "1", viewer, budget_id=made["budget_id"])
    assert code(refused) == (403, "ORG_ROLE_REQUIRED")


async def test_an_agent_draws_within_its_budget(registry, guild):
    await fund(guild)
    agent = await guild.agent()
    agent = await as_agent(guild, agent)
    assert code(await draw(agent, "1")) == (404, "BUDGET_UNKNOWN")
    await budget(guild, agent_did=agent.did)
    before = float(await agent.balance())
    drawn = await draw(agent, "15")
    assert drawn.status_code == 200, drawn.text
    assert {name: drawn.json()[name] for name in ("amount", "fee_amount", "budget_left")} == {
        "amount": "15", "fee_amount": "0.075", "budget_left": "5",
    }  # fmt: skip
    assert float(await agent.balance()) == before + 15
    assert code(await draw(agent, "5.1")) == (403, "BUDGET_EXCEEDED")
    assert (await guild.read(guild.owner, "/treasury"))["spent_today"] == "15"


async def as_agent(guild, agent):
    """The agent by an act token of the owner."""
    registry = guild.registry
    headers = {**guild.owner.headers, **registry.elsewhere()}
    answer = await registry.post(f"/agents/{agent.did}/act-token", headers=headers)
    assert answer.status_code == 200, answer.text
    return acting_as(agent, answer.json()["access_token"])


async def test_a_repeated_draw_moves_units_once(registry, guild):
    await fund(guild)
    agent = await as_agent(guild, await guild.agent())
    await budget(guild, agent_did=agent.did)
    first, again = [await draw(agent, "5", **{"Idempotency-Key": "of-today"}) for _ in range(2)]
    assert first.json() == again.json()
    assert (await guild.read(guild.owner, "/treasury"))["spent_today"] == "5"


async def test_an_uncovered_draw_and_one_beyond_the_maximum_of_the_day_are_refused(registry, guild):
    agent = await as_agent(guild, await guild.agent())
    await budget(guild, agent_did=agent.did)
    assert code(await draw(agent, "5")) == (402, "INSUFFICIENT_BALANCE")
    await fund(guild)
    await ruled(guild, ONE_OWNER, per_day_max="4")
    assert code(await draw(agent, "5")) == (403, "TREASURY_OVER_PER_DAY_MAX")
    [listed] = (await guild.read(guild.owner, "/treasury/budgets"))["items"]
    assert (listed["spent"], await liquid(guild)) == ("0", "90")


async def test_an_agent_has_one_budget_of_its_own_organization_alone(registry, guild):
    agent, foreign = await guild.agent(), await registry.agent()
    assert (await budget(guild, agent_did=agent.did)).status_code == 201
    assert code(await budget(guild, agent_did=agent.did)) == (409, "AGENT_HAS_BUDGET")
    assert code(await budget(guild, agent_did=foreign.did)) == (404, "RESOURCE_NOT_FOUND")
    assert (await budget(guild)).status_code == 422
    assert code(await draw(foreign, "1")) == (404, "BUDGET_UNKNOWN")


async def test_a_budget_of_an_agent_ends_when_the_agent_leaves(registry, guild):
    # The grant goes to the first agent of a developer, so that the second one is empty.
    await guild.owner.agent()
    agent = await guild.agent()
    await budget(guild, agent_did=agent.did)
    async with reacting(registry.database, BUDGETS_OF_MOVED_AGENTS), asyncio.timeout(60):
        released = await guild.send(guild.owner, "POST", f"/agents/{agent.did}/release")
        assert (released.status_code, released.json()["status"]) == (200, "EXECUTED")
        while (await guild.read(guild.owner, "/treasury/budgets"))["items"]:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def test_with_tiers_a_new_budget_and_a_larger_one_need_approvals_and_a_smaller_one_does_not(
    registry, guild
):
    admin = await guild.member("admin")
    team = await team_with(guild, "buyers", admin)
    made = (await budget(guild, team_id=team)).json()
    await ruled(guild, ONE_OWNER)
    asked = await budget(guild, admin, name="More", team_id=team)
    assert (asked.status_code, asked.json()["kind"], asked.json()["status"]) == (202, "budget", "PENDING")
    assert (await guild.approve(guild.owner, asked.json()["request_id"])).json()["status"] == "EXECUTED"
    assert [one["name"] for one in (await guild.read(admin, "/treasury/budgets"))["items"]] == [
        "Calls",
        "More",
    ]
    assert (await change(guild, admin, made, amount="10", name="Fewer calls")).json()["amount"] == "10"
    for members in ({"amount": "10.1"}, {"agent_did": (await guild.agent()).did}):
        assert (await change(guild, admin, made, **members)).status_code == 202
    assert (await change(guild, admin, made, period="once")).status_code == 200
    assert (await change(guild, admin, made, period="month")).status_code == 202
    ended = await guild.send(admin, "DELETE", f"/treasury/budgets/{made['budget_id']}")
    assert (ended.status_code, ended.json()) == (200, {"deleted": True})
    assert code(await change(guild, admin, made, amount="1")) == (404, "BUDGET_UNKNOWN")


async def test_a_changed_budget_keeps_what_was_spent(registry, guild):
    await fund(guild)
    clerk = await guild.member()
    made = (await budget(guild, team_id=await team_with(guild, "buyers", clerk))).json()
    await pay(guild, await registry.agent(), "15", clerk, budget_id=made["budget_id"])
    changed = (await change(guild, guild.owner, made, amount="10", period="once")).json()
    assert (changed["spent"], changed["left"]) == ("15", "0")


async def test_a_budget_of_a_month_begins_anew_and_one_that_is_used_once_does_not(registry, guild):
    await fund(guild)
    clerk = await guild.member()
    team = await team_with(guild, "buyers", clerk)
    made = [
        (await budget(guild, team_id=team, period=period)).json()["budget_id"] for period in ("month", "once")
    ]
    payee = await registry.agent()
    for number in made:
        assert (await pay(guild, payee, "20", clerk, budget_id=number)).json()["status"] == "EXECUTED"
    await registry.database.transaction(
        lambda tx: tx.execute("UPDATE treasury_budget SET period_start = period_start - interval '1 month'")
    )
    assert (await pay(guild, payee, "20", clerk, budget_id=made[0])).json()["status"] == "EXECUTED"
    assert code(await pay(guild, payee, "1", clerk, budget_id=made[1])) == (403, "BUDGET_EXCEEDED")


async def test_a_request_for_the_same_budget_is_pending_once(guild):
    admin = await guild.member("admin")
    team = await team_with(guild, "buyers", admin)
    await ruled(guild, ONE_OWNER)
    asked = (await budget(guild, admin, team_id=team)).json()
    assert code(await budget(guild, admin, team_id=team)) == (409, "REQUEST_EXISTS")
    assert (await act(guild, admin, asked["request_id"], "cancel")).json()["status"] == "CANCELLED"
