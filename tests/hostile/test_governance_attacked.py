"""Attacks on votes, each refused by the rule that its test names: stakes bought, lent or moved for a vote, late majorities, outdated and combined changes."""

from datetime import datetime

import pytest

from tests.governance import (
    DAYS_3,
    DIFF,
    Assembly,
    assembly,
    decide,
    passed,
    platform,
    proposed,
    refused,
    take_effect,
    value_of,
)

BASE_UP = {"fee_base_rate_percent": {"from": "0.5", "to": "2"}}
MAX_DOWN = {"fee_max_rate_percent": {"from": "5", "to": "1"}}


@pytest.fixture
async def agents(start_registry) -> Assembly:
    return await assembly(start_registry, genesis_grant_amount="1000")


async def test_the_weight_is_the_lesser_of_the_stakes_at_the_snapshot_and_at_the_vote(agents):
    more, less, new = await agents.agent("20"), await agents.agent("20"), await agents.agent()
    proposal = await agents.propose(more)
    await agents.stake(more, "30")
    await agents.stake(new, "30")
    assert (await agents.unstake(less, "8")).status_code == 200
    assert (await agents.vote(more, proposal))["voting_power"] == "20"
    assert (await agents.vote(less, proposal))["voting_power"] == "12"
    assert refused(await agents.try_vote(new, proposal)) == (403, "NO_WEIGHT")


async def test_a_stake_younger_than_a_day_has_no_weight_on_a_change_of_policy(agents):
    holder, lender = await agents.agent("500", hours_ago=30), await agents.agent("900", hours_ago=23)
    change = await proposed(agents, holder)
    assert refused(await agents.try_vote(lender, change)) == (403, "NO_WEIGHT")
    body = {"kind": "policy_change", "duration_seconds": DAYS_3, "policy_diff": DIFF}
    assert refused(await agents.try_propose(lender, **body)) == (403, "NO_WEIGHT")


async def test_a_pinned_stake_does_not_vote_again_by_another_own_agent(agents):
    developer = await agents.registry.developer()
    first, second = await developer.agent(), await developer.agent(name="Second")
    await agents.stake(first, "600")
    proposal = await agents.propose(first)
    await agents.vote(first, proposal)
    assert refused(await agents.unstake(first, "600")) == (403, "STAKE_PINNED")
    # The rest moves, and is staked after the snapshot.
    assert (await first.transfer(second, "300")).status_code == 200
    await agents.stake(second, "300")
    assert refused(await agents.try_vote(second, proposal)) == (403, "NO_WEIGHT")
    read = await agents.read(proposal)
    assert (read["votes_for"], read["total_voters"]) == ("600", 1)


async def test_a_stake_moved_between_own_agents_before_the_vote_has_the_weight_of_neither(agents):
    developer = await agents.registry.developer()
    first, second = await developer.agent(), await developer.agent(name="Second")
    await agents.stake(first, "600")
    proposal = await agents.propose(first)
    assert (await agents.unstake(first, "600")).status_code == 200
    assert (await first.transfer(second, "600")).status_code == 200
    await agents.stake(second, "600")
    assert refused(await agents.try_vote(first, proposal)) == (403, "NO_WEIGHT")
    assert refused(await agents.try_vote(second, proposal)) == (403, "NO_WEIGHT")


async def test_a_late_quorum_extends_the_deadline_once_so_that_others_can_answer(agents):
    whale, other, small = [await agents.agent(staked, hours_ago=30) for staked in ("500", "600", "10")]
    proposal = await proposed(agents, whale)
    await agents.vote(small, proposal, "against")
    await agents.elapse(proposal, 71.9)
    before = (await agents.read(proposal))["end_timestamp"]
    await agents.vote(whale, proposal)
    extended = (await agents.read(proposal))["end_timestamp"]
    assert hours_between(before, extended) == 24
    # The former deadline passes: the vote goes on, and the job of it does nothing.
    await agents.elapse(proposal, 1)
    await agents.run_jobs()
    assert (await agents.read(proposal))["status"] == "OPEN"
    assert refused(await agents.tally(whale, proposal)) == (409, "VOTING_UNDER_WAY")
    moved = (await agents.read(proposal))["end_timestamp"]
    await agents.vote(other, proposal, "against")
    assert (await agents.read(proposal))["end_timestamp"] == moved
    await agents.elapse(proposal, 24)
    await agents.run_jobs()
    assert (await agents.read(proposal))["status"] == "FAILED"


async def test_a_change_whose_from_is_not_the_value_any_more_is_stale(agents):
    first = await passed(agents)
    second = await passed(agents, policy_diff={"bond_minimum": {"from": "100", "to": "70"}})
    by = await platform(agents)
    assert (await decide(agents, by, first, "apply")).json()["execution"] == "QUEUED"
    stale = await decide(agents, by, second, "apply")
    assert (stale.status_code, stale.json()["execution"]) == (200, "STALE")
    await take_effect(agents, first)
    assert await value_of(agents, "bond_minimum") == ("50", "governance")
    again = await agents.try_propose(
        await agents.agent("500", hours_ago=30),
        kind="policy_change",
        duration_seconds=DAYS_3,
        policy_diff=DIFF,
    )
    assert refused(again) == (409, "PARAMETER_STALE")


async def test_a_combination_out_of_bounds_is_not_proposed(agents):
    agent = await agents.agent("500", hours_ago=30)
    both = BASE_UP | MAX_DOWN
    answer = await agents.try_propose(agent, kind="policy_change", duration_seconds=DAYS_3, policy_diff=both)
    assert refused(answer) == (422, "PARAMETER_COMBINATION")


async def test_two_changes_that_fit_alone_do_not_combine_out_of_bounds(agents):
    first, second = await passed(agents, policy_diff=BASE_UP), await passed(agents, policy_diff=MAX_DOWN)
    by = await platform(agents)
    assert (await decide(agents, by, first, "apply")).json()["execution"] == "QUEUED"
    # The values in force still fit; those pending do not.
    late = await decide(agents, by, second, "apply")
    assert (late.status_code, late.json()["execution"]) == (200, "STALE")
    await take_effect(agents, first)
    assert await value_of(agents, "fee_base_rate_percent") == ("2", "governance")
    assert await value_of(agents, "fee_max_rate_percent") == ("5", "default")


def hours_between(before: str, after: str) -> float:
    return (datetime.fromisoformat(after) - datetime.fromisoformat(before)).total_seconds() / 3600
