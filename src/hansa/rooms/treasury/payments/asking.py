"""Ask for a payment or a contract of a treasury: an admin, or a member of a team within its budget."""

from typing import Any
from uuid import UUID

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor, format_amount
from hansa.rooms import organizations
from hansa.rooms.organizations import Acting, NewRequest, Organization, Reading, Role
from hansa.rooms.treasury import store
from hansa.rooms.treasury.errors import BudgetOfOthers, BudgetUnknown

from .contracting import CONTRACT, contract_of
from .paying import PAYMENT


class NewPayment(msgspec.Struct, frozen=True):
    """Payment that a member asks for."""

    receiver_did: str
    amount: Minor
    message: str | None
    budget_id: UUID | None
    note: str | None


async def ask_for_payment(tx: Tx, acting: Acting, key: str, new: NewPayment) -> Reading:
    """Make the payment at once below every tier or within a budget, else ask the approvers of its tier.

    Raises: OrganizationUnknown, OrganizationNotActive, OrgRoleRequired, BudgetUnknown, BudgetOfOthers, LimitReached, and where it is made at once
    the errors of the kind.
    """
    organization = await organizations.lock_as_member(tx, key, acting.actor.id, Role.MEMBER)
    if new.budget_id is None:
        organizations.require_role(organization.role or Role.VIEWER, Role.ADMIN)
    else:
        await _require_budget(tx, organization, new.budget_id, acting.actor.id)
    body = {
        "receiver_did": new.receiver_did,
        "amount": format_amount(new.amount),
        "message": new.message,
        "budget_id": None if new.budget_id is None else str(new.budget_id),
    }
    return await organizations.ask(tx, acting, organization, PAYMENT, NewRequest(body, new.amount, new.note))


async def ask_for_contract(
    tx: Tx, acting: Acting, key: str, contract: dict[str, Any], note: str | None
) -> Reading:
    """Propose a funded contract at once below every tier, else ask the approvers of the tier of its amount.

    Raises: OrganizationUnknown, OrganizationNotActive, OrgRoleRequired, ContractNotFunded, LimitReached, and where it is proposed at once the errors
    of the kind.
    """
    organization = await organizations.lock_as_member(tx, key, acting.actor.id, Role.ADMIN)
    body = {"contract": contract}
    amount = contract_of(body).proposed_by(organization.treasury_did).amount
    return await organizations.ask(tx, acting, organization, CONTRACT, NewRequest(body, amount, note))


async def _require_budget(tx: Tx, organization: Organization, budget_id: UUID, developer_id: int) -> None:
    """Raises: BudgetUnknown, BudgetOfOthers."""
    budget = await store.find_budget(tx, organization.id, budget_id)
    if budget is None:
        raise BudgetUnknown(field="budget_id")
    if budget.team_id is None or not await organizations.is_member_of(
        tx, organization.id, budget.team_id, developer_id
    ):
        raise BudgetOfOthers(field="budget_id")
