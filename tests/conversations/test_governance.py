"""Signal proposals: agents vote with their stakes, which stay staked until the tally."""

from collections.abc import AsyncIterator
from datetime import datetime

import asyncpg
import pytest

from tests.founded import FoundedRegistries, RegistriesOfATest
from tests.governance import ROLES, Assembly, assembly, refused
from tests.registry import DatabaseFarm


@pytest.fixture(scope="module")
async def shared(
    database_farm: DatabaseFarm,
    founded_registries: FoundedRegistries,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Assembly]:
    registries = RegistriesOfATest(database_farm, founded_registries, tmp_path_factory.mktemp("registry"))
    yield Assembly(await registries.start(rate_limit_reads="off", agent_rbac_default_roles=ROLES))
    await registries.end()


@pytest.fixture
async def agents(shared: Assembly) -> AsyncIterator[Assembly]:
    """Sums and votes agree after each conversation."""
    yield shared
    supply = await shared.registry.supply()
    assert supply["status"] == "OK", supply


async def test_a_signal_passes_by_more_than_half_of_for_and_against(agents):
    alice, bob, carol = await agents.agent("40"), await agents.agent("30"), await agents.agent("10")
    proposal = await agents.propose(alice)
    assert {
        name: proposal[name] for name in ("status", "kind", "execution", "policy_diff", "quorum_weight")
    } == {
        "status": "OPEN",
        "kind": "signal",
        "execution": None,
        "policy_diff": None,
        "quorum_weight": "0",
    }
    assert proposal["snapshot_at"] == proposal["created_at"]
    vote = await agents.vote(alice, proposal, "for", reason="Mondays are calm.")
    assert (vote["voting_power"], vote["vote"], vote["voter_did"]) == ("40", "for", alice.did)
    await agents.vote(bob, proposal, "against")
    await agents.vote(carol, proposal, "abstain")
    await agents.elapse(proposal, 1)
    tallied = await agents.tally(alice, proposal)
    assert tallied.status_code == 200
    sums = ("status", "votes_for", "votes_against", "votes_abstain", "total_voters")
    assert [tallied.json()[name] for name in sums] == ["PASSED", "40", "30", "10", 3]
    assert await agents.read(proposal) == tallied.json()
    assert [(one["voter_did"], one["reason"]) for one in await agents.votes(proposal)] == [
        (carol.did, None),
        (bob.did, None),
        (alice.did, "Mondays are calm."),
    ]


@pytest.mark.parametrize("votes", [{}, {"for": "20", "against": "20"}, {"against": "20"}, {"abstain": "20"}])
async def test_a_tie_or_no_vote_fails(agents, votes):
    proposal = await agents.propose(await agents.agent("20"))
    for vote, staked in votes.items():
        await agents.vote(await agents.agent_staked_before(proposal, staked), proposal, vote)
    await agents.elapse(proposal, 1)
    await agents.run_jobs()
    assert (await agents.read(proposal))["status"] == "FAILED"


async def test_vote_in_favor_is_for_or_against(agents):
    alice, bob = await agents.agent("20"), await agents.agent("10")
    proposal = await agents.propose(alice)
    path = f"/proposals/{proposal['id']}/vote"
    votes = [
        await agents.post(one, path, {"vote_in_favor": yes}) for one, yes in ((alice, True), (bob, False))
    ]
    assert [vote.json()["vote"] for vote in votes] == ["for", "against"]
    carol = await agents.agent("10")
    for body in ({}, {"vote": "for", "vote_in_favor": True}, {"vote": "maybe"}, {"vote_in_favor": "yes"}):
        assert (await agents.post(carol, path, body)).status_code == 422


async def test_an_agent_votes_once(agents):
    alice = await agents.agent("20")
    proposal = await agents.propose(alice)
    await agents.vote(alice, proposal)
    assert refused(await agents.try_vote(alice, proposal, "against")) == (409, "ALREADY_VOTED")
    read = await agents.read(proposal)
    assert (read["votes_for"], read["votes_against"], read["total_voters"]) == ("20", "0", 1)


async def test_a_repeated_vote_with_its_key_returns_the_first_answer(agents):
    alice = await agents.agent("20")
    proposal = await agents.propose(alice)
    path, body = f"/proposals/{proposal['id']}/vote", {"vote": "for"}
    first, again = [await agents.post(alice, path, body, key="vote-1") for _ in range(2)]
    assert (first.status_code, again.status_code) == (200, 200)
    assert (first.json(), again.headers["Idempotent-Replayed"]) == (again.json(), "true")
    other = await agents.post(alice, path, {"vote": "against"}, key="vote-1")
    assert refused(other) == (422, "IDEMPOTENCY_KEY_REUSED")


async def test_no_vote_is_counted_after_the_end_and_no_tally_before_it(agents):
    alice, bob = await agents.agent("20"), await agents.agent("20")
    proposal = await agents.propose(alice)
    early = await agents.tally(alice, proposal)
    assert refused(early) == (409, "VOTING_UNDER_WAY")
    await agents.elapse(proposal, 1)
    late = await agents.try_vote(bob, proposal)
    assert refused(late) == (409, "PROPOSAL_NOT_OPEN")
    assert late.json()["error"]["context"]["state"] == "OPEN"
    first, again = [await agents.tally(alice, proposal) for _ in range(2)]
    assert (first.status_code, first.json()) == (200, again.json())
    assert refused(await agents.try_vote(bob, proposal)) == (409, "PROPOSAL_NOT_OPEN")


async def test_a_job_tallies_at_the_end(agents):
    alice = await agents.agent("20")
    proposal = await agents.propose(alice)
    await agents.vote(alice, proposal)
    await agents.run_jobs()
    assert (await agents.read(proposal))["status"] == "OPEN"
    await agents.elapse(proposal, 1)
    await agents.run_jobs()
    assert (await agents.read(proposal))["status"] == "PASSED"


async def test_a_vote_pins_its_weight_until_the_tally(agents):
    alice = await agents.agent("50")
    first, second = await agents.propose(alice), await agents.propose(alice, duration_seconds=7200)
    assert (await agents.unstake(alice, "10")).status_code == 200
    await agents.vote(alice, first)
    await agents.vote(alice, second)
    assert await agents.power(alice) == {
        "staked": "40",
        "pinned": "40",
        "pinned_until": second["end_timestamp"],
    }
    pinned = await agents.unstake(alice, "1")
    assert refused(pinned) == (403, "STAKE_PINNED")
    until = datetime.fromisoformat(pinned.json()["error"]["context"]["until"])
    assert until == datetime.fromisoformat(second["end_timestamp"])
    await agents.stake(alice, "15")
    assert refused(await agents.unstake(alice, "16")) == (403, "STAKE_PINNED")
    assert (await agents.unstake(alice, "15")).status_code == 200
    for proposal in (first, second):
        assert refused(await agents.unstake(alice, "1")) == (403, "STAKE_PINNED")
        await agents.elapse(proposal, 2)
        # The end alone frees nothing.
        assert refused(await agents.unstake(alice, "1")) == (403, "STAKE_PINNED")
        assert (await agents.tally(alice, proposal)).status_code == 200
    assert (await agents.unstake(alice, "40")).status_code == 200
    assert await agents.power(alice) == {"staked": "0", "pinned": "0", "pinned_until": None}


async def test_the_proposer_cancels_before_another_has_voted(agents):
    alice, bob = await agents.agent("20"), await agents.agent("20")
    proposal = await agents.propose(alice)
    await agents.vote(alice, proposal)
    assert refused(await agents.cancel(bob, proposal)) == (403, "NOT_THE_PROPOSER")
    cancelled = await agents.cancel(alice, proposal)
    assert (cancelled.status_code, cancelled.json()["status"]) == (200, "CANCELLED")
    assert (await agents.unstake(alice, "20")).status_code == 200
    assert refused(await agents.try_vote(bob, proposal)) == (409, "PROPOSAL_NOT_OPEN")
    assert refused(await agents.cancel(alice, proposal)) == (409, "PROPOSAL_NOT_OPEN")
    await agents.elapse(proposal, 1)
    await agents.run_jobs()
    assert (await agents.tally(alice, proposal)).json()["status"] == "CANCELLED"


async def test_the_proposer_does_not_cancel_once_another_has_voted(agents):
    alice, bob = await agents.agent("20"), await agents.agent("20")
    proposal = await agents.propose(alice)
    await agents.vote(bob, proposal, "abstain")
    assert refused(await agents.cancel(alice, proposal)) == (409, "OTHERS_VOTED")


async def test_no_weight_no_proposal(agents):
    assert refused(await agents.try_propose(await agents.agent())) == (403, "NO_WEIGHT")


async def test_an_owner_has_three_open_proposals(agents):
    developer = await agents.registry.developer()
    first, second = await developer.agent(), await developer.agent(name="Second")
    await agents.stake(first, "30")
    given = await first.transfer(second.did, "20")
    assert given.status_code == 200, given.text
    await agents.stake(second, "10")
    made = [await agents.propose(one) for one in (first, second, first)]
    for agent in (first, second):
        assert refused(await agents.try_propose(agent)) == (409, "TOO_MANY_PROPOSALS")
    assert (await agents.cancel(first, made[0])).status_code == 200
    await agents.propose(second)


async def test_a_suspended_agent_does_not_vote_and_its_vote_stands(agents):
    alice, bob = await agents.agent("20"), await agents.agent("20")
    proposal, other = await agents.propose(alice), await agents.propose(alice)
    await agents.vote(bob, proposal, "against")
    administrator = await agents.registry.administrator("admin_enforcement")
    suspended = await agents.registry.post(
        "/admin/agents/bulk/suspend",
        json={"agent_dids": [bob.did], "reason": "A test."},
        headers=administrator.headers,
    )
    assert suspended.status_code == 200, suspended.text
    assert (await agents.try_vote(bob, other)).status_code in (401, 403)
    await agents.elapse(proposal, 1)
    assert (await agents.tally(alice, proposal)).json()["votes_against"] == "20"


async def test_the_list_has_open_proposals_and_on_request_all(agents):
    alice = await agents.agent("20")
    opened, closed = await agents.propose(alice), await agents.propose(alice)
    await agents.cancel(alice, closed)
    lists = [
        await agents.registry.get("/governance/proposals", params={"limit": 100, **more})
        for more in ({}, {"include_closed": "true"})
    ]
    open_ids, all_ids = [[one["id"] for one in answer.json()["items"]] for answer in lists]
    assert opened["id"] in open_ids
    assert closed["id"] not in open_ids
    assert all_ids == sorted(all_ids, reverse=True)
    assert {opened["id"], closed["id"]} <= set(all_ids)


async def test_an_unknown_proposal_is_not_found(agents):
    alice, unknown = await agents.agent("20"), {"id": 10**9}
    found = [
        await agents.registry.get("/governance/proposals/1000000000"),
        await agents.registry.get("/governance/proposals/1000000000/votes"),
        await agents.try_vote(alice, unknown),
        await agents.tally(alice, unknown),
        await agents.cancel(alice, unknown),
    ]
    assert {refused(answer) for answer in found} == {(404, "PROPOSAL_UNKNOWN")}


async def test_each_act_is_an_event_and_a_leaf_of_the_log(agents):
    alice = await agents.agent("20")
    proposal = await agents.propose(alice)
    vote = await agents.vote(alice, proposal)
    await agents.elapse(proposal, 1)
    await agents.tally(alice, proposal)
    events = await agents.events(proposal)
    assert [name for name, _ in events] == ["ProposalCreated", "VoteCast", "ProposalTallied"]
    assert events[1][1] == {
        "proposal_id": proposal["id"],
        "voter_did": alice.did,
        "vote": "for",
        "weight": "20",
    }
    assert {name: events[2][1][name] for name in ("status", "votes_for", "total_voters")} == {
        "status": "PASSED",
        "votes_for": "20",
        "total_voters": 1,
    }
    ids = [str(proposal["id"]), str(vote["id"]), str(proposal["id"])]
    kinds = ["proposal_created", "vote_cast", "proposal_tallied"]
    for kind, object_id, (_, data) in zip(kinds, ids, events, strict=True):
        await agents.require_leaf(kind, object_id, data)


@pytest.mark.parametrize(
    "members",
    [
        {"title": ""},
        {"title": " \t "},
        {"title": "x" * 201},
        {"title": "Meet \u202e on Mondays"},
        {"description": "At \u001b[2J ten."},
        {"description": "x" * 20_001},
        {"duration_seconds": 0},
        {"duration_seconds": 2_592_001},
        {"kind": "law"},
    ],
    ids=lambda members: next(iter(members)),
)
async def test_a_proposal_out_of_bounds_is_refused(agents, members):
    assert (await agents.try_propose(await agents.agent("20"), **members)).status_code == 422


async def test_only_governors_propose_and_vote(start_registry):
    agents = await assembly(start_registry)
    alice = await agents.agent("20")
    proposal = await agents.propose(alice)
    plain = await start_registry(agent_rbac_default_roles=["trader", "client", "staker"])
    other = Assembly(plain)
    bob = await other.agent("20")
    assert refused(await other.try_propose(bob)) == (403, "PERMISSION_MISSING")
    assert refused(await other.try_vote(bob, proposal)) == (403, "PERMISSION_MISSING")
    assert refused(await other.tally(bob, proposal)) == (403, "PERMISSION_MISSING")
    developer = await agents.registry.developer()
    answer = await agents.registry.post("/governance/proposals", json={}, headers=developer.headers)
    assert answer.status_code == 401


async def test_without_weights_nothing_is_proposed_voted_on_or_tallied(start_registry):
    agents = await assembly(start_registry, governance_weight_mode="off")
    alice = await agents.agent("20")
    answers = [
        await agents.try_propose(alice),
        await agents.try_vote(alice, {"id": 1}),
        await agents.tally(alice, {"id": 1}),
    ]
    assert {refused(answer) for answer in answers} == {(403, "governance_disabled")}


async def test_the_auditor_finds_sums_that_are_not_those_of_the_votes_and_stakes_below_their_pins(
    start_registry,
):
    agents = await assembly(start_registry)
    alice = await agents.agent("20")
    proposal = await agents.propose(alice)
    await agents.vote(alice, proposal)
    run = agents.registry.database.transaction
    await run(lambda tx: tx.execute("UPDATE governance_proposal SET votes_for = votes_for + 1"))
    assert (await agents.audited()).checks["staked_guard"] == "BREACH"
    await run(lambda tx: tx.execute("UPDATE governance_proposal SET votes_for = votes_for - 1"))
    assert (await agents.audited()).status == "OK"
    await run(
        lambda tx: tx.execute("UPDATE ledger_account SET staked = staked - 1 WHERE did = $1", alice.did)
    )
    assert f"{alice.did} 2000000000" in (await agents.audited()).findings["votes"]


async def test_a_stored_vote_cannot_be_changed(agents):
    alice = await agents.agent("20")
    proposal = await agents.propose(alice)
    await agents.vote(alice, proposal)
    with pytest.raises(asyncpg.IntegrityConstraintViolationError):
        await agents.registry.database.transaction(
            lambda tx: tx.execute("UPDATE governance_vote SET vote = 'against'")
        )
