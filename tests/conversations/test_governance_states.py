"""Cases of states and of the late quorum of the Governor of OpenZeppelin, with our names of its states.

Active is OPEN, Canceled CANCELLED or VETOED, Defeated FAILED, Succeeded PASSED (AWAITING), Queued QUEUED, Expired LAPSED, Executed APPLIED. Its
Pending is missing: a vote begins with the proposal, and its weights come from a snapshot before.
"""

from typing import Any

import pytest

from tests.governance import (
    DAYS_3,
    Assembly,
    assembly,
    decide,
    passed,
    platform,
    proposed,
    refused,
    take_effect,
)


@pytest.fixture
async def agents(start_registry) -> Assembly:
    return await assembly(start_registry, genesis_grant_amount="1000")


async def state(agents: Assembly, proposal: Any) -> str:
    read = await agents.read(proposal)
    return str(read["execution"] or read["status"])


async def test_unset_a_proposal_that_is_none_has_no_state(agents):
    assert (await agents.registry.get("/governance/proposals/1")).status_code == 404


async def test_active_until_the_deadline_has_passed_and_then_until_it_is_tallied(agents):
    alice = await agents.agent("500", hours_ago=30)
    proposal = await proposed(agents, alice)
    assert await state(agents, proposal) == "OPEN"
    await agents.elapse(proposal, 71)
    await agents.vote(alice, proposal)
    assert await state(agents, proposal) == "OPEN"


@pytest.mark.parametrize("act", ["for", "against", "abstain", None])
async def test_defeated_or_succeeded_by_the_votes(agents, act):
    alice = await agents.agent("500", hours_ago=30)
    proposal = await proposed(agents, alice)
    if act is not None:
        await agents.vote(alice, proposal, act)
    await agents.elapse(proposal, 96)
    await agents.run_jobs()
    assert await state(agents, proposal) == ("AWAITING" if act == "for" else "FAILED")


async def test_queued_then_executed_and_never_twice(agents):
    change, by = await passed(agents), await platform(agents)
    assert (await decide(agents, by, change, "apply")).status_code == 200
    assert await state(agents, change) == "QUEUED"
    assert refused(await decide(agents, by, change, "apply")) == (409, "WRONG_EXECUTION")
    await take_effect(agents, change)
    assert await state(agents, change) == "APPLIED"
    for act in ("apply", "decline", "veto"):
        assert refused(await decide(agents, by, change, act)) == (409, "WRONG_EXECUTION")


async def test_not_queued_before_the_vote_has_ended_nor_when_it_is_defeated(agents):
    alice, by = await agents.agent("500", hours_ago=30), await platform(agents)
    proposal = await proposed(agents, alice)
    await agents.vote(alice, proposal, "against")
    assert refused(await decide(agents, by, proposal, "apply")) == (409, "WRONG_EXECUTION")
    await agents.elapse(proposal, 96)
    await agents.run_jobs()
    assert refused(await decide(agents, by, proposal, "apply")) == (409, "WRONG_EXECUTION")


async def test_expired_when_it_is_not_queued_in_time(agents):
    change = await passed(agents)
    await agents.elapse(change, 14 * 24)
    await agents.run_jobs()
    assert await state(agents, change) == "LAPSED"


async def test_cancelled_by_the_proposer_at_once_and_not_after_the_deadline_or_execution(agents):
    alice = await agents.agent("500", hours_ago=30)
    first = await proposed(agents, alice)
    assert (await agents.cancel(alice, first)).status_code == 200
    assert await state(agents, first) == "CANCELLED"
    second = await proposed(agents, alice)
    await agents.vote(alice, second)
    await agents.elapse(second, 96)
    assert refused(await agents.cancel(alice, second)) == (409, "PROPOSAL_NOT_OPEN")
    await agents.run_jobs()
    assert refused(await agents.cancel(alice, second)) == (409, "PROPOSAL_NOT_OPEN")


async def test_a_double_vote_is_refused_whatever_it_says(agents):
    alice = await agents.agent("500", hours_ago=30)
    proposal = await proposed(agents, alice)
    await agents.vote(alice, proposal)
    for vote in ("for", "against", "abstain"):
        assert refused(await agents.try_vote(alice, proposal, vote)) == (409, "ALREADY_VOTED")


async def test_an_early_quorum_leaves_the_deadline(agents):
    alice = await agents.agent("500", hours_ago=30)
    proposal = await proposed(agents, alice)
    await agents.elapse(proposal, 47)
    before = (await agents.read(proposal))["end_timestamp"]
    await agents.vote(alice, proposal)
    assert (await agents.read(proposal))["end_timestamp"] == before


async def test_a_signal_has_no_quorum_and_is_not_extended(agents):
    alice = await agents.agent("500")
    signal = await agents.propose(alice, duration_seconds=DAYS_3)
    await agents.elapse(signal, 71.9)
    before = (await agents.read(signal))["end_timestamp"]
    await agents.vote(alice, signal)
    assert (await agents.read(signal))["end_timestamp"] == before
