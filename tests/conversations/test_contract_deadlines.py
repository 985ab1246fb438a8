"""Effects of a contract's dates, and the units that a funded contract holds."""

from collections.abc import AsyncIterator

import pytest

from tests.registry import TestAgent
from tests.rooms.commerce.agreements import DAY, HOUR, Agreements, in_days, proposal, refused

HALVES = [{"title": "First half", "amount": "40"}, {"title": "Second half", "amount": "60"}]


@pytest.fixture
async def contracts(agreements_of_file: Agreements) -> AsyncIterator[Agreements]:
    """No unit is made or lost, and no hold is left behind, in any conversation."""
    yield agreements_of_file
    await agreements_of_file.prove()


@pytest.fixture
async def alice(contracts: Agreements) -> TestAgent:
    return await contracts.contractor()


@pytest.fixture
async def bob(contracts: Agreements) -> TestAgent:
    return await contracts.provider()


# Dates


async def test_work_that_is_not_submitted_in_time_fails(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    accepted = await contracts.accepted(alice, bob, submit_by=in_days(2))
    await contracts.elapse(accepted, 2 * DAY - 60)
    assert (await contracts.read(bob, accepted))["status"] == "ACCEPTED"
    await contracts.elapse(accepted, 61)
    ended = await contracts.read(bob, accepted)
    assert (ended["status"], ended["ended_because"]) == ("FAILED", "not_submitted")
    assert (ended["history"][-1]["act"], ended["history"][-1]["actor_did"]) == ("not_submitted", None)


async def test_work_that_is_not_reviewed_in_time_fails(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    submitted = await contracts.submitted(alice, bob, review_by=in_days(2))
    await contracts.elapse(submitted, 2 * DAY + 1)
    ended = await contracts.read(bob, submitted)
    assert (ended["status"], ended["ended_because"]) == ("FAILED", "not_reviewed")
    assert await bob.balance() == "0"


async def test_work_that_is_not_reviewed_is_approved_where_the_contract_says_so(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    submitted = await contracts.submitted(alice, bob, review_by=in_days(2), auto_approve=True)
    await contracts.elapse(submitted, 2 * DAY + 1)
    ended = await contracts.read(bob, submitted)
    assert (ended["status"], ended["ended_because"]) == ("COMPLETED", "approved")
    assert ended["history"][-1]["actor_did"] is None
    assert await bob.balance() == "100"


async def test_an_automatic_approval_without_funds_fails_the_contract(
    contracts: Agreements, bob: TestAgent
) -> None:
    alice = await contracts.contractor("10")
    submitted = await contracts.submitted(alice, bob, review_by=in_days(2), auto_approve=True)
    await contracts.elapse(submitted, 2 * DAY + 1)
    ended = await contracts.read(bob, submitted)
    assert (ended["status"], ended["ended_because"]) == ("FAILED", "not_reviewed")


async def test_a_contract_that_states_no_review_by_waits_for_its_contractor(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    submitted = await contracts.submitted(alice, bob, submit_by=in_days(2))
    await contracts.elapse(submitted, 900 * DAY)
    assert (await contracts.act(alice, submitted, "approve-completion"))["status"] == "COMPLETED"


async def test_an_act_after_a_deadline_is_refused_before_its_job_has_run(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    proposed = await contracts.propose(alice, bob, submit_by=in_days(1))
    accepted = await contracts.accepted(alice, bob, submit_by=in_days(1))
    submitted = await contracts.submitted(alice, bob, review_by=in_days(1))
    for contract in (proposed, accepted, submitted):
        await contracts.move_clock(contract, DAY + 1)
    late = [(bob, proposed, "accept"), (alice, proposed, "cancel"), (bob, accepted, "submit")]
    late += [(alice, accepted, "mark-failed"), (alice, submitted, "approve-completion")]
    late += [(alice, submitted, "request-changes"), (alice, submitted, "mark-failed")]
    for agent, contract, act in late:
        answer = await contracts.post(agent, f"/{contract['id']}/{act}")
        assert refused(answer) == (409, "CONTRACT_DEADLINE_PASSED"), act
    await contracts.run_jobs()
    ends = [(await contracts.read(alice, one))["ended_because"] for one in (proposed, accepted, submitted)]
    assert ends == ["proposal_expired", "not_submitted", "not_reviewed"]


# Funded contracts


async def test_the_amount_of_a_funded_contract_is_held_from_the_acceptance_on(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    proposed = await contracts.propose(alice, bob, funded=True, review_by=in_days(9))
    assert (proposed["version"], await contracts.balances(alice)) == (2, ("1000", "0"))
    accepted = await contracts.act(bob, proposed, "accept")
    assert await contracts.balances(alice) == ("899.5", "100.5")
    done = await contracts.act(alice, await contracts.act(bob, accepted, "submit"), "approve-completion")
    assert (done["status"], await contracts.balances(alice)) == ("COMPLETED", ("899.5", "0"))
    assert await bob.balance() == "100"


async def test_a_contractor_short_at_the_accept_leaves_the_proposal_open(
    contracts: Agreements, bob: TestAgent
) -> None:
    alice = await contracts.contractor("100")
    proposed = await contracts.propose(alice, bob, funded=True, review_by=in_days(9))
    answer = await contracts.post(bob, f"/{proposed['id']}/accept", key="short")
    assert refused(answer) == (409, "CONTRACT_UNFUNDED")
    assert (await contracts.read(bob, proposed))["status"] == "PROPOSED"
    await contracts.purses.grant(alice, "10")
    accepted = await contracts.post(bob, f"/{proposed['id']}/accept", key="short")
    assert accepted.json()["status"] == "ACCEPTED"


async def test_milestones_of_a_funded_contract_are_paid_from_its_hold(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    accepted = await contracts.accepted(alice, bob, funded=True, review_by=in_days(9), milestones=HALVES)
    paid = await contracts.act(alice, await contracts.act(bob, accepted, "submit"), "approve-completion")
    assert await contracts.balances(alice) == ("899.5", "60.3")
    await contracts.act(alice, await contracts.act(bob, paid, "submit"), "approve-completion")
    assert (await contracts.balances(alice), await bob.balance()) == (("899.5", "0"), "100")


async def test_a_failure_without_a_submission_frees_the_hold_at_once(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    accepted = await contracts.accepted(alice, bob, funded=True, review_by=in_days(9))
    failed = await contracts.act(alice, accepted, "mark-failed")
    assert (failed["hold_release_at"], await contracts.balances(alice)) == (None, ("1000", "0"))


async def test_a_failure_after_a_submission_keeps_the_hold_for_the_time_of_a_dispute(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    submitted = await contracts.submitted(alice, bob, funded=True, review_by=in_days(9))
    failed = await contracts.act(alice, submitted, "mark-failed")
    assert failed["hold_release_at"] is not None
    assert await contracts.balances(alice) == ("899.5", "100.5")
    await contracts.elapse(failed, 71 * HOUR)
    assert await contracts.balances(alice) == ("899.5", "100.5")
    await contracts.elapse(failed, HOUR + 1)
    assert await contracts.balances(alice) == ("1000", "0")
    freed = await contracts.read(alice, failed)
    assert (freed["status"], freed["hold_release_at"]) == ("FAILED", None)
    assert freed["history"][-1]["act"] == "hold_released"


async def test_a_failure_gives_back_only_what_is_unpaid(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    accepted = await contracts.accepted(alice, bob, funded=True, review_by=in_days(9), milestones=HALVES)
    await contracts.act(alice, await contracts.act(bob, accepted, "submit"), "approve-completion")
    failed = await contracts.act(alice, accepted, "mark-failed")
    assert (failed["amount_paid"], failed["hold_release_at"]) == ("40", None)
    assert (await contracts.balances(alice), await bob.balance()) == (("959.8", "0"), "40")


async def test_the_hold_of_a_contract_lasts_beyond_the_time_of_a_dispute_about_it(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    accepted = await contracts.accepted(alice, bob, funded=True, review_by=in_days(9))
    lasts = await contracts.registry.database.read(
        lambda tx: tx.fetchval(
            "SELECT h.expires_at - c.review_by >= interval '96 hours' FROM commerce_contract c"
            " JOIN ledger_hold h ON h.id = c.hold_id WHERE c.id = $1",
            accepted["id"],
        )
    )
    assert lasts
    await contracts.act(alice, accepted, "mark-failed")


# Suspension and revocation of a party


async def suspend(contracts: Agreements, agent: TestAgent, *, soft: bool = False) -> None:
    await administer(contracts, "suspend", agent, soft_suspend=soft, reason="For a test.")


async def administer(contracts: Agreements, act: str, agent: TestAgent, **members: object) -> None:
    administrator = await contracts.registry.administrator("admin_enforcement")
    body = {"agent_dids": [agent.did], **members}
    answer = await contracts.registry.post(
        f"/admin/agents/bulk/{act}", json=body, headers=administrator.headers
    )
    assert answer.status_code == 200, answer.text


async def test_a_suspended_party_stops_the_deadlines_which_resume_with_the_time_that_remained(
    contracts: Agreements, alice: TestAgent
) -> None:
    bob = await contracts.provider()
    accepted = await contracts.accepted(alice, bob, funded=True, submit_by=in_days(2), review_by=in_days(4))
    await contracts.elapse(accepted, DAY)
    await suspend(contracts, bob)
    await contracts.follow(bob)
    await contracts.elapse(accepted, 30 * DAY)
    assert (await contracts.read(alice, accepted))["status"] == "ACCEPTED"
    assert await contracts.balances(alice) == ("899.5", "100.5")
    await administer(contracts, "reinstate", bob, reason="Cleared.")
    await contracts.follow(bob)
    await contracts.elapse(accepted, DAY - 60)
    assert (await contracts.read(alice, accepted))["status"] == "ACCEPTED"
    await contracts.elapse(accepted, 61)
    assert (await contracts.read(alice, accepted))["ended_because"] == "not_submitted"
    assert await contracts.balances(alice) == ("1000", "0")


async def test_a_deadline_that_comes_during_a_suspension_is_stopped_before_anything_follows_it(
    contracts: Agreements, alice: TestAgent
) -> None:
    bob = await contracts.provider()
    submitted = await contracts.submitted(alice, bob, review_by=in_days(2))
    await suspend(contracts, bob)
    await contracts.purses.execute(
        "UPDATE enforcement_suspension SET suspended_at = suspended_at - interval '3 days' WHERE did = $1",
        bob.did,
    )
    await contracts.elapse(submitted, 2 * DAY + 1)
    assert (await contracts.read(alice, submitted))["status"] == "SUBMITTED"
    failed = await contracts.act(alice, submitted, "mark-failed")
    assert failed["status"] == "FAILED"


async def test_a_soft_suspension_stops_no_deadline(contracts: Agreements, alice: TestAgent) -> None:
    bob = await contracts.provider()
    accepted = await contracts.accepted(alice, bob, submit_by=in_days(2))
    await suspend(contracts, bob, soft=True)
    await contracts.follow(bob)
    await contracts.elapse(accepted, 2 * DAY + 1)
    assert (await contracts.read(alice, accepted))["ended_because"] == "not_submitted"


async def test_the_contracts_of_a_revoked_party_end(contracts: Agreements, alice: TestAgent) -> None:
    bob = await contracts.provider()
    proposed = await contracts.propose(alice, bob)
    accepted = await contracts.accepted(alice, bob, funded=True, review_by=in_days(4))
    submitted = await contracts.submitted(alice, bob, funded=True, review_by=in_days(4))
    await suspend(contracts, bob)
    await contracts.follow(bob)
    await administer(contracts, "revoke", bob, reason="For a test.")
    await contracts.follow(bob)
    ends = [await contracts.read(alice, one) for one in (proposed, accepted, submitted)]
    assert [end["status"] for end in ends] == ["CANCELLED", "FAILED", "FAILED"]
    assert {end["ended_because"] for end in ends} == {"party_revoked"}
    assert await contracts.balances(alice) == ("899.5", "100.5")
    # The suspension of a revoked agent is never lifted, and stops nothing any more.
    await contracts.purses.execute(
        "UPDATE enforcement_suspension SET suspended_at = suspended_at - interval '9 days' WHERE did = $1",
        bob.did,
    )
    await contracts.elapse(submitted, 72 * HOUR + 1)
    assert await contracts.balances(alice) == ("1000", "0")


async def test_the_contracts_of_a_revoked_contractor_give_back_what_they_hold(
    contracts: Agreements, bob: TestAgent
) -> None:
    alice = await contracts.contractor()
    accepted = await contracts.accepted(alice, bob, funded=True, review_by=in_days(4))
    await suspend(contracts, alice)
    await administer(contracts, "revoke", alice, reason="For a test.")
    await contracts.follow(alice)
    assert (await contracts.read(bob, accepted))["ended_because"] == "party_revoked"
    assert await contracts.balances(alice) == ("1000", "0")


async def test_nothing_is_proposed_to_a_suspended_provider(contracts: Agreements, alice: TestAgent) -> None:
    bob = await contracts.provider()
    await suspend(contracts, bob)
    assert refused(await contracts.post(alice, "", **proposal(bob))) == (404, "PROVIDER_UNKNOWN")
