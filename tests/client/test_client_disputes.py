"""Disputes by the client, against the dispute routes of a registry."""

from decimal import Decimal

import pytest

from hansa_client.credentials import ApiKey
from hansa_client.errors import BadRequest, Conflict, Invalid, NotFound
from hansa_client.records.disputes import Complaint, Evidence, Ruling
from hansa_verify import propose
from tests.client.both import Client
from tests.client.conftest import Open
from tests.client.faults import Faults
from tests.client.test_client_contracts import credentials_of, proposal
from tests.registry import TestAgent, TestRegistry

EVIDENCE = Evidence.of_note("Half of the pages are missing.", uri="https://work.example.org/1")


@pytest.fixture
async def parties(registry: TestRegistry) -> tuple[TestAgent, TestAgent]:
    return await registry.agent(name="Contractor"), await registry.agent(name="Provider")


@pytest.fixture
def contractor(connect: Open, parties: tuple[TestAgent, TestAgent]) -> Client:
    return connect(agent=credentials_of(parties[0]))


@pytest.fixture
def provider(connect: Open, parties: tuple[TestAgent, TestAgent]) -> Client:
    return connect(agent=credentials_of(parties[1]))


async def accepted(contractor: Client, provider: Client, provider_did: str) -> int:
    proposed = await contractor.contracts.propose(proposal(provider_did=provider_did))
    await provider.contracts.accept(proposed.id)
    return proposed.id


async def test_both_parties_give_evidence_in_a_dispute_that_is_filed_once(
    contractor: Client, provider: Client, parties: tuple[TestAgent, TestAgent], faults: Faults
):
    complainant, defendant = (one.did for one in parties)
    contract = await accepted(contractor, provider, defendant)
    stated = Complaint(
        defendant_did=defendant,
        reason_code="POOR_QUALITY",
        description="Half of it.",
        contract_id=contract,
        claimed_amount=Decimal(5),
    )
    faults.next("/api/v1/disputes/", "answer lost")
    filed = await contractor.disputes.file(stated)
    assert len(set(faults.keys("/api/v1/disputes/"))) == 1
    assert (filed.status, filed.complainant_did, filed.bound) == ("OPEN", complainant, Decimal(5))
    assert (await contractor.contracts.read(contract)).dispute_id == filed.id
    faults.next(f"/api/v1/disputes/{filed.id}/evidence", "answer lost")
    answered = await provider.disputes.add_evidence(filed.id, EVIDENCE)
    (piece,) = answered.evidence
    assert (piece.by, piece.sha256, piece.uri) == (defendant, EVIDENCE.sha256, EVIDENCE.uri)
    assert await contractor.disputes.read(filed.id) == answered
    assert (await provider.disputes.list(role="defendant", status="OPEN")).items == [answered]
    assert (await provider.disputes.list(role="complainant")).items == []
    of_contractor = await provider.disputes.of_agent(complainant, role="complainant")
    assert of_contractor.items == [answered]
    bundle = await provider.disputes.bundle(filed.id)
    assert (bundle["proposal"]["ruling"], bundle["proposal"]["rule"]) == (None, propose(bundle).rule)


async def test_malpractice_opens_a_dispute_and_what_is_refused_says_why(
    contractor: Client, provider: Client, parties: tuple[TestAgent, TestAgent], faults: Faults
):
    contract = await accepted(contractor, provider, parties[1].did)
    faults.next("/api/v1/contracts/malpractice", "answer lost")
    recorded = await contractor.disputes.malpractice(contract, [EVIDENCE], claimed_damages="2.5")
    opened = await contractor.disputes.read(recorded.dispute_id)
    assert (recorded.status, opened.is_malpractice, opened.claimed_amount) == (
        "PENDING_REVIEW",
        True,
        Decimal("2.5"),
    )
    assert [one.note for one in opened.evidence] == [EVIDENCE.note]
    other = await accepted(contractor, provider, parties[1].did)
    in_words = await contractor.disputes.malpractice(other, "Nothing was delivered.")
    assert (await contractor.disputes.read(in_words.dispute_id)).description == "Nothing was delivered."
    own = Complaint(defendant_did=parties[0].did, reason_code="OTHER", description="Mine.")
    with pytest.raises(BadRequest):
        await contractor.disputes.file(own)
    with pytest.raises(Invalid):
        await contractor.disputes.add_evidence(recorded.dispute_id, Evidence(sha256="0"))
    with pytest.raises(NotFound):
        await provider.disputes.read(999)


async def test_an_administrator_ends_the_time_for_evidence_and_rules_once(
    connect: Open, contractor: Client, provider: Client, parties: tuple[TestAgent, TestAgent], faults: Faults
):
    contract = await accepted(contractor, provider, parties[1].did)
    filed = await contractor.disputes.malpractice(contract, "Nothing was delivered.")
    made = await parties[0].registry.administrator("admin_enforcement")
    administrator = connect(developer=ApiKey((await made.api_key()).token))
    assert [one.id for one in (await administrator.rulings.list(status="OPEN")).items] == [filed.dispute_id]
    assert (await administrator.rulings.bundle(filed.dispute_id))["proposal"]["ruling"] is None
    ruling = Ruling("IN_FAVOR_OF_COMPLAINANT", slash_amount=Decimal(2), note="Nothing was delivered.")
    with pytest.raises(Conflict):
        await administrator.rulings.rule(filed.dispute_id, ruling)
    assert (await administrator.rulings.open_voting(filed.dispute_id)).status == "VOTING"
    faults.next(f"/api/v1/admin/disputes/{filed.dispute_id}/ruling", "answer lost")
    ruled = await administrator.rulings.rule(filed.dispute_id, ruling)
    assert (ruled.status, ruled.slash_requested) == ("CLOSED", Decimal(2))
    assert await administrator.rulings.rule(filed.dispute_id, ruling) == ruled
    with pytest.raises(Conflict):
        await administrator.rulings.rule(filed.dispute_id, Ruling("DISMISSED", note="Another."))
    link = await contractor.contracts.page_link(contract)
    assert f"/contracts/{contract}?ticket=" in link.url
