"""Spawn a child: the agent, its rights and its first units in one commit, or nothing at all.

Locks: the owner against suspension, the root of the tree, the parent, its spend policy, then the ledger.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from hansa.foundation.events import AgentSpawned
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent, Developer, require_permission
from hansa.foundation.values.money import Minor, format_amount
from hansa.foundation.values.rights import Right
from hansa.rooms import agents, journal, ledger, organizations

PERMISSION = "authz.delegate"
OPERATION = "spawn"


@dataclass(frozen=True)
class SpawnOrder:
    """Child that is asked for; `policy` has the members that differ from the parent's, `card` is complete unless `is_listed` is false."""

    card: dict[str, Any]
    is_listed: bool
    roles: tuple[str, ...] | None
    funding: Minor
    policy: Mapping[str, Any]
    ttl_seconds: int | None
    approval_id: UUID | None = None
    request_scope: bytes | None = field(default=None, repr=False)
    identity: agents.NewIdentity = field(kw_only=True, repr=False)


@dataclass(frozen=True)
class Spawned:
    """A new child with its secrets, which are shown once."""

    identity: agents.NewIdentity = field(repr=False)
    onboarded: agents.Onboarded
    parent_did: str
    expires_at: datetime
    receipt: ledger.Receipt


async def spawn(
    tx: Tx,
    caller: Developer | Agent,
    did: str,
    order: SpawnOrder,
    runtime: Runtime,
) -> Spawned | agents.Approval:
    """Make a child of the agent, or ask the owner of the agent to approve the units that it is to get.

    Raises: AgentUnknown, OrgRoleRequired, PermissionMissing, AgentSuspended, AgentRevoked, DeveloperSuspended, OrganizationNotActive,
    LimitReached, ReplacedMeanwhile, ChildEnding, SpawnTooDeep, SpawnQuotaReached, RolesNotHeld, PolicyWidened, LifetimeTooLong, the
    refusals of a spend policy and of a card, and those of the ledger.
    """
    settings, identity = runtime.settings, order.identity
    await agents.require_caller(tx, caller, did, Right.MANAGE)
    if isinstance(caller, Agent):
        require_permission(caller, PERMISSION, settings.agent_rbac_mode)
    parent = await agents.active_agent(tx, did)
    held = await agents.hold_maker(tx, parent, runtime)
    agents.require_depth(held.place)
    roles = agents.child_roles(held.agent.roles, order.roles)
    ttl_seconds = agents.lifetime(order.ttl_seconds, held.place.seconds_left)
    of_parent, _ = await agents.policy_of(tx, did)
    policy = agents.child_policy(of_parent, order.policy)
    payment = _payment(did, order, settings)
    if await agents.clear_payment(tx, parent, payment, settings) is agents.Clearance.NEEDS_APPROVAL:
        # Nobody is asked about what could not be paid anyway.
        await _require_liquid(tx, did, order.funding)
        return await agents.ask_owner(tx, parent, payment)
    child = agents.NewChild(identity.did, order.funding, ttl_seconds)
    expires_at = await agents.record_child(tx, held, child)
    seen_by = caller.id if isinstance(caller, Developer) else None
    onboarded = await agents.create_child(
        tx, held, agents.Offspring(identity, order.card, roles, order.is_listed, seen_by), settings
    )
    if policy is not None:
        await agents.put_policy(tx, identity.did, policy)
    if parent.organization_id is not None:
        await _join_organization(tx, caller, parent, identity.did)
    book = ledger.Book.of(settings)
    receipt = await ledger.transfer(tx, ledger.TransferOrder(did, identity.did, order.funding), book)
    await journal.append(tx, _spawned(held, child, receipt, expires_at, book))
    return Spawned(identity, onboarded, did, expires_at, receipt)


async def cost_of(tx: Tx, did: str, funding: Minor, settings: Settings) -> Minor:
    """The fee of a transfer of the agent now, which the first units of a child bear. Raises: AccountUnknown, AccountSuspended."""
    book = ledger.Book.of(settings)
    return await ledger.fee_to_new(tx, did, funding, book)


async def _join_organization(tx: Tx, caller: Developer | Agent, parent: Agent, did: str) -> None:
    assert parent.organization_id is not None
    await organizations.join_teams_of(tx, parent.did, did)
    if isinstance(caller, Developer):
        await organizations.record_act(tx, parent.organization_id, caller, "agent.spawn", did)


async def _require_liquid(tx: Tx, did: str, amount: Minor) -> None:
    liquid = (await ledger.balance_of(tx, did)).liquid
    if liquid < amount:
        raise ledger.uncovered(liquid, amount)


def _payment(did: str, order: SpawnOrder, settings: Settings) -> agents.Payment:
    # The child has no DID while its parent's owner decides: an approval names the parent; no other payment has its payer as payee.
    return agents.Payment(
        payee=did,
        amount=order.funding,
        currency=settings.settlement_currency,
        permission=PERMISSION,
        operation=OPERATION,
        approval_id=order.approval_id,
        request_scope=order.request_scope,
        is_for_child=True,
    )


def _spawned(
    held: agents.HeldPlace,
    child: agents.NewChild,
    receipt: ledger.Receipt,
    expires_at: datetime,
    book: ledger.Book,
) -> AgentSpawned:
    assert receipt.tx_id is not None
    return AgentSpawned(
        did=held.place.did,
        child_did=child.did,
        root_did=held.place.root_did,
        depth=held.place.depth + 1,
        funding=format_amount(child.funding),
        fee=format_amount(receipt.fee),
        currency=book.currency,
        tx_id=receipt.tx_id,
        expires_at=expires_at.isoformat(),
    )
