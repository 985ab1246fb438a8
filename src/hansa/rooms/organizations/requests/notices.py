"""Events of requests, and the mail to every member about a delay."""

from datetime import datetime, timedelta
from uuid import UUID

from hansa.foundation.events import (
    TreasuryRequestApproved,
    TreasuryRequestCreated,
    TreasuryRequestExecuted,
    TreasuryRequestRejected,
)
from hansa.foundation.plumbing import jobs
from hansa.foundation.plumbing.jobs import Job, TransactionalKind
from hansa.foundation.plumbing.jobs.mail_queue import OutgoingMail, enqueue_mail
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import format_amount
from hansa.rooms import journal, people
from hansa.rooms.organizations import rules
from hansa.rooms.organizations import store as organizations
from hansa.rooms.organizations.records import Organization, Request

from . import store

DELAY_MAILS = "organizations: mails of a delay"

_EVENTS = TreasuryRequestCreated | TreasuryRequestApproved | TreasuryRequestRejected | TreasuryRequestExecuted


async def created(tx: Tx, organization: Organization, request: Request) -> None:
    """Record that a request was made."""
    await journal.append(tx, _event(TreasuryRequestCreated, organization, request))


async def approved(tx: Tx, organization: Organization, request: Request) -> None:
    """Record an approval."""
    await journal.append(tx, _event(TreasuryRequestApproved, organization, request))


async def rejected(tx: Tx, organization: Organization, request: Request) -> None:
    """Record a rejection."""
    await journal.append(tx, _event(TreasuryRequestRejected, organization, request))


async def executed(tx: Tx, organization: Organization, request: Request) -> None:
    """Record that a request was executed, with its transaction in the ledger."""
    await journal.append(tx, _event(TreasuryRequestExecuted, organization, request))


async def carried_out(tx: Tx, organization: Organization, request: Request, *, is_new: bool) -> None:
    """Record that a request was carried out, and of one that `is_new` that it was made."""
    kinds: list[type[_EVENTS]] = [TreasuryRequestCreated] if is_new else []
    if request.status == "EXECUTED":
        kinds.append(TreasuryRequestExecuted)
    if kinds:
        await journal.append(tx, *(_event(kind, organization, request) for kind in kinds))


async def delayed(tx: Tx, organization: Organization, request: Request) -> None:
    """Let a job notify every member that a request is carried out after a delay, with fewer approvals than its tier demands."""
    await jobs.enqueue(tx, DELAY_MAILS, str(request.id), {"organization_id": str(organization.id)})


def _event(kind: type[_EVENTS], organization: Organization, request: Request) -> _EVENTS:
    amount = None if request.amount is None else format_amount(request.amount)
    tx_id = request.tx_id if kind is TreasuryRequestExecuted else None
    return kind(str(organization.id), organization.treasury_did, str(request.id), request.kind, amount, tx_id)


async def _mail_members(tx: Tx, runtime: Runtime, job: Job) -> None:
    organization_id, request_id = UUID(job.payload["organization_id"]), UUID(job.key)
    organization = await organizations.find(tx, organization_id, None)
    request = await store.find(tx, organization_id, request_id)
    if organization is None or request is None or request.executes_at is None:
        return
    members = await organizations.members_of(tx, organization_id)
    addresses = await people.addresses_of(tx, [member["developer_id"] for member in members])
    for address in sorted(addresses.values()):
        mail = _mail(address, organization, request, request.executes_at, runtime.settings.base_url)
        await enqueue_mail(tx, runtime.seal, mail)


def _mail(
    to: str, organization: Organization, request: Request, executes_at: datetime, base_url: str
) -> OutgoingMail:
    text = f"""Hello,

the organization {organization.name} ({organization.slug}) at {base_url} has fewer approvers than its rules demand. The request
{request.id} ({request.kind}) is therefore carried out at {executes_at:%Y-%m-%d %H:%M} UTC, with the approvals that it has.

Its initiator and the owners of the organization can cancel it until then, its approvers can reject it:
{base_url}/api/v1/organizations/{organization.slug}/treasury/requests/{request.id}
"""
    return OutgoingMail(
        to,
        "A request of your organization waits for a delay",
        text,
        timedelta(days=rules.REQUEST_LIFETIME.days),
    )


MAILS_OF_DELAYS = TransactionalKind(DELAY_MAILS, _mail_members)
