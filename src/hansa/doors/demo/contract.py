"""A contract of the demo: funded, with two milestones, each submitted and approved."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from hashlib import sha256

import msgspec

from hansa.doors.demo.client import DemoAgent, DemoFailed
from hansa.doors.demo.market import Tally
from hansa.doors.demo.paid_call import count_payment, registry_of
from hansa.doors.demo.screen import Screen
from hansa_client import AsyncRegistry, Refusal
from hansa_client.records.contracts import Contract, Deliverable, Proposal, ProposedMilestone

MILESTONES = (
    ProposedMilestone(title="Draft", amount=Decimal("0.8")),
    ProposedMilestone(title="Final version", amount=Decimal("1.2")),
)
AMOUNT = sum((one.amount for one in MILESTONES), Decimal(0))


class Parties(msgspec.Struct, frozen=True):
    """The two agents of a contract, at the registry at `url`."""

    url: str
    screen: Screen
    contractor: DemoAgent
    provider: DemoAgent


async def contract_of_two_milestones(parties: Parties, tally: Tally) -> None:
    """Propose, accept, submit and approve. Raises: DemoFailed, HansaError."""
    url, screen, contractor, provider = parties.url, parties.screen, parties.contractor, parties.provider
    async with registry_of(url, contractor) as ordering, registry_of(url, provider) as working:
        proposed = await ordering.contracts.propose(
            Proposal(
                title="Translate a manual",
                amount=AMOUNT,
                terms="Translate the manual.",
                acceptance_criteria="Complete, in French.",
                provider_did=provider.did,
                review_by=datetime.now(UTC) + timedelta(days=7),
                funded=True,
                milestones=MILESTONES,
            )
        )
        try:
            accepted = await working.contracts.accept(proposed.id)
        except Refusal as refusal:
            if refusal.code != "BOND_REQUIRED":
                raise
            await ordering.contracts.cancel(proposed.id)
            screen.line("this registry requires a bond of providers: the contract was withdrawn")
            return
        screen.line(
            f"contract {proposed.id}: {accepted.status}, {AMOUNT} {accepted.currency} and its fee are held"
        )
        ended = accepted
        for index, milestone in enumerate(MILESTONES):
            ended = await _done(ordering, working, proposed.id, index)
            paid = ended.milestones[index].payment_tx_id
            await count_payment(ordering, paid, contractor, provider, tally)
            screen.line(f"milestone {index}, {milestone.title}: submitted, approved, {milestone.amount} paid")
        if (ended.status, ended.amount_paid) != ("COMPLETED", AMOUNT):
            raise DemoFailed(f"the contract is {ended.status} with {ended.amount_paid} of {AMOUNT} paid")


async def _done(ordering: AsyncRegistry, working: AsyncRegistry, contract_id: int, index: int) -> Contract:
    work = Deliverable(sha256=sha256(f"work {index}".encode()).hexdigest(), note=MILESTONES[index].title)
    await working.contracts.submit(contract_id, work, milestone=index)
    return await ordering.contracts.approve(contract_id, milestone=index)
