"""An organization of the demo: a budget of its treasury, work that it offers and an agent of a stranger does, and a payment of two owners."""

from datetime import UTC, datetime, timedelta
from decimal import ROUND_DOWN, Decimal
from hashlib import sha256
from uuid import uuid4

import msgspec

from hansa.doors.demo.client import DemoAgent, DemoFailed
from hansa.doors.demo.contract import Parties
from hansa.doors.demo.market import Tally
from hansa.doors.demo.paid_call import registry_of
from hansa.doors.demo.removal import FEE_RATE_MAX, TRANSFERS_MAX, UNIT
from hansa.doors.demo.second_owner import SecondOwner, lift_rules, pay_together, registry_of_developer
from hansa_client import AsyncRegistry, Refusal
from hansa_client.records.contracts import Deliverable
from hansa_client.records.treasury import TreasuryBudget
from hansa_client.records.work_orders import NewWorkOrder, WorkBid

PAID_IN = Decimal(2)
BUDGET = Decimal("0.5")
PAID_WITHIN = Decimal("0.25")
OFFERED = Decimal("1.2")
PRICE = Decimal("0.9")
DAY_SECONDS = 86_400


class DemoOrganization(msgspec.Struct, frozen=True):
    """An organization that the demo founded, and the agent that paid into its treasury."""

    slug: str
    founder: DemoAgent
    second: SecondOwner | None


async def work_for_an_organization(
    parties: Parties, others: list[DemoAgent], tally: Tally, second: SecondOwner | None
) -> DemoOrganization:
    """The contractor's developer founds it; the provider wins its work against a bid of each of the others.

    Then a payment needs the approval of a second owner, whose agents are related to the organization from then on.

    Raises: DemoFailed, HansaError.
    """
    founder, slug = parties.contractor, f"demo-{uuid4().hex[:12]}"
    async with (
        registry_of_developer(parties.url, founder.owner) as owning,
        registry_of(parties.url, founder) as paying,
    ):
        founded = await owning.organizations.found(
            slug, f"Guild of {founder.owner.name}", visibility="public"
        )
        paid = await paying.transfers.transfer(founded.treasury_did, PAID_IN)
        tally.count_paid_in(founder.did, PAID_IN, paid.fee_amount)
        parties.screen.line(
            f"{founder.owner.name} founded {slug}; {founder.name} paid {PAID_IN} into its treasury"
        )
        await _pay_within_a_budget(owning, slug, parties)
        await _offer_work(owning, slug, parties, others)
        if second is None:
            parties.screen.line("no second owner: the mail with the invitation is not the demo's to read")
        else:
            await pay_together(owning, slug, parties, second)
        await _count(owning, slug, parties, tally)
    return DemoOrganization(slug, founder, second)


async def _pay_within_a_budget(owning: AsyncRegistry, slug: str, parties: Parties) -> None:
    team = await owning.organizations.create_team(slug, "crew", "read")
    await owning.organizations.add_to_team(slug, "crew", (await owning.accounts.profile()).id)
    treasury = owning.treasury(slug)
    budget = await treasury.create_budget("Crew", BUDGET, "month", team_id=team.id)
    assert isinstance(budget, TreasuryBudget)
    paid = await treasury.pay(parties.provider.did, PAID_WITHIN, budget_id=budget.budget_id)
    (kept,) = (await treasury.budgets()).items
    if (paid.status, kept.left) != ("EXECUTED", BUDGET - PAID_WITHIN):
        raise DemoFailed(f"a payment within a budget is {paid.status}, {kept.left} of the budget is left")
    parties.screen.line(f"the team crew paid {PAID_WITHIN} within its budget of {BUDGET} a month")


async def _offer_work(owning: AsyncRegistry, slug: str, parties: Parties, others: list[DemoAgent]) -> None:
    order = NewWorkOrder(
        title="Translate a catalogue",
        spec="Translate the catalogue.",
        acceptance_criteria="Complete, in French.",
        amount=OFFERED,
        bids_until=datetime.now(UTC) + timedelta(days=2),
        submit_days=5,
        review_days=5,
    )
    offered = await owning.work_orders.open(slug, order)
    parties.screen.line(f"work order {offered.id}: {OFFERED} and its fee are held")
    try:
        for other in others:
            await _bid(parties.url, other, offered.id, OFFERED)
        best = await _bid(parties.url, parties.provider, offered.id, PRICE)
    except Refusal as refusal:
        if refusal.code != "BOND_REQUIRED":
            raise
        await owning.work_orders.cancel(slug, offered.id)
        parties.screen.line("this registry requires a bond of providers: the work order was cancelled")
        return
    awarded = await owning.work_orders.award(slug, offered.id, best.bid_id)
    if awarded.result is None or awarded.result.contract_id is None:
        raise DemoFailed(f"the award of the work is {awarded.status}, without a contract")
    parties.screen.line(f"{1 + len(others)} bids; {parties.provider.name} won for {PRICE}")
    number = awarded.result.contract_id
    async with registry_of(parties.url, parties.provider) as working:
        await working.contracts.submit(number, Deliverable(sha256=sha256(b"catalogue").hexdigest()))
    done = await owning.treasury(slug).contracts.approve(number)
    if (done.status, done.amount_paid) != ("COMPLETED", PRICE):
        raise DemoFailed(f"the contract of the work is {done.status} with {done.amount_paid} of {PRICE} paid")
    parties.screen.line(
        f"contract {number}: submitted, approved, {PRICE} paid; the rest returned to the treasury"
    )


async def _bid(url: str, agent: DemoAgent, work_order_id: str, price: Decimal) -> WorkBid:
    async with registry_of(url, agent) as registry:
        return await registry.work_orders.bid(work_order_id, price, DAY_SECONDS)


async def _count(owning: AsyncRegistry, slug: str, parties: Parties, tally: Tally) -> None:
    """Expect what the treasury paid, with the fees on its statement. Raises: DemoFailed."""
    treasury = owning.treasury(slug)
    sent = (await treasury.transactions(direction="sent")).items
    # The other lines are holds, which the payment of the work ended.
    paid = [line for line in sent if line.counterparty == parties.provider.did]
    for line in paid:
        tally.count_paid_out(parties.provider.did, line.amount, line.fee_amount)
    left = PAID_IN - sum((line.amount + line.fee_amount for line in paid), Decimal(0))
    balances = (await treasury.read()).balances
    if (balances.liquid, balances.escrow) != (left, Decimal(0)):
        raise DemoFailed(f"the treasury holds {balances.liquid} and {balances.escrow} in holds, not {left}")
    parties.screen.line(f"the treasury holds {left:f}, as its statement says")


async def end_organization(url: str, made: DemoOrganization) -> None:
    """Return what the treasury holds to the founder's agent and delete the organization. Raises: DemoFailed, HansaError."""
    async with registry_of_developer(url, made.founder.owner) as owning:
        treasury = owning.treasury(made.slug)
        if made.second is not None:
            await lift_rules(url, made.slug, owning, made.second)
        for _ in range(TRANSFERS_MAX):
            left = (await treasury.read()).balances.liquid
            if left == 0:
                await owning.organizations.delete(made.slug)
                return
            without_fee = (left / (1 + FEE_RATE_MAX)).quantize(UNIT, ROUND_DOWN)
            await treasury.pay(made.founder.did, without_fee or left)
    raise DemoFailed(f"the treasury of {made.slug} still holds units after {TRANSFERS_MAX} payments")
