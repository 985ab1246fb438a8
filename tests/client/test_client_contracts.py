"""Contracts by the client, against the contract routes of a registry."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from hashlib import sha256

import pytest

from hansa_client import AgentCredentials
from hansa_client.errors import BadRequest, Conflict, Forbidden, Invalid, NotFound
from hansa_client.records.contracts import Deliverable, Proposal, ProposedMilestone
from tests.client.both import Client
from tests.client.conftest import Open
from tests.client.faults import Faults
from tests.registry import TestAgent, TestRegistry

WORK = Deliverable(sha256=sha256(b"manual").hexdigest(), uri="https://work.example.org/1", note="first")


@pytest.fixture
async def provider_agent(registry: TestRegistry) -> TestAgent:
    return await registry.agent(name="Provider")


@pytest.fixture
async def contractor(connect: Open, registry: TestRegistry) -> Client:
    return connect(agent=credentials_of(await registry.agent(name="Contractor")))


@pytest.fixture
def provider(connect: Open, provider_agent: TestAgent) -> Client:
    return connect(agent=credentials_of(provider_agent))


def credentials_of(agent: TestAgent) -> AgentCredentials:
    return AgentCredentials(agent.created["client_id"], agent.created["client_secret"])


def proposal(**more: object) -> Proposal:
    stated = {
        "title": "Manual",
        "amount": Decimal(10),
        "terms": "Translate.",
        "acceptance_criteria": ["French"],
    }
    return Proposal(**{**stated, **more})


async def test_a_funded_contract_is_paid_milestone_by_milestone(
    contractor: Client, provider: Client, provider_agent: TestAgent
):
    parts = (
        ProposedMilestone(title="Draft", amount=Decimal(4)),
        ProposedMilestone(title="Final", amount=Decimal(6)),
    )
    review_by = datetime.now(UTC) + timedelta(days=9)
    proposed = await contractor.contracts.propose(
        proposal(provider_did=provider_agent.did, milestones=parts, funded=True, review_by=review_by)
    )
    assert (proposed.status, proposed.version, proposed.provider_did) == ("PROPOSED", 2, provider_agent.did)
    await provider.contracts.accept(proposed.id)
    assert (await contractor.transfers.balance()).balance == Decimal("89.95")
    for index in range(2):
        submitted = await provider.contracts.submit(proposed.id, WORK, milestone=index)
        assert submitted.milestones[index].state == "submitted"
        await contractor.contracts.request_changes(proposed.id, note="More.")
        await provider.contracts.submit(proposed.id, WORK)
        approved = await contractor.contracts.approve(proposed.id, milestone=index)
        assert approved.milestones[index].state == "approved"
    assert (approved.status, approved.ended_because, approved.amount_paid) == (
        "COMPLETED",
        "approved",
        Decimal(10),
    )
    assert [one.uri for one in approved.deliverables] == [WORK.uri] * 4
    assert await provider.contracts.read(proposed.id) == approved
    assert (await provider.transfers.balance()).balance == Decimal(110)


async def test_an_open_proposal_is_listed_for_every_agent_and_can_be_withdrawn(
    contractor: Client, provider: Client, provider_agent: TestAgent
):
    proposed = await contractor.contracts.propose(proposal())
    listed = await provider.contracts.list(is_open=True)
    assert [one.id for one in listed.items] == [proposed.id]
    assert (await provider.contracts.list(role="provider")).items == []
    cancelled = await contractor.contracts.cancel(proposed.id, reason="Done by us.")
    assert (cancelled.status, cancelled.history[-1].note) == ("CANCELLED", "Done by us.")
    of_contractor = await contractor.contracts.of_agent(proposed.contractor_did, status="CANCELLED")
    assert [one.id for one in of_contractor.items] == [proposed.id]
    with pytest.raises(NotFound):
        await provider.contracts.read(proposed.id)
    with pytest.raises(Conflict):
        await contractor.contracts.cancel(proposed.id)
    await what_is_refused_says_why(contractor, provider, provider_agent)


async def test_work_is_rejected_and_paid_by_a_token(
    contractor: Client, provider: Client, provider_agent: TestAgent
):
    failing = await contractor.contracts.propose(proposal(provider_did=provider_agent.did))
    await provider.contracts.accept(failing.id)
    failed = await contractor.contracts.mark_failed(failing.id, reason="Too late.")
    assert (failed.status, failed.ended_because) == ("FAILED", "rejected")
    paying = await contractor.contracts.propose(proposal(provider_did=provider_agent.did))
    await provider.contracts.accept(paying.id)
    await provider.contracts.submit(paying.id)
    token = await contractor.payments.authorize(provider_agent.did, "10", contract_id=paying.id)
    done = await contractor.contracts.approve(paying.id, payment_token=token.token)
    assert (done.status, done.payment_tx_id is not None) == ("COMPLETED", True)
    (settled,) = await contractor.payments.tokens(status="settled")
    assert settled.settlement_tx_id == done.payment_tx_id


async def test_an_act_whose_answer_was_lost_takes_effect_once(
    contractor: Client, provider: Client, provider_agent: TestAgent, faults: Faults
):
    faults.next("/api/v1/contracts", "answer lost")
    proposed = await contractor.contracts.propose(proposal(provider_did=provider_agent.did))
    assert [one.id for one in (await contractor.contracts.list()).items] == [proposed.id]
    faults.next(f"/api/v1/contracts/{proposed.id}/accept", "answer lost")
    assert (await provider.contracts.accept(proposed.id)).status == "ACCEPTED"
    await provider.contracts.submit(proposed.id)
    faults.next(f"/api/v1/contracts/{proposed.id}/approve-completion", "answer lost")
    assert (await contractor.contracts.approve(proposed.id)).status == "COMPLETED"
    assert (await provider.transfers.balance()).balance == Decimal(110)


async def what_is_refused_says_why(contractor: Client, provider: Client, provider_agent: TestAgent) -> None:
    with pytest.raises(Invalid):
        await contractor.contracts.propose(proposal(funded=True))
    with pytest.raises(TypeError):
        await contractor.contracts.propose(proposal(amount=1.5))
    own = await contractor.contracts.propose(proposal())
    with pytest.raises(BadRequest):
        await contractor.contracts.accept(own.id)
    given = await contractor.contracts.propose(proposal(provider_did=provider_agent.did))
    with pytest.raises(Forbidden):
        await provider.contracts.approve(given.id)
    with pytest.raises(NotFound):
        await provider.contracts.accept_federated(7, "registry.example")
    with pytest.raises(NotFound):
        await provider.contracts.submit_federated(7, "registry.example", WORK)
