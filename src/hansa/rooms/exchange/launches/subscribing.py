"""Agents subscribe to a launch at its fixed price, sealed and fully held, and cancel while it is open. Speed wins nothing.

Locks: the agent, the listing, budgets, the ledger.
"""

from uuid import uuid4

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent
from hansa.foundation.values.errors import Forbidden
from hansa.foundation.values.money import Minor
from hansa.rooms import agents, ledger, organizations
from hansa.rooms.exchange import rules
from hansa.rooms.exchange import store as listings
from hansa.rooms.exchange.errors import ListingUnknown
from hansa.rooms.exchange.reading import HIDDEN
from hansa.rooms.exchange.records import Listing

from . import store
from .errors import (
    LaunchNotOpen,
    OwnerMaximum,
    RelatedToSeller,
    SubscriptionEnded,
    SubscriptionExists,
    SubscriptionUnknown,
)
from .opening import open_if_due
from .records import NewSubscription, Subscription

PERMISSION = "exchange.trade"
OF_AGENT_MAX = 10
"""Subscriptions of one agent to one launch, with those that it cancelled."""
NO_BUDGET = agents.HeldBudget(is_counted=False, capability_id=None)


async def subscribe(
    tx: Tx, agent: Agent, ref: str, new: NewSubscription, runtime: Runtime
) -> tuple[Listing, Subscription] | agents.Approval:
    """Subscribe to a launch, whose price is held for every point; or ask the owner of the agent to approve it.

    Raises: ExchangeDisabled, Forbidden, ListingUnknown, ActParked, AuthorizationsUnreadable, LaunchNotOpen, RelatedToSeller, SubscriptionExists,
    OwnerMaximum, LimitReached, InsufficientBalance, AccountSuspended, and the refusals of a spend policy or a capability.
    """
    settings = runtime.settings
    rules.require_enabled(settings)
    if await agents.lock_status(tx, agent.did) != "active":
        raise Forbidden("The agent is not active.")
    listing = await open_if_due(tx, await _locked(tx, ref), runtime)
    if not is_open(listing):
        raise LaunchNotOpen(context={"state": listing.status})
    if await agents.are_related(tx, listing.treasury_did, agent.did):
        raise RelatedToSeller
    await _require_room(tx, listing, agent, new.qty)
    amount = Minor(new.qty * listing.price)
    payment = _payment(listing, amount, new, settings.settlement_currency)
    budget: agents.HeldBudget | None = NO_BUDGET
    if not agents.pays_plainly(agent, new.capability_token):
        budget = await agents.hold_budget(tx, agent, payment, settings)
    if budget is None:
        liquid = (await ledger.balance_of(tx, agent.did)).liquid
        if liquid < amount:
            raise ledger.uncovered(liquid, amount)
        return await agents.ask_owner(tx, agent, payment)
    subscription_id = uuid4()
    deposit = ledger.orders.deposit(agent.did, amount, ledger.NewHold(store.HOLD_KIND, str(subscription_id)))
    seq = await store.next_seq(tx, ref)
    (held,) = await ledger.apply(tx, [deposit], ledger.Book.of(settings))
    assert held.hold_id is not None
    made = await store.insert(
        tx,
        ref,
        seq,
        agent,
        subscription_id=subscription_id,
        qty=new.qty,
        hold_id=held.hold_id,
        budget=budget,
    )
    if made is None:
        raise SubscriptionExists
    return listing, made


async def cancel(tx: Tx, agent: Agent, ref: str, runtime: Runtime) -> tuple[Listing, Subscription]:
    """Cancel an own subscription while the launch is open. Raises: ListingUnknown, SubscriptionUnknown, SubscriptionEnded."""
    listing = await _locked(tx, ref)
    found = await store.newest_of(tx, ref, agent.did)
    if found is None:
        raise SubscriptionUnknown
    if not is_open(listing):
        raise SubscriptionEnded(context={"state": found.status})
    return listing, await cancel_one(tx, found, listing.price, runtime)


async def read(tx: Tx, agent: Agent, ref: str) -> tuple[Listing, Subscription]:
    """The newest own subscription. Raises: ListingUnknown, SubscriptionUnknown."""
    listing = await listings.find(tx, ref)
    if listing is None or listing.status in HIDDEN:
        raise ListingUnknown
    found = await store.newest_of(tx, ref, agent.did)
    if found is None:
        raise SubscriptionUnknown
    return listing, found


async def newest_of(tx: Tx, agent_did: str, ref: str) -> Subscription | None:
    """The newest subscription of an agent to a launch."""
    return await store.newest_of(tx, ref, agent_did)


async def cancel_one(tx: Tx, found: Subscription, price: Minor, runtime: Runtime) -> Subscription:
    """Cancel a subscription of a locked, open launch: its units and budgets are free. Raises: SubscriptionEnded."""
    cancelled = await store.cancel(tx, found.id)
    if cancelled is None:
        raise SubscriptionEnded(context={"state": found.status})
    await agents.return_budget(
        tx,
        found.agent_did,
        found.budget,
        Minor(found.qty * price),
        held_at=found.created_at,
        is_unused=True,
    )
    await ledger.release_hold(tx, found.hold_id, ledger.Book.of(runtime.settings))
    return cancelled


def is_open(listing: Listing) -> bool:
    """Return whether agents subscribe to the launch, and cancel, at this moment."""
    return listing.status == "LAUNCHING" and listing.launched_at is None and listing.now < listing.closes_at


async def _require_room(tx: Tx, listing: Listing, agent: Agent, qty: int) -> None:
    """Raises: SubscriptionExists, OwnerMaximum, LimitReached."""
    newest = await store.newest_of(tx, listing.ref, agent.did)
    if newest is not None and newest.status != "cancelled":
        raise SubscriptionExists(context={"state": newest.status})
    earlier = await store.earlier(tx, listing.ref, agent.did, agent.owner.name)
    organizations.require_room(earlier.of_agent, OF_AGENT_MAX, "subscriptions of an agent to a launch")
    room = listing.per_owner_max - earlier.points_of_owner
    if qty > room:
        raise OwnerMaximum(context={"per_owner_max": listing.per_owner_max, "left": max(room, 0)})


async def _locked(tx: Tx, ref: str) -> Listing:
    listing = await listings.lock(tx, ref)
    if listing is None or listing.status in HIDDEN:
        raise ListingUnknown
    return listing


def _payment(listing: Listing, amount: Minor, new: NewSubscription, currency: str) -> agents.Payment:
    return agents.Payment(
        listing.treasury_did,
        amount,
        currency,
        PERMISSION,
        PERMISSION,
        approval_id=new.approval_id,
        capability_token=new.capability_token,
        request_scope=new.request_scope,
    )
