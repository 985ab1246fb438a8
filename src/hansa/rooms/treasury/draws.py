"""An agent of an organization draws units from the treasury within its budget. Its refusal changes nothing."""

from uuid import uuid4

import msgspec

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent
from hansa.foundation.values.money import Minor
from hansa.rooms import agents, ledger, organizations
from hansa.rooms.organizations import OrganizationNotActive

from . import store
from .counting import count
from .errors import BudgetUnknown
from .records import Outlay


class Drawn(msgspec.Struct, frozen=True):
    """Transaction of a draw; amounts in minor units."""

    tx_id: int
    amount: Minor
    fee: Minor
    budget_left: Minor


async def draw(tx: Tx, agent: Agent, amount: Minor, runtime: Runtime) -> Drawn:
    """Pay the agent from the treasury of its organization, within its budget.

    Raises: BudgetUnknown, OrganizationNotActive, InArrears, BudgetExceeded, TreasuryDayLimit, ledger.InsufficientBalance, ledger.AccountSuspended.
    """
    if agent.organization_id is None:
        raise BudgetUnknown
    organization = await organizations.lock(tx, agent.organization_id)
    if organization.status != "active":
        raise OrganizationNotActive(
            f"The organization is {organization.status}.", context={"state": organization.status}
        )
    budget = await store.budget_of_agent(tx, organization.id, agent.did)
    # The agent may have left the organization since its token was read.
    if budget is None or not await agents.is_of_organization(tx, agent.did, organization.id):
        raise BudgetUnknown
    outlay = Outlay(uuid4(), amount, budget_id=budget.id)
    left = await count(tx, organization, outlay, await store.limits_of(tx, organization.id), runtime)
    assert left is not None
    order = ledger.payment_line(
        ledger.PaymentOrder(organization.treasury_did, agent.did, amount, f"org-draw-{outlay.id}", "draw")
    )
    (done,) = await ledger.apply(tx, [order], ledger.Book.of(runtime.settings))
    assert done.tx_id is not None
    return Drawn(done.tx_id, amount, done.fee, left)
