"""Contracts as the specification has them: two agents agree on work, and its approval pays it."""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any

import pytest

from hansa.rooms import ledger
from hansa.rooms.commerce.contracts.approval_batch import judged_of, order_of
from tests.registry import TestAgent, at_once
from tests.rooms.commerce.agreements import Agreements, in_days, proposal, refused

CONTRACT = {
    "id",
    "version",
    "title",
    "contract_type",
    "amount",
    "amount_paid",
    "currency",
    "contractor_did",
    "provider_did",
    "contractor_registry",
    "provider_registry",
    "terms",
    "acceptance_criteria",
    "submit_by",
    "review_by",
    "auto_approve",
    "funded",
    "provider_bond_min",
    "provider_jobs_min",
    "milestones",
    "deliverables",
    "status",
    "ended_because",
    "payment_tx_id",
    "hold_release_at",
    "dispute_id",
    "expires_at",
    "created_at",
    "accepted_at",
    "submitted_at",
    "completed_at",
    "history",
}
SHA256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
DELIVERABLE = {"uri": "https://work.example.org/1", "sha256": SHA256, "note": "All pages."}
TWO_PARTS = [{"title": "First half", "amount": "40"}, {"title": "Second half", "amount": "60"}]


@pytest.fixture
async def contracts(agreements_of_file: Agreements) -> AsyncIterator[Agreements]:
    """No unit is made or lost, and no hold is left behind, in any conversation."""
    yield agreements_of_file
    await agreements_of_file.prove()


@pytest.fixture
async def alice(contracts: Agreements) -> TestAgent:
    """A contractor who holds 1000 units."""
    return await contracts.contractor()


@pytest.fixture
async def bob(contracts: Agreements) -> TestAgent:
    """A provider of another owner, who holds nothing."""
    return await contracts.provider()


def acts(contract: Any) -> list[str]:
    return [line["act"] for line in contract["history"]]


# The proposal


async def test_a_proposal_is_answered_with_the_contract(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    made = await contracts.propose(alice, bob)
    assert set(made) == CONTRACT
    assert (made["status"], made["version"], made["amount"], made["amount_paid"]) == (
        "PROPOSED",
        1,
        "100",
        "0",
    )
    assert (made["contractor_did"], made["provider_did"]) == (alice.did, bob.did)
    assert (made["ended_because"], made["payment_tx_id"], made["dispute_id"]) == (None, None, None)
    assert made["terms"] == "German to English, 40 pages."
    assert acts(made) == ["proposed"]


async def test_deadline_is_another_name_of_submit_by(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    due = in_days(3)
    made = await contracts.propose(alice, bob, deadline=due)
    assert datetime.fromisoformat(made["submit_by"]) == datetime.fromisoformat(due)
    both = await contracts.post(alice, "", **proposal(bob, deadline=due, submit_by=due))
    assert both.status_code == 422


@pytest.mark.parametrize(
    ("members", "why"),
    [
        ({"funded": True}, "funded needs review_by"),
        ({"auto_approve": True}, "auto_approve needs review_by"),
        ({"milestones": [{"title": "Half", "amount": "40"}]}, "sum to 40"),
        ({"submit_by": "2020-01-01T00:00:00Z"}, "in the future"),
        ({"submit_by": "3020-01-01T00:00:00Z"}, "days ahead"),
        (
            {"submit_by": "2090-01-02T00:00:00Z", "review_by": "2090-01-01T00:00:00Z"},
            "dates must rise",
        ),
    ],
)
async def test_terms_that_contradict_each_other_are_refused(
    contracts: Agreements, alice: TestAgent, bob: TestAgent, members: dict[str, Any], why: str
) -> None:
    answer = await contracts.post(alice, "", **proposal(bob, **members))
    assert refused(answer) == (422, "CONTRACT_TERMS_INVALID")
    assert why in answer.json()["detail"]


@pytest.mark.parametrize(
    "members",
    [
        {"title": ""},
        {"title": "x" * 201},
        {"title": " "},
        {"contract_type": "Service"},
        {"contract_type": "x" * 41},
        {"amount": "0"},
        {"amount": 100},
        {"amount": "-1"},
        {"terms": None},
        {"terms": "x" * 20_000},
        {"submit_by": 1_900_000_000},
        {"milestones": [{"title": "x", "amount": "1"}] * 51},
        {"provider_did": "bob"},
    ],
)
async def test_a_proposal_of_the_wrong_form_is_refused(
    contracts: Agreements, alice: TestAgent, bob: TestAgent, members: dict[str, Any]
) -> None:
    assert (await contracts.post(alice, "", **proposal(bob, **members))).status_code == 422


async def test_an_agent_makes_no_contract_with_itself(contracts: Agreements, alice: TestAgent) -> None:
    assert refused(await contracts.post(alice, "", **proposal(alice))) == (400, "OWN_CONTRACT")


async def test_a_provider_that_is_no_agent_of_this_registry_is_unknown(
    contracts: Agreements, alice: TestAgent
) -> None:
    unknown = {"provider_did": "did:hansa:elsewhere.example:1b4e28ba-2fa1-41d2-883f-0016d3cca427"}
    answer = await contracts.post(alice, "", **{**proposal(None), **unknown})
    assert refused(answer) == (404, "PROVIDER_UNKNOWN")


async def test_a_repeated_proposal_is_one_contract(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    first = await contracts.post(alice, "", key="once", **proposal(bob))
    again = await contracts.post(alice, "", key="once", **proposal(bob))
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert again.headers["Idempotent-Replayed"] == "true"
    other = await contracts.post(alice, "", key="once", **proposal(bob, amount="7"))
    assert refused(other) == (422, "IDEMPOTENCY_KEY_REUSED")


async def test_open_proposals_are_limited_for_each_agent(contracts: Agreements, bob: TestAgent) -> None:
    alice = await contracts.contractor()
    made = await contracts.propose(alice, bob)
    # The rest of the hundred that one agent may have.
    await contracts.purses.execute(
        "INSERT INTO commerce_contract (version, title, contract_type, amount, currency, contractor_did, terms,"
        " acceptance_criteria, auto_approve, funded, status, expires_at, created_at)"
        " SELECT 1, 'Filling', 'service', 1, 'UNIT', $1, '\"\"', '\"\"', false, false, 'PROPOSED', now(), now()"
        " FROM generate_series(1, 99)",
        alice.did,
    )
    assert refused(await contracts.post(alice, "", **proposal(bob))) == (409, "TOO_MANY_PROPOSALS")
    await contracts.act(alice, made, "cancel")
    await contracts.propose(alice, bob)


async def test_the_contractor_cancels_its_proposal(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    made = await contracts.propose(alice, bob)
    assert refused(await contracts.post(bob, f"/{made['id']}/cancel")) == (403, "WRONG_PARTY")
    ended = await contracts.act(alice, made, "cancel", reason="Not needed any more.")
    assert (ended["status"], ended["ended_because"]) == ("CANCELLED", "cancelled")
    assert ended["history"][-1]["note"] == "Not needed any more."
    assert refused(await contracts.post(bob, f"/{made['id']}/accept")) == (409, "CONTRACT_WRONG_STATE")


async def test_a_proposal_that_is_not_accepted_in_time_expires(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    made = await contracts.propose(alice, bob, submit_by=in_days(2))
    await contracts.elapse(made, 2 * 86_400 + 1)
    ended = await contracts.read(bob, made)
    assert (ended["status"], ended["ended_because"]) == ("EXPIRED", "proposal_expired")


# Open proposals


async def test_an_open_proposal_is_read_by_every_agent_and_the_first_to_accept_is_the_provider(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    carol = await contracts.provider()
    made = await contracts.propose(alice, None)
    assert made["provider_did"] is None
    assert (await contracts.read(carol, made))["id"] == made["id"]
    assert made["id"] in [one["id"] for one in await contracts.listed(carol, open=True)]
    answers = await at_once(*(contracts.post(who, f"/{made['id']}/accept") for who in (bob, carol)))
    assert sorted(answer.status_code for answer in answers) in ([200, 404], [200, 409])
    won = next(answer.json() for answer in answers if answer.status_code == 200)
    assert won["provider_did"] in {bob.did, carol.did}
    loser = carol if won["provider_did"] == bob.did else bob
    assert (
        await contracts.registry.get(f"/contracts/{made['id']}", headers=loser.headers)
    ).status_code == 404


async def test_accepting_ones_own_open_proposal_is_a_bad_request(
    contracts: Agreements, alice: TestAgent
) -> None:
    made = await contracts.propose(alice, None)
    assert refused(await contracts.post(alice, f"/{made['id']}/accept")) == (400, "OWN_CONTRACT")


async def test_a_stranger_does_nothing_with_an_open_proposal_but_accept_it(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    made = await contracts.propose(alice, None)
    for act in ("cancel", "submit", "mark-failed", "request-changes", "approve-completion"):
        assert (await contracts.post(bob, f"/{made['id']}/{act}")).status_code == 404, act


# The work and its approval


async def test_approval_pays_the_provider_and_completes_the_contract(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    accepted = await contracts.accepted(alice, bob)
    assert (accepted["status"], accepted["accepted_at"] is not None) == ("ACCEPTED", True)
    submitted = await contracts.act(bob, accepted, "submit", deliverable=DELIVERABLE)
    assert submitted["status"] == "SUBMITTED"
    done = await contracts.act(alice, submitted, "approve-completion")
    assert (done["status"], done["ended_because"], done["amount_paid"]) == ("COMPLETED", "approved", "100")
    assert done["payment_tx_id"].startswith("tx-")
    assert await bob.balance() == "100"
    assert await alice.balance() == "899.5"
    assert acts(done) == ["proposed", "accepted", "submitted", "approved"]
    assert [line["actor_did"] for line in done["history"]] == [alice.did, bob.did, bob.did, alice.did]


async def test_deliverables_are_kept_as_digests_and_references(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    accepted = await contracts.accepted(alice, bob)
    (kept,) = (await contracts.act(bob, accepted, "submit", deliverable=DELIVERABLE))["deliverables"]
    assert {name: kept[name] for name in DELIVERABLE} == DELIVERABLE
    assert (kept["milestone"], kept["at"] is not None) == (None, True)


@pytest.mark.parametrize("digest", ["", "xyz", SHA256.upper(), SHA256 + "0", None])
async def test_a_deliverable_needs_a_digest(
    contracts: Agreements, alice: TestAgent, bob: TestAgent, digest: str | None
) -> None:
    accepted = await contracts.accepted(alice, bob)
    answer = await contracts.post(bob, f"/{accepted['id']}/submit", deliverable={"sha256": digest})
    assert answer.status_code == 422


async def test_a_repeated_approval_pays_once(contracts: Agreements, alice: TestAgent, bob: TestAgent) -> None:
    submitted = await contracts.submitted(alice, bob)
    path = f"/{submitted['id']}/approve-completion"
    answers = [await contracts.post(alice, path, key="pay") for _ in range(2)]
    assert answers[0].json() == answers[1].json()
    assert refused(await contracts.post(alice, path)) == (409, "CONTRACT_WRONG_STATE")
    assert await bob.balance() == "100"


async def test_of_two_approvals_at_once_one_pays(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    submitted = await contracts.submitted(alice, bob)
    path = f"/{submitted['id']}/approve-completion"
    answers = await at_once(*(contracts.post(alice, path) for _ in range(4)))
    assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409]
    assert await bob.balance() == "100"


async def test_an_approval_without_funds_is_402_and_the_contract_stays_submitted(
    contracts: Agreements, bob: TestAgent
) -> None:
    alice = await contracts.contractor("50")
    submitted = await contracts.submitted(alice, bob)
    answer = await contracts.post(alice, f"/{submitted['id']}/approve-completion")
    assert refused(answer) == (402, "INSUFFICIENT_BALANCE")
    assert (await contracts.read(alice, submitted))["status"] == "SUBMITTED"
    await contracts.purses.grant(alice, "60")
    assert (await contracts.act(alice, submitted, "approve-completion"))["status"] == "COMPLETED"


async def test_requested_changes_return_the_work_to_the_provider(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    submitted = await contracts.submitted(alice, bob)
    returned = await contracts.act(alice, submitted, "request-changes", note="Page 7 is missing.")
    assert returned["status"] == "ACCEPTED"
    assert returned["history"][-1]["note"] == "Page 7 is missing."
    again = await contracts.act(bob, returned, "submit")
    assert (await contracts.act(alice, again, "approve-completion"))["status"] == "COMPLETED"


async def test_changes_requested_after_the_date_of_the_work_leave_time_until_the_review(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    submitted = await contracts.submitted(alice, bob, submit_by=in_days(1), review_by=in_days(5))
    await contracts.elapse(submitted, 2 * 86_400)
    returned = await contracts.act(alice, submitted, "request-changes")
    await contracts.run_jobs()
    assert (await contracts.read(bob, returned))["status"] == "ACCEPTED"
    await contracts.elapse(submitted, 3 * 86_400 + 1)
    assert (await contracts.read(bob, returned))["ended_because"] == "not_submitted"


async def test_the_wrong_party_is_refused_and_a_stranger_sees_nothing(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    carol = await contracts.provider()
    proposed = await contracts.propose(alice, bob)
    assert refused(await contracts.post(alice, f"/{proposed['id']}/accept")) == (403, "WRONG_PARTY")
    assert refused(await contracts.post(carol, f"/{proposed['id']}/accept")) == (404, "CONTRACT_UNKNOWN")
    accepted = await contracts.act(bob, proposed, "accept")
    wrong = {"submit": alice, "request-changes": bob, "approve-completion": bob, "mark-failed": bob}
    for act, who in wrong.items():
        assert refused(await contracts.post(who, f"/{accepted['id']}/{act}")) == (403, "WRONG_PARTY"), act
        assert (await contracts.post(carol, f"/{accepted['id']}/{act}")).status_code == 404, act
    assert (
        await contracts.registry.get(f"/contracts/{accepted['id']}", headers=carol.headers)
    ).status_code == 404


async def test_an_act_in_the_wrong_state_is_a_conflict(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    proposed = await contracts.propose(alice, bob)
    for act in ("request-changes", "approve-completion", "mark-failed"):
        answer = await contracts.post(alice, f"/{proposed['id']}/{act}")
        assert refused(answer) == (409, "CONTRACT_WRONG_STATE"), act
    assert refused(await contracts.post(bob, f"/{proposed['id']}/submit"))[0] == 409
    await contracts.act(bob, proposed, "accept")
    assert refused(await contracts.post(alice, f"/{proposed['id']}/cancel"))[0] == 409
    assert refused(await contracts.post(bob, f"/{proposed['id']}/accept"))[0] == 409


async def test_the_contractor_declares_failure_and_pays_nothing(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    submitted = await contracts.submitted(alice, bob)
    failed = await contracts.act(alice, submitted, "mark-failed", reason="It is not a translation.")
    assert (failed["status"], failed["ended_because"]) == ("FAILED", "rejected")
    assert (await alice.balance(), await bob.balance()) == ("1000", "0")


# Milestones


async def test_milestones_are_submitted_and_paid_one_by_one(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    accepted = await contracts.accepted(alice, bob, milestones=TWO_PARTS)
    assert (accepted["version"], [one["state"] for one in accepted["milestones"]]) == (2, ["pending"] * 2)
    first = await contracts.act(bob, accepted, "submit", milestone=0, deliverable=DELIVERABLE)
    assert (first["status"], first["milestones"][0]["state"]) == ("SUBMITTED", "submitted")
    paid = await contracts.act(alice, first, "approve-completion", milestone=0)
    assert (paid["status"], paid["amount_paid"], paid["milestones"][0]["state"]) == (
        "ACCEPTED",
        "40",
        "approved",
    )
    assert paid["milestones"][0]["payment_tx_id"] == paid["payment_tx_id"]
    assert await bob.balance() == "40"
    done = await contracts.act(alice, await contracts.act(bob, paid, "submit"), "approve-completion")
    assert (done["status"], done["amount_paid"]) == ("COMPLETED", "100")
    assert await bob.balance() == "100"
    assert [one["milestone"] for one in done["history"]] == [None, None, 0, 0, 1, 1]


async def test_milestones_come_in_their_order(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    accepted = await contracts.accepted(alice, bob, milestones=TWO_PARTS)
    assert refused(await contracts.post(bob, f"/{accepted['id']}/submit", milestone=1)) == (
        409,
        "MILESTONE_NOT_NEXT",
    )
    submitted = await contracts.act(bob, accepted, "submit")
    answer = await contracts.post(alice, f"/{accepted['id']}/approve-completion", milestone=1)
    assert refused(answer) == (409, "MILESTONE_NOT_NEXT")
    plain = await contracts.accepted(alice, bob)
    assert refused(await contracts.post(bob, f"/{plain['id']}/submit", milestone=0))[0] == 409
    assert submitted["milestones"][1]["state"] == "pending"


async def test_a_failure_leaves_approved_milestones_paid(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    accepted = await contracts.accepted(alice, bob, milestones=TWO_PARTS)
    paid = await contracts.act(alice, await contracts.act(bob, accepted, "submit"), "approve-completion")
    failed = await contracts.act(alice, paid, "mark-failed")
    assert (failed["status"], failed["amount_paid"]) == ("FAILED", "40")
    assert [one["state"] for one in failed["milestones"]] == ["approved", "released"]
    assert await bob.balance() == "40"


async def test_a_milestone_without_a_date_is_due_by_the_next_date_after_it(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    parts = [TWO_PARTS[0], {**TWO_PARTS[1], "due": in_days(2)}]
    accepted = await contracts.accepted(alice, bob, milestones=parts, submit_by=in_days(9))
    await contracts.elapse(accepted, 2 * 86_400 + 1)
    assert (await contracts.read(bob, accepted))["ended_because"] == "not_submitted"


async def test_a_milestone_whose_date_passed_before_its_turn_is_due_by_the_next_date(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    parts = [{**TWO_PARTS[0], "due": in_days(1)}, {**TWO_PARTS[1], "due": in_days(2)}]
    accepted = await contracts.accepted(alice, bob, milestones=parts, submit_by=in_days(9))
    submitted = await contracts.act(bob, accepted, "submit")
    await contracts.elapse(accepted, 3 * 86_400)
    await contracts.act(alice, submitted, "approve-completion")
    await contracts.run_jobs()
    assert (await contracts.read(bob, accepted))["status"] == "ACCEPTED"
    await contracts.elapse(accepted, 6 * 86_400 + 1)
    ended = await contracts.read(bob, accepted)
    assert (ended["status"], ended["ended_because"]) == ("FAILED", "not_submitted")


# A payment token at the approval


async def token_for(contracts: Agreements, payer: TestAgent, payee: TestAgent, **members: Any) -> str:
    body = {"target_agent_did": payee.did, "amount": "100", **members}
    answer = await contracts.registry.post("/a2a-payment/authorize", json=body, headers=payer.headers)
    assert answer.status_code == 200, answer.text
    return answer.json()["token"]


async def test_a_payment_token_at_the_approval_is_settled_and_nothing_is_paid_twice(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    submitted = await contracts.submitted(alice, bob)
    token = await token_for(contracts, alice, bob, contract_id=submitted["id"])
    done = await contracts.act(alice, submitted, "approve-completion", payment_token=token)
    assert (done["status"], done["amount_paid"]) == ("COMPLETED", "100")
    assert (await alice.balance(), await bob.balance()) == ("899.5", "100")
    settled = await contracts.registry.post(
        "/a2a-payment/settle", json={"token": token}, headers=alice.headers
    )
    assert (settled.status_code, settled.json()["status"]) == (200, "settled")
    assert settled.json()["settlement_tx_id"] == done["payment_tx_id"]
    assert await bob.balance() == "100"


async def test_a_payment_token_that_does_not_fit_the_contract_is_refused(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    carol = await contracts.provider()
    submitted = await contracts.submitted(alice, bob)
    path = f"/{submitted['id']}/approve-completion"
    wrong = [
        await token_for(contracts, alice, carol),
        await token_for(contracts, alice, bob, amount="99"),
        await token_for(contracts, alice, bob, contract_id=submitted["id"] + 1_000_000),
    ]
    for token in wrong:
        assert (await contracts.post(alice, path, payment_token=token)).status_code == 409
    assert (await contracts.post(alice, path, payment_token="apt_" + "0" * 64)).status_code == 404
    assert (await contracts.read(alice, submitted))["status"] == "SUBMITTED"
    funded = await contracts.submitted(alice, bob, funded=True, review_by=in_days(3))
    answer = await contracts.post(alice, f"/{funded['id']}/approve-completion", payment_token=wrong[0])
    assert refused(answer) == (422, "TOKEN_FOR_FUNDED_CONTRACT")


async def test_a_token_that_its_payee_verified_and_captures_pays_no_contract(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    submitted = await contracts.submitted(alice, bob)
    path = f"/{submitted['id']}/approve-completion"
    unused, used = [await token_for(contracts, alice, bob, capture_by="payee") for _ in range(2)]
    verified = {"token": used, "target_agent_did": bob.did}
    assert (await contracts.registry.post("/a2a-payment/verify", json=verified)).json()["valid"]
    assert refused(await contracts.post(alice, path, payment_token=used)) == (403, "CAPTURED_BY_PAYEE")
    done = await contracts.act(alice, submitted, "approve-completion", payment_token=unused)
    captured = await contracts.registry.post(
        "/a2a-payment/settle", json={"token": used}, headers={**bob.headers, "Prefer": "wait=10"}
    )
    assert captured.json()["status"] == "settled"
    assert captured.json()["settlement_tx_id"] != done["payment_tx_id"]
    assert await bob.balance() == "200"


async def test_a_short_payer_leaves_the_token_and_the_contract_as_they_are(
    contracts: Agreements, bob: TestAgent
) -> None:
    alice = await contracts.contractor("110")
    submitted = await contracts.submitted(alice, bob)
    token = await token_for(contracts, alice, bob)
    await alice.transfer(bob, "50")
    path = f"/{submitted['id']}/approve-completion"
    assert (await contracts.post(alice, path, payment_token=token)).status_code == 402
    assert (await contracts.read(alice, submitted))["status"] == "SUBMITTED"
    await contracts.purses.grant(alice, "60")
    assert (await contracts.post(alice, path, payment_token=token)).status_code == 200


async def test_approvals_that_come_together_are_written_together_and_each_pays_once(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    plain = [await contracts.submitted(alice, bob, amount="1") for _ in range(3)]
    held = [
        await contracts.submitted(alice, bob, amount="1", funded=True, review_by=in_days(2)) for _ in range(2)
    ]
    parts = [await contracts.accepted(alice, bob, milestones=TWO_PARTS) for _ in range(2)]
    for contract in parts:
        await contracts.act(bob, contract, "submit")
        await contracts.act(alice, contract, "approve-completion")
        await contracts.act(bob, contract, "submit")
    due = [*plain, *held, *parts]
    answers = await at_once(
        *(contracts.post(alice, f"/{contract['id']}/approve-completion") for contract in due * 2)
    )
    assert sorted(answer.status_code for answer in answers) == [200] * 7 + [409] * 7
    for contract in due:
        (approved,) = [one.json() for one in answers if one.is_success and one.json()["id"] == contract["id"]]
        assert approved == await contracts.read(alice, contract)
        assert (approved["status"], approved["ended_because"]) == ("COMPLETED", "approved")
        assert approved["amount_paid"] == contract["amount"]
        assert [part["state"] for part in approved["milestones"]] in ([], ["approved"] * 2)
        (event,) = [data for kind, data in await contracts.events(contract) if kind == "ContractCompleted"]
        assert (f"tx-{event['tx_id']}", event["counts"]) == (approved["payment_tx_id"], True)
    assert await contracts.balances(bob) == ("205", "0")
    assert await transactions_of(contracts, due) < len(due)


async def test_acts_that_come_together_are_written_together_and_each_is_answered_as_if_alone(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    terms = proposal(bob, amount="1")
    answers = await at_once(*(contracts.post(alice, "", **terms) for _ in range(6)))
    proposed = [answer.json() for answer in answers if answer.status_code == 201]
    assert len({one["id"] for one in proposed}) == 6
    dated = await contracts.propose(alice, bob, submit_by=in_days(2), review_by=in_days(4))
    open_to_all = await contracts.propose(alice, None)
    for act in ("accept", "submit"):
        due = [*proposed, dated, open_to_all]
        answers = await at_once(
            *(
                contracts.post(bob, f"/{contract['id']}/{act}", key=f"{act}-{contract['id']}")
                for contract in due
            ),
            # Refused, or no such contract: the others are not kept up by it.
            contracts.post(alice, f"/{proposed[0]['id']}/{act}"),
            contracts.post(bob, f"/999999/{act}"),
        )
        assert [answer.status_code for answer in answers] == [200] * len(due) + [403, 404]
        for contract, answer in zip(due, answers, strict=False):
            assert answer.json() == await contracts.read(alice, contract)
            again = await contracts.post(bob, f"/{contract['id']}/{act}", key=f"{act}-{contract['id']}")
            assert (again.json(), again.headers["idempotent-replayed"]) == (answer.json(), "true")
    for contract in due:
        kinds = [kind for kind, _ in await contracts.events(contract)]
        assert kinds == ["ContractProposed", "ContractAccepted", "ContractSubmitted"]
    assert await transactions_of(contracts, due) < len(due)


async def test_of_two_agents_that_accept_an_open_proposal_together_one_is_the_provider(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    rival = await contracts.provider()
    contract = await contracts.propose(alice, None)
    answers = await at_once(*(contracts.post(one, f"/{contract['id']}/accept") for one in (bob, rival)))
    (accepted,) = [answer.json() for answer in answers if answer.status_code == 200]
    assert sorted(answer.status_code for answer in answers) == [200, 404]
    assert (await contracts.read(alice, contract))["provider_did"] == accepted["provider_did"]


async def test_proposals_that_come_together_stay_within_the_limit_of_open_ones(
    contracts: Agreements, bob: TestAgent
) -> None:
    alice = await contracts.contractor()
    answers = await at_once(*(contracts.post(alice, "", **proposal(bob)) for _ in range(103)))
    assert sorted(answer.status_code for answer in answers) == [201] * 100 + [409] * 3


async def transactions_of(contracts: Agreements, due: list[Any]) -> int:
    """In how many transactions the newest moves of these contracts were written."""
    return await contracts.registry.database.read(
        lambda tx: tx.fetchval(
            "SELECT count(DISTINCT xmin::text) FROM commerce_contract WHERE id = ANY($1)",
            [contract["id"] for contract in due],
        )
    )


async def test_a_repeated_approval_is_answered_as_the_first_was_whatever_came_after_it(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    submitted = await contracts.submitted(alice, bob)
    path = f"/{submitted['id']}/approve-completion"
    first = await contracts.post(alice, path, key="once")
    complaint = {
        "defendant_did": bob.did,
        "reason_code": "OTHER",
        "description": "A page is missing.",
        "contract_id": submitted["id"],
    }
    filed = await contracts.registry.post("/disputes/", json=complaint, headers=alice.headers)
    assert filed.status_code == 201, filed.text
    again = await contracts.post(alice, path, key="once")
    assert (again.json(), again.headers["Idempotent-Replayed"]) == (first.json(), "true")
    assert refused(await contracts.post(alice, path, key="once", milestone=0)) == (
        422,
        "IDEMPOTENCY_KEY_REUSED",
    )
    assert (await contracts.read(alice, submitted))["status"] == "DISPUTED"


async def test_an_approval_that_was_judged_before_the_contract_changed_is_not_written_in_a_batch(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    submitted = await contracts.submitted(alice, bob)
    database = contracts.registry.database

    async def order() -> ledger.Order:
        judged = await database.query(lambda tx: judged_of(tx, [submitted["id"]]))
        return order_of(judged[submitted["id"]], keep=False)

    stale = await order()
    await contracts.act(alice, submitted, "request-changes")
    await contracts.act(bob, submitted, "submit")
    present = await order()
    group = ledger.GROUP_COMMIT.of(contracts.registry.runtime)
    # In one batch the second is left to be judged by itself.
    found = await asyncio.gather(group.carry_out([stale]), group.carry_out([present]), return_exceptions=True)
    assert isinstance(found[0], ledger.ClaimRefused)
    assert (await contracts.read(alice, submitted))["status"] == (
        "SUBMITTED" if isinstance(found[1], ledger.ClaimRefused) else "COMPLETED"
    )
    await contracts.post(alice, f"/{submitted['id']}/approve-completion")
    assert await contracts.balances(bob) == ("100", "0")
