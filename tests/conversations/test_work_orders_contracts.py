"""Contracts and disputes of an organization: its admins act as agents do, with the treasury as the party."""

from datetime import datetime
from uuid import uuid4

import pytest

from hansa.foundation.plumbing.web.caller import Agent
from hansa.foundation.values.money import parse_amount
from hansa.rooms.commerce.contracts.contract import Terms
from hansa.rooms.commerce.contracts.propose import Proposal, propose
from tests.organizations import code
from tests.work_orders import Offering, awarded, in_days, offering, submit

EVIDENCE = {"sha256": "1" * 64, "note": "Half of the pages."}


@pytest.fixture
async def registry(registry_of_file):
    return registry_of_file


@pytest.fixture
async def work(registry) -> Offering:
    return await offering(registry)


async def proposed(work: Offering) -> int:
    """The id of a funded proposal of the treasury."""
    provider = await work.registry.agent()
    terms = Terms(
        work.treasury,
        provider.did,
        "Paint",
        "service",
        parse_amount("1"),
        "Paint.",
        "Painted.",
        review_by=datetime.fromisoformat(in_days(3)),
        funded=True,
    )
    treasury = Agent(work.treasury, 1, (), frozenset(), is_governed=False)
    made = await work.registry.database.transaction(
        lambda tx: propose(tx, treasury, Proposal(terms), work.registry.settings)
    )
    return made.contract.id


async def test_members_read_the_contracts_and_disputes_of_the_treasury(registry, work):
    bidder, contract_id = await awarded(work)
    viewer = await work.guild.member("viewer")
    page = await work.guild.read(viewer, "/contracts?role=contractor&status=ACCEPTED")
    assert [one["id"] for one in page["items"]] == [contract_id]
    own = await registry.get(f"/contracts/{contract_id}", headers=bidder.headers)
    assert page["items"] == [own.json()]
    assert (await work.guild.read(viewer, "/contracts?role=provider"))["items"] == []
    assert (await work.guild.read(viewer, "/disputes"))["items"] == []
    stranger = await registry.developer()
    for path in ("/contracts", "/disputes"):
        assert code(await work.guild.send(stranger, "GET", path)) == (404, "ORGANIZATION_UNKNOWN")


async def test_an_admin_requests_changes_and_approves_each_milestone_from_the_hold(work):
    parts = [{"title": "Draft", "amount": "4"}, {"title": "Rest", "amount": "6"}]
    admin = await work.guild.member("admin")
    bidder, contract_id = await awarded(work, is_submitted=True, milestones=parts)
    changed = await work.act(contract_id, "request-changes", admin, note="Page 3.")
    assert (changed.status_code, changed.json()["status"]) == (200, "ACCEPTED")
    assert changed.json()["history"][-1]["note"] == "Page 3."
    before = float(await bidder.balance())
    for paid in ("4", "10"):
        await submit(bidder, contract_id)
        approved = await work.act(contract_id, "approve-completion", admin)
        assert (approved.status_code, approved.json()["amount_paid"]) == (200, paid)
    assert approved.json()["status"] == "COMPLETED"
    assert float(await bidder.balance()) == before + 10
    assert await work.held() == ("39.95", "0")


async def test_a_funded_contract_is_paid_from_its_hold_alone(work):
    _, contract_id = await awarded(work, is_submitted=True)
    refused = await work.act(contract_id, "approve-completion", payment_token="apt_x")
    assert code(refused) == (422, "TOKEN_FOR_FUNDED_CONTRACT")
    # A treasury has no spend policy, so that an approval of some owner decides nothing.
    approved = await work.act(contract_id, "approve-completion", approval_id=str(uuid4()))
    assert (approved.status_code, await work.held()) == (200, ("39.95", "0"))


async def test_an_admin_declares_failure(work):
    _, contract_id = await awarded(work)
    failed = await work.act(contract_id, "mark-failed", reason="Too late.")
    assert (failed.status_code, failed.json()["status"]) == (200, "FAILED")
    assert await work.held() == ("50", "0")
    assert code(await work.act(contract_id, "mark-failed")) == (409, "CONTRACT_WRONG_STATE")


async def test_an_admin_withdraws_a_proposal(work):
    contract_id = await proposed(work)
    cancelled = await work.act(contract_id, "cancel", reason="No.")
    assert (cancelled.status_code, cancelled.json()["status"]) == (200, "CANCELLED")


async def test_an_admin_files_a_dispute_and_adds_evidence(registry, work):
    admin = await work.guild.member("admin")
    bidder, contract_id = await awarded(work, is_submitted=True)
    complaint = {
        "defendant_did": bidder.did,
        "reason_code": "POOR_QUALITY",
        "description": "Half of it is missing.",
    }
    for other in (
        {"contract_id": contract_id + 1},
        {"transaction_id": "tx-1"},
        {"token_id": str(uuid4())},
    ):
        refused = await work.act(contract_id, "dispute", admin, **complaint, **other)
        assert code(refused) == (409, "OTHER_SUBJECT")
    filed = await work.act(contract_id, "dispute", admin, **complaint)
    assert filed.status_code == 201, filed.text
    dispute = filed.json()
    assert (dispute["complainant_did"], dispute["contract_id"]) == (work.treasury, contract_id)
    path = f"/disputes/{dispute['id']}/evidence"
    added = await work.guild.send(admin, "POST", path, json=EVIDENCE)
    assert (added.status_code, added.json()["evidence"][0]["by"]) == (201, work.treasury)
    (listed,) = (await work.guild.read(admin, "/disputes?role=complainant"))["items"]
    assert (listed["id"], listed["evidence"]) == (dispute["id"], added.json()["evidence"])
    own = await registry.get(f"/disputes/{dispute['id']}", headers=bidder.headers)
    assert own.json()["status"] == "OPEN"


async def test_only_an_admin_acts_and_only_on_contracts_of_the_organization(registry, work):
    other = await offering(registry)
    _, contract_id = await awarded(work, is_submitted=True)
    member, stranger = await work.guild.member(), await registry.developer()
    for act in ("cancel", "request-changes", "approve-completion", "mark-failed"):
        assert code(await work.act(contract_id, act, member)) == (403, "ORG_ROLE_REQUIRED")
        assert code(await work.act(contract_id, act, stranger)) == (404, "ORGANIZATION_UNKNOWN")
        assert code(await other.act(contract_id, act)) == (404, "CONTRACT_UNKNOWN")
    refused = await other.guild.send(other.guild.owner, "POST", "/disputes/1/evidence", json=EVIDENCE)
    assert refused.status_code == 404


async def test_each_act_is_recorded(work):
    _, contract_id = await awarded(work, is_submitted=True)
    await work.act(contract_id, "approve-completion")
    acts = [one["act"] for one in (await work.guild.read(work.guild.owner, "/audit"))["items"]]
    assert acts[0] == "contract.approve"
    assert {"work_order.open", "request.execute"} <= set(acts)


async def test_a_member_reads_one_contract_and_one_dispute_of_the_treasury(work):
    bidder, contract_id = await awarded(work, is_submitted=True)
    filed = await work.act(
        contract_id, "dispute", defendant_did=bidder.did, reason_code="OTHER", description="Late."
    )
    viewer = await work.guild.member("viewer")
    contract = await work.guild.read(viewer, f"/contracts/{contract_id}")
    assert (contract["id"], contract["history"][-1]["act"]) == (contract_id, "disputed")
    dispute = await work.guild.read(viewer, f"/disputes/{filed.json()['id']}")
    assert (dispute["contract_id"], dispute["description"]) == (contract_id, "Late.")
    other = await offering(work.registry)
    for path in (f"/contracts/{contract_id}", f"/disputes/{dispute['id']}"):
        assert (await other.guild.send(other.guild.owner, "GET", path)).status_code == 404
        assert (await work.guild.send(other.guild.owner, "GET", path)).status_code == 404


async def test_an_open_proposal_of_others_is_no_contract_of_a_treasury(work):
    contractor = await work.registry.agent()
    body = {
        "title": "Open",
        "contract_type": "service",
        "amount": "1",
        "terms": "T.",
        "acceptance_criteria": "C.",
    }
    made = await work.registry.post("/contracts", json=body, headers=contractor.headers)
    assert made.status_code == 201, made.text
    answer = await work.guild.send(work.guild.owner, "GET", f"/contracts/{made.json()['id']}")
    assert code(answer) == (404, "CONTRACT_UNKNOWN")
