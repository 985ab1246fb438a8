"""Changes of policy: voted on with a quorum, then applied, declined, vetoed, or out of date, each in public."""

from collections.abc import AsyncIterator

import pytest

from tests.all_events import require_schemas_kept
from tests.founded import FoundedRegistries, RegistriesOfATest
from tests.governance import (
    DAYS_3,
    DIFF,
    ROLES,
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
from tests.governed_values import time_passed
from tests.registry import DatabaseFarm, TestAgent


@pytest.fixture
async def agents(start_registry) -> Assembly:
    return await assembly(start_registry, genesis_grant_amount="1000")


@pytest.fixture(scope="module")
async def shared(
    database_farm: DatabaseFarm,
    founded_registries: FoundedRegistries,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Assembly]:
    """For proposals that are refused, and leave nothing."""
    registries = RegistriesOfATest(database_farm, founded_registries, tmp_path_factory.mktemp("registry"))
    started = await registries.start(agent_rbac_default_roles=ROLES, genesis_grant_amount="1000")
    yield Assembly(started)
    await registries.end()


@pytest.fixture(scope="module")
async def refused_agent(shared: Assembly) -> TestAgent:
    return await shared.agent("500", hours_ago=30)


async def test_an_applied_change_takes_effect_after_the_delay(agents):
    change = await passed(agents)
    assert (change["execution"], change["effective_at"]) == ("AWAITING", None)
    queued = await decide(agents, await platform(agents), change, "apply")
    assert queued.status_code == 200, queued.text
    assert (queued.json()["execution"], queued.json()["reason"]) == ("QUEUED", "Agreed.")
    assert await value_of(agents, "bond_minimum") == ("100", "default")
    await take_effect(agents, change)
    assert (await agents.read(change))["execution"] == "APPLIED"
    assert await value_of(agents, "bond_minimum") == ("50", "governance")
    names = [name for name, _ in await agents.events(change)]
    assert names == ["ProposalCreated", "VoteCast", "ProposalTallied", "PolicyScheduled", "PolicyApplied"]
    for kind in ("policy_scheduled", "policy_applied"):
        (data,) = [
            data for name, data in await agents.events(change) if name == kind.title().replace("_", "")
        ]
        await agents.require_leaf(kind, str(change["id"]), data)
    await require_schemas_kept(
        agents.registry.database,
        "ProposalCreated",
        "VoteCast",
        "ProposalTallied",
        "PolicyScheduled",
        "PolicyApplied",
    )


async def test_a_binding_vote_schedules_the_change_itself(start_registry):
    agents = await assembly(start_registry, genesis_grant_amount="1000", governance_execution="binding")
    change = await passed(agents)
    assert change["execution"] == "QUEUED"
    await take_effect(agents, change)
    assert await value_of(agents, "bond_minimum") == ("50", "governance")


async def test_a_declined_change_has_no_effect(agents):
    change, by = await passed(agents), await platform(agents)
    declined = await decide(agents, by, change, "decline", "Too soon.")
    assert (declined.json()["execution"], declined.json()["reason"]) == ("DECLINED", "Too soon.")
    for act in ("apply", "decline", "veto"):
        assert refused(await decide(agents, by, change, act)) == (409, "WRONG_EXECUTION")
    (event,) = [data for name, data in await agents.events(change) if name == "PolicyVetoed"]
    assert (event["execution"], event["reason"], event["diff"]) == ("DECLINED", "Too soon.", DIFF)


async def test_a_change_that_waits_for_fourteen_days_lapses(agents):
    change = await passed(agents)
    await agents.elapse(change, 14 * 24)
    await agents.run_jobs()
    assert (await agents.read(change))["execution"] == "LAPSED"
    assert refused(await decide(agents, await platform(agents), change, "apply")) == (409, "WRONG_EXECUTION")


async def test_a_scheduled_change_is_vetoed(agents):
    change, by = await passed(agents), await platform(agents)
    await decide(agents, by, change, "apply")
    vetoed = await decide(agents, by, change, "veto", "It would harm buyers.")
    assert vetoed.json()["execution"] == "VETOED"
    await take_effect(agents, change)
    assert (await agents.read(change))["execution"] == "VETOED"
    assert await value_of(agents, "bond_minimum") == ("100", "default")


async def test_an_open_proposal_is_cancelled_by_a_veto_even_when_others_have_voted(agents):
    alice, bob = await agents.agent("20"), await agents.agent("20")
    proposal = await agents.propose(alice)
    await agents.vote(bob, proposal)
    vetoed = await decide(agents, await platform(agents), proposal, "veto", "Spam.")
    assert (vetoed.json()["status"], vetoed.json()["reason"]) == ("CANCELLED", "Spam.")
    assert (await agents.unstake(bob, "20")).status_code == 200
    names = [name for name, _ in await agents.events(proposal)]
    assert names == ["ProposalCreated", "VoteCast", "ProposalTallied", "PolicyVetoed"]
    await require_schemas_kept(agents.registry.database, "PolicyVetoed")


async def test_a_reset_gives_a_parameter_back_and_makes_its_scheduled_change_stale(agents):
    first, by = await passed(agents), await platform(agents)
    await decide(agents, by, first, "apply")
    await take_effect(agents, first)
    second = await passed(agents, policy_diff={"bond_minimum": {"from": "50", "to": "70"}})
    await decide(agents, by, second, "apply")
    answer = await agents.registry.post(
        "/admin/governance/parameters/bond_minimum/reset", json={"reason": "An error."}, headers=by.headers
    )
    assert answer.status_code == 200, answer.text
    assert (await agents.read(second))["execution"] == "STALE"
    data = await agents.reset_event()
    assert {name: data[name] for name in ("name", "before", "after", "reason")} == {
        "name": "bond_minimum",
        "before": "50",
        "after": "100",
        "reason": "An error.",
    }
    assert data["by"].startswith("developer:")
    assert data["effective_at"] == answer.json()["scheduled"]["at"].replace("Z", "+00:00")
    await require_schemas_kept(agents.registry.database, "PolicyReset")
    again = await agents.registry.post(
        "/admin/governance/parameters/bond_minimum/reset", json={"reason": "Again."}, headers=by.headers
    )
    assert refused(again) == (409, "PARAMETER_UNDER_WAY")
    assert await agents.reset_event() == data, "a refused reset records nothing"
    await time_passed(agents.registry.database)
    await time_passed(agents.registry.database)
    assert await value_of(agents, "bond_minimum") == ("100", "default")


@pytest.mark.parametrize(
    ("voted", "outcome"), [("99", "FAILED"), ("100", "PASSED")], ids=["below the quorum", "with the quorum"]
)
async def test_the_quorum_is_a_part_of_what_was_staked_at_the_snapshot(agents, voted, outcome):
    voter, silent = await agents.agent(voted, hours_ago=30), await agents.agent("400", hours_ago=30)
    await agents.agent("900")
    proposal = await proposed(agents, silent)
    eligible = 400 + int(voted)
    assert proposal["eligible_weight"] == str(eligible)
    await agents.vote(voter, proposal)
    await agents.elapse(proposal, 72)
    assert (await agents.tally(voter, proposal)).json()["status"] == outcome


async def test_abstentions_count_to_the_quorum_only(agents):
    abstaining, voter = await agents.agent("400", hours_ago=30), await agents.agent("100", hours_ago=30)
    proposal = await proposed(agents, abstaining)
    await agents.vote(abstaining, proposal, "abstain")
    await agents.vote(voter, proposal, "for")
    await agents.elapse(proposal, 96)
    assert (await agents.tally(voter, proposal)).json()["status"] == "PASSED"


async def test_one_percent_of_all_units_is_the_least_quorum(agents):
    alice = await agents.agent("100", hours_ago=30)
    for _ in range(3):
        await agents.agent()
    proposal = await proposed(agents, alice)
    # Four agents with 1,000 units each; a fifth of what is staked would be 20.
    assert (proposal["eligible_weight"], proposal["quorum_weight"]) == ("100", "40")


@pytest.mark.parametrize(
    ("diff", "code"),
    [
        ({"bond_minimum": {"from": "100", "to": "10001"}}, (422, "PARAMETER_INVALID")),
        ({"governance_quorum_percent": {"from": 20, "to": 1}}, (422, "PARAMETER_UNKNOWN")),
        ({"teg_mint_max_avt": {"from": "1000000", "to": "1"}}, (422, "PARAMETER_UNKNOWN")),
        ({"bond_minimum": {"from": "90", "to": "80"}}, (409, "PARAMETER_STALE")),
        ({}, (422, "VALIDATION_ERROR")),
    ],
    ids=["out of bounds", "own setting", "minting", "stale", "empty"],
)  # fmt: skip
async def test_a_change_out_of_bounds_or_out_of_date_is_not_proposed(shared, refused_agent, diff, code):
    answer = await shared.try_propose(
        refused_agent, kind="policy_change", duration_seconds=DAYS_3, policy_diff=diff
    )
    assert refused(answer) == code


async def test_a_change_needs_a_diff_time_and_weight(shared, refused_agent):
    short = await shared.try_propose(
        refused_agent, kind="policy_change", duration_seconds=DAYS_3 - 1, policy_diff=DIFF
    )
    assert short.status_code == 422
    assert (await shared.try_propose(refused_agent, kind="policy_change")).status_code == 422
    assert (await shared.try_propose(refused_agent, policy_diff=DIFF)).status_code == 422
    small = await shared.agent("99", hours_ago=30)
    body = {"kind": "policy_change", "duration_seconds": DAYS_3, "policy_diff": DIFF}
    assert refused(await shared.try_propose(small, **body)) == (403, "WEIGHT_TOO_SMALL")
    young = await shared.agent("500", hours_ago=23)
    assert refused(await shared.try_propose(young, **body)) == (403, "NO_WEIGHT")


async def test_an_owner_has_one_open_change_of_policy(agents):
    alice = await agents.agent("500", hours_ago=30)
    await proposed(agents, alice)
    body = {"kind": "policy_change", "duration_seconds": DAYS_3}
    other = await agents.try_propose(
        alice, policy_diff={"bond_maturity_days": {"from": 14, "to": 15}}, **body
    )
    assert refused(other) == (409, "TOO_MANY_PROPOSALS")
    await agents.propose(alice)


async def test_only_administrators_of_the_platform_decide(agents):
    change = await passed(agents)
    for by in (await agents.registry.developer(), await agents.registry.administrator("admin_support")):
        for act in ("apply", "decline", "veto"):
            assert (await decide(agents, by, change, act)).status_code == 403
