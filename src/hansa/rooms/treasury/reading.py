"""Read a treasury: its account, its rules and its budgets. Every member of the organization may."""

from collections.abc import Sequence

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Developer
from hansa.rooms import ledger, organizations
from hansa.rooms.organizations import Role

from . import store
from .counting import rules_of
from .records import Budget, Day, Rules


class Treasury(msgspec.Struct, frozen=True):
    """Account of an organization with its rules, budgets and the sums of the day."""

    did: str
    balance: ledger.Balance
    rules: Rules
    budgets: Sequence[Budget]
    today: Day


async def treasury_of(tx: Tx, developer: Developer, key: str) -> Treasury:
    """Raises: OrganizationUnknown."""
    organization = await organizations.held(tx, key, developer.id, Role.VIEWER)
    return Treasury(
        organization.treasury_did,
        await ledger.balance_of(tx, organization.treasury_did),
        await rules_of(tx, organization.id),
        await store.budgets_of(tx, organization.id),
        await store.today(tx, organization.id),
    )


async def budgets_of(tx: Tx, developer: Developer, key: str) -> list[Budget]:
    """The budgets, the oldest first. Raises: OrganizationUnknown."""
    organization = await organizations.held(tx, key, developer.id, Role.VIEWER)
    return await store.budgets_of(tx, organization.id)


async def transactions_of(
    tx: Tx, developer: Developer, key: str, wanted: ledger.StatementFilter
) -> tuple[list[ledger.Line], int]:
    """A page of the transactions of the treasury, newest first, and how many there are. Raises: OrganizationUnknown."""
    organization = await organizations.held(tx, key, developer.id, Role.VIEWER)
    return await ledger.lines_of(tx, organization.treasury_did, wanted)
