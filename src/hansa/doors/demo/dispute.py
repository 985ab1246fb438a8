"""A dispute of the demo: a provider with a bond delivers poor work, and an administrator rules for the contractor."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from hashlib import sha256

from hansa.doors.demo.client import DemoFailed
from hansa.doors.demo.contract import Parties
from hansa.doors.demo.market import Tally
from hansa.doors.demo.paid_call import PATIENT, registry_of
from hansa.doors.demo.temporary_registry import Administrator
from hansa_client import AsyncRegistry
from hansa_client.records.contracts import Deliverable, Proposal
from hansa_client.records.disputes import Complaint, Dispute, Evidence, Ruling

COMPLAINT = "Every second page is missing."


async def decide_a_dispute(administrator: Administrator, parties: Parties, tally: Tally) -> None:
    """The hold of the contract returns to the contractor, the bond is destroyed. Raises: DemoFailed, HansaError."""
    async with (
        registry_of(parties.url, parties.contractor) as ordering,
        registry_of(parties.url, parties.provider) as working,
    ):
        bond = (await working.bonds.config()).minimum
        if any(tally.balances[one.did] < 2 * bond for one in (parties.contractor, parties.provider)):
            parties.screen.line(
                f"left out: a bond is at least {bond:f}, the agents have too few units for it"
            )
            return
        await working.bonds.deposit(bond)
        parties.screen.line(f"{parties.provider.name} deposited a bond of {bond:f}")
        # The payment bounds the destroyed units: all of the bond, so that its agent can be ended afterwards.
        proposal = Proposal(
            title="Translate a letter",
            amount=bond,
            terms="Translate the letter.",
            acceptance_criteria="Complete, in French.",
            provider_did=parties.provider.did,
            review_by=datetime.now(UTC) + timedelta(days=7),
            funded=True,
        )
        disputed = await _disputed(ordering, working, proposal)
        parties.screen.line(
            f"dispute {disputed.id} about contract {disputed.contract_id}: both sides gave evidence"
        )
        ruling = Ruling("IN_FAVOR_OF_COMPLAINANT", slash_amount=bond, note=COMPLAINT)
        ruled = await _ruled(parties.url, administrator, disputed.id, ruling)
        tally.count_slash(parties.provider.did, bond)
        contract = await ordering.contracts.read(disputed.contract_id or 0)
        left = await working.bonds.status(parties.provider.did)
        ended = (contract.status, contract.amount_paid, left.state, left.amount)
        if ended != ("CLOSED", Decimal(0), "slashed", Decimal(0)):
            raise DemoFailed(f"after the ruling contract and bond are {ended}")
        parties.screen.line(
            f"ruling {ruled.ruling}: the contractor's units returned, {ruled.slash_applied:f} of the bond destroyed"
        )


async def _disputed(ordering: AsyncRegistry, working: AsyncRegistry, proposal: Proposal) -> Dispute:
    """The contract is accepted, submitted and disputed."""
    proposed = await ordering.contracts.propose(proposal)
    await working.contracts.accept(proposed.id)
    work = Deliverable(sha256=sha256(b"every second page").hexdigest())
    await working.contracts.submit(proposed.id, work)
    filed = await ordering.disputes.file(
        Complaint(
            defendant_did=proposal.provider_did or "",
            reason_code="POOR_QUALITY",
            description=COMPLAINT,
            contract_id=proposed.id,
        )
    )
    await ordering.disputes.add_evidence(filed.id, Evidence.of_note(COMPLAINT))
    return await working.disputes.add_evidence(filed.id, Evidence.of_note("The letter has one page."))


async def _ruled(url: str, administrator: Administrator, dispute_id: int, ruling: Ruling) -> Dispute:
    async with AsyncRegistry(url, retries=PATIENT) as registry:
        tokens = await registry.accounts.login(administrator.email, administrator.password)
    async with AsyncRegistry(url, developer=tokens, retries=PATIENT) as registry:
        await registry.rulings.open_voting(dispute_id)
        return await registry.rulings.rule(dispute_id, ruling)
