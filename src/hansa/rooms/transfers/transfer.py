"""Transfer of an agent: within this registry, or to the registry that has the receiver.

- A plain transfer goes through the group commit; one that a policy or a capability limits is a transaction of its own.
- The DID of a receiver of another trust domain names its registry. Within a trust domain the receiver is looked for here first.
- A receiver whose account is closed because its agent is revoked is refused as revoked.
"""

from collections.abc import Awaitable, Iterable
from typing import Literal, TypeAlias

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.plumbing.web.caller import Agent, require_permission
from hansa.foundation.plumbing.web.idempotency import Answer
from hansa.foundation.values.money import format_amount
from hansa.rooms import agents, ledger

from .asking import AccountRevoked
from .crossing import (
    CrossingRequest,
    ReceiverIsForeign,
    across,
    corridor_to,
    preview_crossing,
    require_receiver,
)
from .governed import GovernedTransfer, transfer_governed
from .pools import NotASwap
from .receiver_registry import is_elsewhere, names_another_issuer, peer_of
from .schemas import SendOut

Made: TypeAlias = Answer | agents.Approval
"""Answer of a transfer that was made or planned, or the approval that its owner has to give."""


async def require_receiver_here(database: Database, payee: str, settings: Settings) -> None:
    """Raises: ReceiverIsForeign, when the DID names another trust domain and a peer has the agent."""
    if names_another_issuer(payee, settings):
        await _require_no_peer(database, payee, settings)


async def transfer_here(runtime: Runtime, agent: Agent, asked: GovernedTransfer, *, is_plain: bool) -> Made:
    """Move units to an agent of this registry, or ask the owner of `agent`.

    Raises: ReceiverIsForeign, AccountRevoked, CallerChanged, and the errors of `transfer_governed` and the ledger.
    """
    try:
        return await _decided(runtime.database, asked, _made(runtime, agent, asked, is_plain, agent.version))
    except ledger.AccountUnknown:
        if await is_elsewhere(runtime, asked.order.payee):
            await _require_no_peer(runtime.database, asked.order.payee, runtime.settings)
        raise


async def send(
    runtime: Runtime,
    agent: Agent,
    asked: GovernedTransfer,
    crossing: CrossingRequest,
    *,
    is_plain: bool,
    dry_run: bool,
) -> Made:
    """Move units to an agent of any registry: `asked` where it is of this one, `crossing` where it is of a peer.

    With `dry_run` nothing moves; the answer is the route.

    Raises: NotASwap, AccountRevoked, PermissionMissing, and the errors of the transfer within or across registries.
    """
    payee, settings = asked.order.payee, runtime.settings
    if names_another_issuer(payee, settings) and await _has_peer(runtime.database, payee, settings):
        return await _send_across(runtime, agent, crossing, dry_run=dry_run)
    if crossing.bounds.are_stated:
        raise NotASwap
    if dry_run:
        made = _planned_here(runtime, agent, asked, is_plain=is_plain)
    else:
        made = _made(runtime, agent, asked, is_plain)
    try:
        return await _decided(runtime.database, asked, made)
    except ledger.AccountUnknown:
        # Within one trust domain the DID does not say at which registry the agent is.
        is_known = await is_elsewhere(runtime, payee)
        if not is_known or not await _has_peer(runtime.database, payee, settings):
            raise
    return await _send_across(runtime, agent, crossing, dry_run=dry_run)


async def revoked_among(database: Database, payees: Iterable[str]) -> dict[str, AccountRevoked]:
    """Return the refusals of those closed accounts whose agents are revoked."""
    named = sorted(payees)
    statuses = await database.read(lambda tx: agents.statuses_of(tx, named)) if named else {}
    return {
        did: AccountRevoked(f"The agent {did} is revoked and cannot receive units.")
        for did in named
        if statuses.get(did) == "revoked"
    }


async def _made(
    runtime: Runtime, agent: Agent, asked: GovernedTransfer, is_plain: bool, version: int | None = None
) -> Made:
    if is_plain:
        return await ledger.GROUP_COMMIT.of(runtime).transfer(
            asked.order, asked.request, asked.render, version
        )
    return await runtime.database.transaction(
        lambda tx: transfer_governed(tx, agent, asked, runtime.settings)
    )


async def _decided(database: Database, asked: GovernedTransfer, made: Awaitable[Made]) -> Made:
    """Raises: AccountRevoked."""
    try:
        return await made
    except ledger.AccountSuspended as refusal:
        # The book knows that the account is closed; why, the agents' room knows.
        if revoked := await revoked_among(database, [asked.order.payee]):
            raise revoked[asked.order.payee] from refusal
        raise


async def _planned_here(runtime: Runtime, agent: Agent, asked: GovernedTransfer, *, is_plain: bool) -> Made:
    settings = runtime.settings
    needs_approval = False
    if not is_plain:
        clearance = await runtime.database.read(
            lambda tx: agents.preview_payment(tx, agent, asked.payment, settings)
        )
        needs_approval = clearance is agents.Clearance.NEEDS_APPROVAL
    preview = await ledger.GROUP_COMMIT.of(runtime).preview(asked.order)
    book = ledger.Book.of(settings)
    plan = SendOut.planned(preview, asked.order, book, needs_approval=needs_approval)
    return Answer(plan.model_dump_json(), replayed=False)


async def _has_peer(database: Database, did: str, settings: Settings) -> bool:
    return await database.query(lambda tx: peer_of(tx, did, settings)) is not None


async def _require_no_peer(database: Database, did: str, settings: Settings) -> None:
    """Raises: ReceiverIsForeign."""
    if await _has_peer(database, did, settings):
        raise ReceiverIsForeign


async def _send_across(
    runtime: Runtime, agent: Agent, crossing_request: CrossingRequest, *, dry_run: bool
) -> Made:
    """Raises: as `across`, PermissionMissing."""
    if crossing_request.payment.capability_token is None:
        # The route asks for the permission of local transfers.
        require_permission(agent, crossing_request.payment.permission, runtime.settings.agent_rbac_mode)
    if dry_run:
        plan = await _planned_across(runtime, agent, crossing_request)
        return Answer(plan.model_dump_json(), replayed=False)
    crossed = await across(runtime, agent, crossing_request)
    if isinstance(crossed, agents.Approval):
        return crossed
    return Answer(SendOut.crossed(crossed.crossing).model_dump_json(), crossed.replayed)


async def _planned_across(runtime: Runtime, agent: Agent, crossing_request: CrossingRequest) -> SendOut:
    settings, order, database = runtime.settings, crossing_request.order, runtime.database
    corridor = await database.query(lambda tx: corridor_to(tx, order.payee, runtime))
    clearance = await database.read(
        lambda tx: agents.preview_payment(tx, agent, crossing_request.payment, settings)
    )
    left, terms = await database.transaction(
        lambda tx: preview_crossing(tx, corridor, order, crossing_request.bounds)
    )
    await require_receiver(runtime, corridor, order.payee)
    method: Literal["fx", "async", "2pc"] = "async" if crossing_request.backend == "async" else "2pc"
    detail = "The receiver is on another registry; nothing was moved."
    if clearance is agents.Clearance.NEEDS_APPROVAL:
        detail += " The agent's owner would have to approve."
    return SendOut(
        method="fx" if corridor.currency_received else method,
        status="dry_run",
        transfer_id=None,
        currency_sent=corridor.book.currency,
        currency_received=corridor.currency_received or corridor.book.currency,
        amount_received=format_amount(terms.net),
        fee_amount=format_amount(terms.estimated_fee),
        new_sender_balance=format_amount(left),
        receiver_registry=corridor.frame,
        detail=detail,
    )
