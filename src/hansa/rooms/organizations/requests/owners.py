"""Kind `owners`: a change of the owners, which more than half of all owners agree to.

The initiator is one of them while he is an owner; the developer concerned is not.
"""

from collections.abc import Sequence

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.rooms.organizations import rules
from hansa.rooms.organizations import store as organizations
from hansa.rooms.organizations.approvals import store as approvals
from hansa.rooms.organizations.approvals.rules import OWNER, Demand
from hansa.rooms.organizations.membership import apply_change
from hansa.rooms.organizations.records import NOTHING, Acting, Organization, Outcome, Request
from hansa.rooms.organizations.rules import Role

from .kinds import RequestKind


async def _demands(
    tx: Tx, organization: Organization, requests: Sequence[Request]
) -> list[tuple[Demand, ...]]:
    owners, approvers = await read_together(
        tx,
        lambda tx: organizations.owners_of(tx, organization.id),
        lambda tx: approvals.approvers_of(tx, organization.id, ()),
    )
    needed = rules.approvals_needed(len(owners))
    agreeing = {one.developer_id for one in approvers if one.role is Role.OWNER}
    return [_beside_initiator(needed - (request.initiator_id in agreeing)) for request in requests]


def _beside_initiator(approvals_needed: int) -> tuple[Demand, ...]:
    return (Demand(approvals_needed, OWNER),) if approvals_needed else ()


async def _execute(tx: Tx, acting: Acting, organization: Organization, request: Request) -> Outcome:
    role = request.body["role"]
    await apply_change(
        tx, acting.actor, organization, request.body["developer_id"], Role.named(role) if role else None
    )
    return NOTHING


OWNERS = RequestKind("owners", _demands, _execute, role=Role.OWNER, follows_tiers=False, is_unique=True)
