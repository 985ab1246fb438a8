"""Actions of agents on the bridge: wrap units at another registry, redeem wrapped ones, and retry a step.

Units are set aside in the transaction of the request; the destination is asked after it. A saga without an answer goes on by
itself: its caller reads the outcome. A repeated request gets its first answer, also once the saga has moved on and whatever
became of the other registry since.
"""

from dataclasses import replace
from uuid import UUID, uuid4

import msgspec

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web import idempotency
from hansa.foundation.plumbing.web.caller import Agent
from hansa.foundation.plumbing.web.idempotency import Repeatable
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.money import Minor
from hansa.rooms import agents, federation, ledger
from hansa.rooms.transfers.crossing.corridor import Corridor
from hansa.rooms.transfers.crossing.errors import PeerRewound, ReceiverIsLocal, ReceiverRegistryUnknown
from hansa.rooms.transfers.crossing.sent_store import has_doubt
from hansa.rooms.transfers.crossing.store import share_pair
from hansa.rooms.transfers.receiver_registry import is_elsewhere, peer_of

from . import sagas, store, wrapped_store
from .channel import ask_now
from .errors import (
    BridgeFrameOnly,
    ReceiverNotAtHome,
    SagaDirection,
    SagaUnknown,
    WrappedCurrencyUnknown,
    WrappedInsufficient,
)
from .inbox import wrapped_amount
from .messages import Direction, Terms


class WrapRequest(msgspec.Struct, frozen=True):
    """Own units to be held wrapped by an agent of another registry."""

    receiver_did: str
    amount: Minor
    payment: agents.Payment
    request: Repeatable | None


class RedemptionRequest(msgspec.Struct, frozen=True):
    """Wrapped units to be unlocked for an agent at their home."""

    receiver_did: str
    amount: Minor
    wrapped_currency: str
    payment: agents.Payment
    request: Repeatable | None


class _Kept(msgspec.Struct, frozen=True):
    """Record under an Idempotency-Key before there is an answer: the saga."""

    saga: UUID


class Begun(msgspec.Struct, frozen=True):
    """A saga of this request, and whether an earlier request with the same key began it."""

    saga_id: UUID
    replayed: bool


class _Aside(msgspec.Struct, frozen=True):
    """Budget that a saga has set aside, and the hold of own units."""

    held: agents.HeldBudget
    hold_id: int | None = None


def require_bridge(settings: Settings) -> None:
    """Raises: BridgeFrameOnly."""
    if not federation.is_mainframe(settings):
        raise BridgeFrameOnly


async def wrap(runtime: Runtime, agent: Agent, asked: WrapRequest) -> Begun | agents.Approval:
    """Lock units here and ask the other registry to mint as many, or ask the agent's owner.

    Raises: ReceiverIsLocal, ReceiverRegistryUnknown, PeerRewound, InsufficientBalance, KeyReused, KeyInProgress, and the errors that
    `require_may_cross` and `agents.hold_budget` raise.
    """
    settings = runtime.settings
    if not await is_elsewhere(runtime, asked.receiver_did):
        raise ReceiverIsLocal
    try:
        corridor = await runtime.database.query(lambda tx: _corridor_to(tx, asked.receiver_did, runtime))
    except Refused:
        begun_before = await runtime.database.transaction(lambda tx: _recalled(tx, asked.request))
        if begun_before is None:
            raise
        return begun_before
    begun = await runtime.database.transaction(lambda tx: _lock(tx, settings, agent, corridor, asked))
    if isinstance(begun, Begun) and not begun.replayed:
        await ask_now(runtime, corridor, begun.saga_id)
    return begun


async def redeem(runtime: Runtime, agent: Agent, asked: RedemptionRequest) -> Begun | agents.Approval:
    """Set wrapped units aside and ask their home to unlock as many, or ask the agent's owner.

    Raises: WrappedCurrencyUnknown, ReceiverNotAtHome, WrappedInsufficient, PeerRewound, KeyReused, KeyInProgress, and the errors that
    `require_may_cross` and `agents.hold_budget` raise.
    """
    try:
        corridor = await runtime.database.query(lambda tx: _corridor_home(tx, asked, runtime))
    except Refused:
        begun_before = await runtime.database.transaction(lambda tx: _recalled(tx, asked.request))
        if begun_before is None:
            raise
        return begun_before
    settings = runtime.settings
    begun = await runtime.database.transaction(lambda tx: _set_aside(tx, settings, agent, corridor, asked))
    if isinstance(begun, Begun) and not begun.replayed:
        await ask_now(runtime, corridor, begun.saga_id)
    return begun


async def retry(runtime: Runtime, agent: Agent, saga_id: UUID, direction: Direction) -> None:
    """Ask the other registry about an own saga at once; one that has ended stays as it is.

    Raises: SagaUnknown, SagaDirection.
    """
    stored = await runtime.database.query(lambda tx: store.find(tx, saga_id))
    if stored is None or stored.saga.terms.sender_did != agent.did:
        raise SagaUnknown
    if stored.saga.terms.direction is not direction:
        raise SagaDirection
    peer = await runtime.database.query(lambda tx: federation.peer_by_spiffe_id(tx, stored.peer))
    if peer is not None and peer.ledger_id is not None:
        await ask_now(runtime, Corridor.to(peer, runtime), saga_id)


async def _corridor_to(tx: Tx, did: str, runtime: Runtime) -> Corridor:
    peer = await peer_of(tx, did, runtime.settings)
    if peer is None:
        raise ReceiverRegistryUnknown
    await federation.require_may_cross(tx, runtime.settings, peer)
    return Corridor.to(peer, runtime)


async def _corridor_home(tx: Tx, asked: RedemptionRequest, runtime: Runtime) -> Corridor:
    home = await wrapped_store.home_of(tx, asked.wrapped_currency)
    peer = None if home is None else await federation.peer_by_spiffe_id(tx, home)
    if home is None:
        raise WrappedCurrencyUnknown
    if peer is None or peer.ledger_id is None:
        raise ReceiverRegistryUnknown
    if not await federation.speaks_for(tx, peer, asked.receiver_did, runtime.settings):
        raise ReceiverNotAtHome
    await federation.require_may_cross(tx, runtime.settings, peer)
    return Corridor.to(peer, runtime)


async def _recalled(tx: Tx, request: Repeatable | None) -> Begun | None:
    stored = None if request is None else await idempotency.recall(tx, request)
    return None if stored is None else Begun(msgspec.json.decode(stored, type=_Kept).saga, replayed=True)


async def _lock(
    tx: Tx, settings: Settings, agent: Agent, corridor: Corridor, asked: WrapRequest
) -> Begun | agents.Approval:
    if (begun := await _recalled(tx, asked.request)) is not None:
        return begun
    await _require_open(tx, corridor)
    held = await agents.hold_budget(tx, agent, asked.payment, settings)
    saga_id, book = uuid4(), corridor.book
    amount = ledger.BridgeAmount(corridor.frame, saga_id, agent.did, asked.amount)
    if held is None:
        # The owner is not asked about what could not be locked anyway.
        await ledger.lock_for_bridge(tx, amount, book, dry=True)
        return await agents.ask_owner(tx, agent, asked.payment)
    locked = await ledger.lock_for_bridge(tx, amount, book)
    terms = Terms(str(saga_id), Direction.WRAP, agent.did, asked.receiver_did, asked.amount, book.currency)
    return await _begun(tx, corridor, terms, asked.request, _Aside(held, locked.hold_id))


async def _set_aside(
    tx: Tx, settings: Settings, agent: Agent, corridor: Corridor, asked: RedemptionRequest
) -> Begun | agents.Approval:
    if (begun := await _recalled(tx, asked.request)) is not None:
        return begun
    await _require_open(tx, corridor)
    held = await agents.hold_budget(tx, agent, await _judged(tx, agent, asked), settings)
    if held is None:
        # The owner is not asked about what could not be set aside anyway.
        if dict(await wrapped_store.held_by(tx, agent.did)).get(asked.wrapped_currency, 0) < asked.amount:
            raise WrappedInsufficient
        return await agents.ask_owner(tx, agent, asked.payment)
    saga_id = uuid4()
    code, _, _ = asked.wrapped_currency.partition(".")
    terms = Terms(str(saga_id), Direction.REDEEM, agent.did, asked.receiver_did, asked.amount, code)
    if not await wrapped_store.set_aside(tx, wrapped_amount(terms, corridor, agent.did)):
        raise WrappedInsufficient
    return await _begun(tx, corridor, terms, asked.request, _Aside(held))


async def _judged(tx: Tx, agent: Agent, asked: RedemptionRequest) -> agents.Payment:
    """The payment as the policy of the owner judges it. A child that is ending pays nobody: it gives units back to an agent that wrapped them.

    Raises: ChildEnding.
    """
    if not await agents.ending_among(tx, [agent.did]):
        return asked.payment
    if not await wrapped_store.came_from(tx, agent.did, asked.receiver_did):
        raise agents.ChildEnding(
            "This child is ending; it redeems units only for agents that wrapped units for it."
        )
    return replace(asked.payment, is_bound=True)


async def _begun(
    tx: Tx, corridor: Corridor, terms: Terms, request: Repeatable | None, aside: _Aside
) -> Begun:
    move = sagas.begin(terms, await clock.seconds(tx))
    scope = None if request is None else request.scope
    await store.add(tx, store.NewSaga(move, corridor.key, corridor.frame, aside.hold_id, aside.held, scope))
    saga_id = UUID(terms.saga_id)
    if request is not None:
        await idempotency.remember(tx, request, msgspec.json.encode(_Kept(saga_id)).decode())
    return Begun(saga_id, replayed=False)


async def _require_open(tx: Tx, corridor: Corridor) -> None:
    if not (await share_pair(tx, corridor.key)).is_open or await has_doubt(tx, corridor.key):
        raise PeerRewound
