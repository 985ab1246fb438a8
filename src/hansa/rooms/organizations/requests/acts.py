"""Ask, approve, reject, cancel and retry: the one mechanism of requests.

- A request that needs no approval is carried out in the commit that makes it; its refusal leaves nothing.
- An approved request is carried out in the commit of the approval that completes it. A refusal leaves it pending, with the reason.
- Approvals are counted when it is carried out, of those who still hold the right.
"""

from collections.abc import Mapping
from uuid import UUID

import msgspec

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.errors import Refused, Unavailable
from hansa.rooms.organizations import audit, reading, rules
from hansa.rooms.organizations import store as organizations
from hansa.rooms.organizations.approvals.rules import Tally
from hansa.rooms.organizations.errors import (
    ApprovalsMissing,
    InitiatorWithoutRole,
    NotAnApprover,
    OwnApproval,
    RequestDelayed,
    RequestEnded,
    RequestUnknown,
)
from hansa.rooms.organizations.records import (
    Acting,
    Actor,
    NewRequest,
    Organization,
    Outcome,
    Request,
)
from hansa.rooms.organizations.rules import Role

from . import notices, store
from .kinds import RequestKind
from .tally import PENDING, Reading, demands_now, read, tallies, tallies_by

Kinds = Mapping[str, RequestKind]
DELAY = "delay"
"""Credential of the job that carries out a delayed request, in the record of acts."""


class Case(msgspec.Struct, frozen=True):
    """A request of a locked organization, with its kind and the approvals that it has now."""

    organization: Organization
    kind: RequestKind
    request: Request
    tally: Tally


async def ask(
    tx: Tx, acting: Acting, organization: Organization, kind: RequestKind, new: NewRequest
) -> Reading:
    """Make a request of a locked organization, and carry it out at once where nobody has to approve it.

    Raises: RequestExists, LimitReached, and the errors of the kind where it is carried out at once.
    """
    actor, draft = acting.actor, store.draft(kind.name, new, acting.actor.id)
    (demands,) = await demands_now(tx, kind, organization, [draft])
    request = await store.insert(tx, organization.id, draft, demands, is_unique=kind.is_unique)
    (tally,) = await tallies_by(tx, organization, kind, [request], [demands])
    if tally.is_met:
        return await _carry_out(tx, acting, Case(organization, kind, request, tally), is_new=True)
    await audit.record(
        tx, organization.id, actor, "request.create", str(request.id), kind=kind.name, body=new.body
    )
    await notices.created(tx, organization, request)
    if tally.is_delayed:
        await _delay(tx, organization, request)
    return await _read(tx, organization, {kind.name: kind}, request.id)


async def requests_of(
    tx: Tx, kinds: Kinds, developer: Developer, key: str, *, limit: int, offset: int
) -> tuple[list[Reading], int]:
    """A page of the requests, newest first, and how many there are. Raises: OrganizationUnknown."""
    organization = await reading.held(tx, key, developer.id, Role.VIEWER)
    found, total = await store.requests_of(tx, organization.id, limit=limit, offset=offset)
    return await read(tx, organization, kinds, found), total


async def request_of(tx: Tx, kinds: Kinds, developer: Developer, key: str, request_id: UUID) -> Reading:
    """One request. Raises: OrganizationUnknown, RequestUnknown."""
    organization = await reading.held(tx, key, developer.id, Role.VIEWER)
    return await _read(tx, organization, kinds, request_id)


async def approve(tx: Tx, acting: Acting, kinds: Kinds, key: str, request_id: UUID) -> Reading:
    """Approve a request; the last approval that it needs carries it out, unless it is delayed.

    Raises: OrganizationUnknown, OrganizationNotActive, RequestUnknown, OwnApproval, OrgRoleRequired, NotAnApprover, RequestEnded.
    """
    before = await _locked(tx, acting, kinds, key, request_id)
    organization, actor = before.organization, acting.actor
    await _require_approver(tx, before, actor.id)
    if await store.approve(tx, request_id, actor.id):
        await audit.record(tx, organization.id, actor, "request.approve", str(request_id))
        await notices.approved(tx, organization, before.request)
    request = await _found(tx, organization, request_id)
    case = await _case(tx, organization, before.kind, request)
    if case.tally.is_met:
        await _try(tx, acting, case)
    elif case.tally.is_delayed and request.executes_at is None:
        await _delay(tx, organization, request)
    return await _read(tx, organization, kinds, request_id)


async def reject(
    tx: Tx, acting: Acting, kinds: Kinds, key: str, request_id: UUID, *, reason: str | None
) -> Reading:
    """Reject a request, which ends it: one rejection of an approver is enough.

    Raises: OrganizationUnknown, OrganizationNotActive, RequestUnknown, OwnApproval, OrgRoleRequired, NotAnApprover, RequestEnded.
    """
    case = await _locked(tx, acting, kinds, key, request_id)
    await _require_approver(tx, case, acting.actor.id)
    await _end(tx, case.request, "REJECTED", reason)
    organization = case.organization
    await audit.record(tx, organization.id, acting.actor, "request.reject", str(request_id), reason=reason)
    await notices.rejected(tx, organization, case.request)
    return await _read(tx, organization, kinds, request_id)


async def cancel(tx: Tx, acting: Acting, kinds: Kinds, key: str, request_id: UUID) -> Reading:
    """Cancel a request: its initiator, and every owner whom it does not concern.

    Raises: OrganizationUnknown, OrganizationNotActive, OrgRoleRequired, RequestUnknown, OwnApproval, RequestEnded.
    """
    case = await _locked(tx, acting, kinds, key, request_id)
    if acting.actor.id == case.request.concerned_id:
        raise OwnApproval
    _require_initiator_or(Role.OWNER, case, acting.actor.id)
    await _end(tx, case.request, "CANCELLED", None)
    await audit.record(tx, case.organization.id, acting.actor, "request.cancel", str(request_id))
    return await _read(tx, case.organization, kinds, request_id)


async def retry(tx: Tx, acting: Acting, kinds: Kinds, key: str, request_id: UUID) -> Reading:
    """Carry out an approved request that was refused before: its initiator, and every admin.

    Raises: OrganizationUnknown, OrganizationNotActive, OrgRoleRequired, RequestUnknown, RequestEnded, ApprovalsMissing, RequestDelayed,
    InitiatorWithoutRole, and the errors of the kind.
    """
    case = await _locked(tx, acting, kinds, key, request_id)
    _require_initiator_or(Role.ADMIN, case, acting.actor.id)
    request, tally = case.request, case.tally
    await audit.record(tx, case.organization.id, acting.actor, "request.retry", str(request_id))
    if tally.is_delayed and request.executes_at is None:
        await _delay(tx, case.organization, request)
    elif tally.is_met or await _is_due(tx, case):
        await _require_initiator(tx, case)
        await _carry_out(tx, acting, case)
    elif tally.is_delayed and request.executes_at is not None:
        raise RequestDelayed(
            context={"state": request.status, "executes_at": request.executes_at.isoformat()}
        )
    else:
        raise ApprovalsMissing(context={"state": request.status, "approvals_needed": tally.needed})
    return await _read(tx, case.organization, kinds, request_id)


async def carry_out_delayed(
    tx: Tx, runtime: Runtime, kinds: Kinds, organization_id: UUID, request_id: UUID
) -> None:
    """Carry out a request whose delay has ended, if it still has the approvals that it needs; a refusal is its reason."""
    organization = await organizations.find(tx, organization_id, None, lock=True)
    assert organization is not None
    request = await _found(tx, organization, request_id)
    kind = kinds.get(request.kind)
    if kind is None or request.status != PENDING or request.executes_at is None:
        return
    if organization.status != "active":
        await store.set_reason(tx, request.id, f"The organization is {organization.status}.")
        return
    case = await _case(tx, organization, kind, request)
    if case.tally.is_met or await _is_due(tx, case):
        await _try(tx, Acting(runtime, Actor(request.initiator_id, DELAY)), case)
    elif not case.tally.is_delayed:
        await store.set_delay(tx, request.id, None)


async def end_executing(
    tx: Tx, organization: Organization, request_id: UUID, *, is_paid: bool, reason: str | None = None
) -> bool:
    """End a request of a locked organization that waits for another registry: EXECUTED when the units arrived there, else FAILED.

    False when it has ended.
    """
    has_ended = await store.decided(tx, request_id, "EXECUTED" if is_paid else "FAILED", reason)
    if has_ended and is_paid:
        request = await _found(tx, organization, request_id)
        await notices.executed(tx, organization, request)
    return has_ended


async def _try(tx: Tx, acting: Acting, case: Case) -> None:
    """Carry out an approved request; a refusal undoes that alone, and becomes the reason."""
    try:
        async with tx.transaction():
            await _require_initiator(tx, case)
            await _carry_out(tx, acting, case)
    except Unavailable:
        raise
    except Refused as refusal:
        await store.set_reason(tx, case.request.id, refusal.detail)


async def _carry_out(tx: Tx, acting: Acting, case: Case, *, is_new: bool = False) -> Reading:
    """Carry a request out; one that `is_new` is recorded as made by the same statements."""
    organization, request = case.organization, case.request
    made = {"kind": request.kind, "body": request.body} if is_new else {}
    await audit.record(tx, organization.id, acting.actor, "request.execute", str(request.id), **made)
    outcome: Outcome = await case.kind.execute(tx, acting, organization, request)
    done = await store.carried_out(tx, request, outcome, case.tally.needed)
    if done is None:
        raise _ended(request)
    await notices.carried_out(tx, organization, done, is_new=is_new)
    return Reading(done, case.tally.needed)


async def _delay(tx: Tx, organization: Organization, request: Request) -> None:
    await store.set_delay(tx, request.id, await clock.now(tx) + rules.REQUEST_DELAY)
    await notices.delayed(tx, organization, request)


async def _is_due(tx: Tx, case: Case) -> bool:
    at = case.request.executes_at
    return case.tally.is_delayed and at is not None and at <= await clock.now(tx)


async def _require_initiator(tx: Tx, case: Case) -> None:
    """Raises: InitiatorWithoutRole, where a right that has ended would go on in a request."""
    if not case.kind.follows_tiers:
        return
    initiator = case.request.initiator_id
    role = await organizations.role_of(tx, case.organization.id, initiator)
    if role is None or role < case.kind.role or await organizations.is_barred(tx, initiator):
        raise InitiatorWithoutRole


def _require_initiator_or(role: Role, case: Case, developer_id: int) -> None:
    """Raises: OrgRoleRequired."""
    if developer_id != case.request.initiator_id:
        rules.require_role(case.organization.role or Role.VIEWER, role)


async def _require_approver(tx: Tx, case: Case, developer_id: int) -> None:
    """Raises: OwnApproval, OrgRoleRequired, NotAnApprover."""
    if developer_id in case.tally.eligible:
        return
    (demands,) = await demands_now(tx, case.kind, case.organization, [case.request])
    roles = [demand.role for demand in demands if demand.role is not None]
    if roles and len(roles) == len(demands):
        rules.require_role(case.organization.role or Role.VIEWER, min(roles))
    if developer_id in {case.request.initiator_id, case.request.concerned_id}:
        raise OwnApproval
    raise NotAnApprover


async def _locked(tx: Tx, acting: Acting, kinds: Kinds, key: str, request_id: UUID) -> Case:
    organization = await reading.locked(tx, key, acting.actor.id, Role.VIEWER)
    request = await _found(tx, organization, request_id)
    if request.status != PENDING:
        raise _ended(request)
    return await _case(tx, organization, _kind_of(kinds, request), request)


async def _case(tx: Tx, organization: Organization, kind: RequestKind, request: Request) -> Case:
    (tally,) = await tallies(tx, organization, kind, [request])
    return Case(organization, kind, request, tally)


def _kind_of(kinds: Kinds, request: Request) -> RequestKind:
    """Raises: RequestUnknown, for a kind that only a newer process knows."""
    kind = kinds.get(request.kind)
    if kind is None:
        raise RequestUnknown
    return kind


async def _end(tx: Tx, request: Request, status: str, reason: str | None) -> None:
    if not await store.end(tx, request.id, status, reason):
        raise _ended(request)


def _ended(request: Request) -> RequestEnded:
    state = "EXPIRED" if request.status == PENDING else request.status
    return RequestEnded(f"The request is {state}.", context={"state": state})


async def _found(tx: Tx, organization: Organization, request_id: UUID) -> Request:
    request = await store.find(tx, organization.id, request_id)
    if request is None:
        raise RequestUnknown
    return request


async def _read(tx: Tx, organization: Organization, kinds: Kinds, request_id: UUID) -> Reading:
    (found,) = await read(tx, organization, kinds, [await _found(tx, organization, request_id)])
    return found
