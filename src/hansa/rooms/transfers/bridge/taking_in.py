"""Take a message of a peer about the bridge in: row, event and units in one transaction.

A decision about a saga of a peer is made under the lock of the pair with that peer, so that of two requests with one id the
second finds what the first recorded. An answer is applied under the lock of the own saga.
"""

from uuid import UUID

from hansa.foundation.events import UnitsUnwrapped, UnitsWrapped
from hansa.foundation.plumbing import idempotency
from hansa.foundation.plumbing.database import Tx
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.money import Minor, format_amount
from hansa.rooms import agents, federation, journal, ledger
from hansa.rooms.transfers.crossing.corridor import Corridor
from hansa.rooms.transfers.crossing.store import lock_pair

from . import sagas, store, wrapped_store
from .messages import Code, Direction, Message, MessageType, Terms
from .sagas import Money
from .wrapped_store import WrappedAmount

TOMBSTONES_MAX = 100_000


async def take_in(tx: Tx, corridor: Corridor, message: Message) -> Message | None:
    """Apply a message whose signature was verified; the answer, if there is one."""
    if not await _is_between(tx, corridor, message):
        await federation.count_refusal(tx, corridor.peer.id, "foreign_namespace")
        return None
    if message.is_answer:
        await _apply_answer(tx, corridor, message)
        return None
    return await _decide(tx, corridor, message)


def wrapped_currency_of(terms: Terms, home_trust_domain: str) -> str:
    """The name of units of another registry: `<CODE>.<home trust domain>`."""
    return f"{terms.currency}.{home_trust_domain}"


def wrapped_amount(terms: Terms, corridor: Corridor, did: str) -> WrappedAmount:
    """The wrapped units of the peer's currency that a saga moves for this agent here."""
    name = wrapped_currency_of(terms, corridor.peer.trust_domain)
    return WrappedAmount(name, corridor.key, did, terms.amount, UUID(terms.saga_id))


async def _is_between(tx: Tx, corridor: Corridor, message: Message) -> bool:
    """Whether payer and payee belong to the registries that the message says."""
    own, other = message.terms.receiver_did, message.terms.sender_did
    if message.is_answer:
        own, other = other, own
    elsewhere = await federation.held_elsewhere(tx, [own, other]) if corridor.is_within_frame else {}
    return corridor.is_between(own, other, elsewhere)


async def _apply_answer(tx: Tx, corridor: Corridor, message: Message) -> None:
    kept = await store.find(tx, UUID(message.terms.saga_id), lock=True)
    if kept is None or kept.peer != corridor.key:
        return
    move = sagas.on_answer(kept.saga, message)
    if move.money is None:
        return
    await store.write(tx, move)
    await _move_at_source(tx, corridor, kept, move.money)


async def _move_at_source(tx: Tx, corridor: Corridor, kept: store.KeptSaga, money: Money) -> None:
    terms, amount = kept.saga.terms, Minor(kept.saga.terms.amount)
    match money:
        case Money.KEEP:
            assert kept.hold_id is not None
            await journal.append(tx, _completed(corridor, terms, home=corridor.book.frame))
            await ledger.keep_locked(tx, kept.hold_id, amount, corridor.book)
        case Money.END_BURN:
            await wrapped_store.end_burn(tx, wrapped_amount(terms, corridor, terms.sender_did))
            await journal.append(tx, _completed(corridor, terms, home=corridor.frame))
        case Money.RETURN:
            assert kept.hold_id is not None
            await _free_request(tx, kept)
            await agents.return_budget(
                tx, terms.sender_did, kept.held, amount, held_at=kept.created_at, is_unused=True
            )
            await ledger.return_locked(tx, kept.hold_id, corridor.book)
        case _:
            await _free_request(tx, kept)
            await wrapped_store.give_back(tx, wrapped_amount(terms, corridor, terms.sender_did))


async def _free_request(tx: Tx, kept: store.KeptSaga) -> None:
    if kept.request_scope is not None:
        await idempotency.forget(tx, kept.request_scope)


async def _decide(tx: Tx, corridor: Corridor, message: Message) -> Message | None:
    pair = await lock_pair(tx, corridor.key)
    saga_id = UUID(message.terms.saga_id)
    known = await store.decision(tx, corridor.key, saga_id)
    refusal = None
    if known is None and message.type is not MessageType.CANCEL:
        refusal = Code.PEER_REWOUND if not pair.is_open else await _why_refused(tx, corridor, message.terms)
    decided = sagas.decide(known, message, refusal)
    if not decided.is_new:
        return decided.answer
    assert decided.decision is not None
    assert message.raw is not None
    if not decided.decision.is_done and await _is_full(tx, corridor):
        # Without a tombstone a late request could still succeed, so that nothing is answered.
        await federation.count_refusal(tx, corridor.peer.id, "bridge_tombstones")
        return None
    await store.add_decision(tx, corridor.key, corridor.frame, decided.decision, message.raw)
    if decided.money is not None:
        await _carry_out(tx, corridor, message.terms, decided.money)
    return decided.answer


async def _is_full(tx: Tx, corridor: Corridor) -> bool:
    return await store.tombstones(tx, corridor.key, TOMBSTONES_MAX) >= TOMBSTONES_MAX


async def _carry_out(tx: Tx, corridor: Corridor, terms: Terms, money: Money) -> None:
    if money is Money.MINT:
        await wrapped_store.mint(tx, wrapped_amount(terms, corridor, terms.receiver_did))
        await journal.append(tx, _completed(corridor, terms, home=corridor.frame))
        return
    await journal.append(tx, _completed(corridor, terms, home=corridor.book.frame))
    amount, saga_id = Minor(terms.amount), UUID(terms.saga_id)
    unlocked = ledger.BridgeAmount(corridor.frame, saga_id, terms.receiver_did, amount)
    await ledger.unlock(tx, unlocked, corridor.book)


async def _why_refused(tx: Tx, corridor: Corridor, terms: Terms) -> str | None:
    """Why this registry does not carry a first request out, as the code of a signed refusal."""
    settings, is_wrap = corridor.settings, terms.direction is Direction.WRAP
    if is_wrap and not federation.is_mainframe(settings):
        return Code.FRAME_ONLY
    try:
        await federation.require_may_cross(tx, settings, corridor.peer)
    except Refused as refusal:
        return refusal.code
    home = corridor.peer.settlement_currency if is_wrap else corridor.book.currency
    if terms.currency != home:
        return Code.CURRENCY_DIFFERS
    found = await agents.lock_owner_and_status(tx, terms.receiver_did)
    status = None if found is None else found[1]
    if status == "suspended" or await federation.is_blocklisted(tx, terms.receiver_did):
        return Code.AGENT_BLOCKED
    if status != "active":
        return Code.ACCOUNT_UNKNOWN
    return await (_why_not_minted if is_wrap else _why_not_unlocked)(tx, corridor, terms)


async def _why_not_minted(tx: Tx, corridor: Corridor, terms: Terms) -> str | None:
    name = wrapped_currency_of(terms, corridor.peer.trust_domain)
    has_room = await wrapped_store.has_room(tx, name, corridor.key, terms.amount)
    return None if has_room else Code.SUPPLY_EXHAUSTED


async def _why_not_unlocked(tx: Tx, corridor: Corridor, terms: Terms) -> str | None:
    are_locked = await ledger.are_locked(tx, Minor(terms.amount), corridor.frame, corridor.book)
    return None if are_locked else Code.INSUFFICIENT_LOCK


def _completed(corridor: Corridor, terms: Terms, *, home: str) -> UnitsWrapped | UnitsUnwrapped:
    is_own = home == corridor.book.frame
    trust_domain = corridor.settings.trust_domain if is_own else corridor.peer.trust_domain
    event = UnitsWrapped if terms.direction is Direction.WRAP else UnitsUnwrapped
    return event(
        saga_id=terms.saga_id,
        sender_did=terms.sender_did,
        receiver_did=terms.receiver_did,
        amount=format_amount(terms.amount),
        currency=terms.currency,
        wrapped_currency=wrapped_currency_of(terms, trust_domain),
        home_frame=home,
        holding_frame=corridor.frame if is_own else corridor.book.frame,
    )
