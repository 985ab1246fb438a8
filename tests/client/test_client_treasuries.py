"""Treasuries and work orders by the client: a call for each route, in both forms."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from hansa_client.errors import HansaError, NotFound
from hansa_client.records.contracts import Proposal
from hansa_client.records.disputes import Complaint, Evidence
from hansa_client.records.organizations import OrganizationRequest
from hansa_client.records.treasury import ApprovalTier, TreasuryBudget, TreasuryRules
from hansa_client.records.work_orders import NewWorkOrder
from tests.client.conftest import Open
from tests.client.test_client_organizations import developers, joined
from tests.registry import PASSWORD, TestRegistry, card_of


def order(**changes: object) -> NewWorkOrder:
    """Work that is offered for a month."""
    return NewWorkOrder(
        **{
            "title": "Manual",
            "spec": "Translate 30 pages.",
            "acceptance_criteria": "French.",
            "amount": Decimal(20),
            "bids_until": datetime.now(UTC) + timedelta(days=30),
            "submit_days": 10,
            "review_days": 5,
            "skills": ("translation",),
            **changes,
        }
    )


async def funded(connect: Open, owner, slug: str):
    """An agent of the owner that has paid 60 units into the treasury of a new organization."""
    made = await owner.organizations.found(slug, slug.title())
    payer = connect(agent=(await owner.agents.create(card=card_of("Payer"))).credentials)
    await payer.transfers.transfer(made.treasury_did, 60)
    return payer


async def test_a_treasury_pays_by_its_rules(connect: Open, registry: TestRegistry):
    owner, guest, other = await developers(connect, 3)
    await funded(connect, owner, "guild")
    payee = connect(agent=(await other.agents.create(card=card_of("Payee"))).credentials)
    treasury, of_guest = owner.treasury("guild"), guest.treasury("guild")
    await joined(owner, guest, registry, "guild", "admin")
    did = (await payee.agents.me()).did
    made = await treasury.pay(did, 1, note="July")
    assert (made.status, made.note) == ("EXECUTED", "July")
    rules = TreasuryRules(
        tiers=(ApprovalTier(over=Decimal(5), approvals=1, by="admin"),), per_day_max=Decimal(50)
    )
    kept = await treasury.replace_rules(rules)
    assert isinstance(kept, TreasuryRules)
    assert (kept.tiers, kept.per_day_max, kept.allowlist) == (rules.tiers, Decimal(50), None)
    waiting = await treasury.pay(did, 10)
    assert (waiting.status, waiting.approvals_needed) == ("PENDING", 1)
    approved = await of_guest.approve(waiting.request_id, password=PASSWORD)
    assert approved.status == "EXECUTED"
    assert approved.result.tx_id is not None
    with pytest.raises(HansaError):
        await treasury.retry(waiting.request_id)
    found = await treasury.read()
    assert (found.spent_today, found.rules.tiers[0].by) == (Decimal(11), "admin")
    sent = (await treasury.transactions(direction="sent")).items
    assert [one.amount for one in sent] == [Decimal(10), Decimal(1)]
    assert (await payee.transfers.balance()).balance == 111


async def test_budgets_are_made_changed_drawn_and_ended(connect: Open):
    (owner,) = await developers(connect, 1)
    await funded(connect, owner, "guild")
    treasury = owner.treasury("guild")
    born = await owner.agents.create(card=card_of("Born"), organization="guild")
    budget = await treasury.create_budget("Calls", 10, "month", agent_did=born.agent_did)
    assert isinstance(budget, TreasuryBudget)
    drawn = await connect(agent=born.credentials).transfers.draw("2.5")
    assert (drawn.amount, drawn.budget_left) == (Decimal("2.5"), Decimal("7.5"))
    changed = await treasury.change_budget(budget.budget_id, amount=5)
    assert (changed.amount, changed.spent, changed.left) == (Decimal(5), Decimal("2.5"), Decimal("2.5"))
    assert [one.name for one in (await treasury.budgets()).items] == ["Calls"]
    assert (await treasury.delete_budget(budget.budget_id)).deleted
    assert (await treasury.budgets()).items == []


async def test_a_treasury_has_contracts_and_disputes(connect: Open):
    owner, other = await developers(connect, 2)
    await funded(connect, owner, "guild")
    treasury = owner.treasury("guild")
    provider = connect(agent=(await other.agents.create(card=card_of("Provider"))).credentials)
    did = (await provider.agents.me()).did
    numbers = []
    for title in ("First", "Second", "Third"):
        proposal = Proposal(
            title=title,
            amount=Decimal(5),
            terms="Translate.",
            acceptance_criteria="French.",
            provider_did=did,
            funded=True,
            submit_by=datetime.now(UTC) + timedelta(days=5),
            review_by=datetime.now(UTC) + timedelta(days=9),
        )
        asked = await treasury.propose(proposal)
        assert asked.status == "EXECUTED"
        numbers.append(asked.result.contract_id)
    first, second, third = numbers
    assert (await treasury.contracts.cancel(third, reason="Not needed.")).status == "CANCELLED"
    for number in (first, second):
        await provider.contracts.accept(number)
        await provider.contracts.submit(number)
    assert (await treasury.contracts.request_changes(first, note="Page 3.")).status == "ACCEPTED"
    await provider.contracts.submit(first)
    assert (await treasury.contracts.approve(first)).status == "COMPLETED"
    assert (await treasury.contracts.mark_failed(second, reason="Bad.")).status == "FAILED"
    complaint = Complaint(did, "POOR_QUALITY", "Every second page is missing.", contract_id=second)
    filed = await treasury.disputes.file(complaint)
    evidence = await treasury.disputes.add_evidence(filed.id, Evidence.of_note("page 3"))
    assert evidence.id == filed.id
    assert (await treasury.disputes.read(filed.id)).evidence == evidence.evidence
    with pytest.raises(ValueError, match="contract_id"):
        await treasury.disputes.file(Complaint(did, "OTHER", "Late."))
    assert [one.id for one in (await treasury.disputes.list(status="OPEN")).items] == [filed.id]
    assert [one.id for one in (await treasury.contracts.list()).items] == [third, second, first]
    assert (await treasury.contracts.read(second)).dispute_id == filed.id


async def test_work_is_offered_bid_for_and_awarded(connect: Open):
    owner, other = await developers(connect, 2)
    await funded(connect, owner, "guild")
    bidder = connect(agent=(await other.agents.create(card=card_of("Bidder"))).credentials)
    opened = await owner.work_orders.open("guild", order(), key="offer-1")
    assert (await owner.work_orders.open("guild", order(), key="offer-2")).id != opened.id
    anyone = connect()
    listed = (await anyone.work_orders.list(skill="translation", status="OPEN")).items
    assert opened.id in {one.id for one in listed}
    assert (await anyone.work_orders.read(opened.id)).organization.slug == "guild"
    withdrawn = await bidder.work_orders.bid(opened.id, 20, 86_400)
    assert (await bidder.work_orders.withdraw_bid(opened.id, withdrawn.bid_id)).deleted
    made = await bidder.work_orders.bid(opened.id, "15", 86_400, pitch="Soon.")
    assert (made.status, made.price) == ("live", Decimal(15))
    assert {one.status for one in (await bidder.work_orders.own_bids(opened.id)).items} == {
        "live",
        "withdrawn",
    }
    assert made.bid_id in {one.bid_id for one in (await owner.work_orders.bids(opened.id)).items}
    awarded = await owner.work_orders.award("guild", opened.id, made.bid_id)
    assert isinstance(awarded, OrganizationRequest)
    assert awarded.status == "EXECUTED"
    shown = await anyone.work_orders.read(opened.id)
    assert (shown.status, shown.contract_id) == ("AWARDED", awarded.result.contract_id)
    another = next(one.id for one in listed if one.id != opened.id)
    assert (await owner.work_orders.cancel("guild", another)).status == "CANCELLED"
    with pytest.raises(NotFound):
        await anyone.work_orders.read("5e0bd4a6-2b3d-4b8c-9d5e-3f3a1f1f1f1f")
