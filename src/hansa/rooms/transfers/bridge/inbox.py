"""Apply a peer's message about the bridge in one transaction: chain, row, event and units.

Every message is applied under the lock of the pair with that peer, so that of two requests with one id the second finds the
record of the first; an answer also under the lock of the own saga.
"""

from uuid import UUID

import msgspec
from msgspec.structs import replace

from hansa.foundation.events import UnitsUnwrapped, UnitsWrapped
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web import idempotency
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.money import Minor, format_amount
from hansa.rooms import agents, federation, journal, ledger
from hansa.rooms.transfers.crossing import pair_chain
from hansa.rooms.transfers.crossing.corridor import Corridor
from hansa.rooms.transfers.crossing.pair_chain import Pair
from hansa.rooms.transfers.crossing.sent_store import has_doubt
from hansa.rooms.transfers.crossing.store import lock_pair

from . import pairing, sagas, store, wrapped_store
from .envelope import proved
from .messages import REQUEST, Code, Direction, Message, Terms
from .sagas import Inputs, Money, Saga, State
from .wrapped_store import WrappedAmount

TOMBSTONES_MAX = 100_000
FORGOTTEN = frozenset({Money.RELOCK, Money.BURN_AGAIN})


async def apply_message(tx: Tx, corridor: Corridor, message: Message) -> Message | None:
    """Apply a message whose signature was verified; the answer, if there is one, bears the positions after it.

    Raises: MalformedMessage where its proof is none.
    """
    if not await _is_between(tx, corridor, message):
        await federation.count_refusal(tx, corridor.peer.id, "foreign_namespace")
        return None
    proven = message if message.claim is None else proved(message, await federation.mailbox.own_keys(tx))
    pair = await pairing.observe(tx, corridor, await lock_pair(tx, corridor.key), proven)
    if pair is None:
        return None
    taken = await (_apply_answer if proven.is_answer else _decide)(tx, corridor, pair, proven)
    return None if taken.answer is None else pairing.stamped(taken.pair, taken.answer)


class _Taken(msgspec.Struct, frozen=True):
    """Result of a message: the pair after it, and the answer."""

    pair: Pair
    answer: Message | None = None


def wrapped_currency_of(terms: Terms, home_trust_domain: str) -> str:
    """The name of units of another registry: `<CODE>.<home trust domain>`."""
    return f"{terms.currency}.{home_trust_domain}"


def wrapped_amount(terms: Terms, corridor: Corridor, did: str) -> WrappedAmount:
    """The wrapped units of the peer's currency that a saga moves for this agent here."""
    name = wrapped_currency_of(terms, corridor.peer.trust_domain)
    return WrappedAmount(name, corridor.key, did, terms.amount, UUID(terms.saga_id))


async def _is_between(tx: Tx, corridor: Corridor, message: Message) -> bool:
    """Return whether payer and payee belong to the registries that the message says."""
    own, other = message.terms.receiver_did, message.terms.sender_did
    if message.is_answer:
        own, other = other, own
    elsewhere = await federation.held_elsewhere(tx, [own, other]) if corridor.is_within_frame else {}
    return corridor.is_between(own, other, elsewhere)


async def _apply_answer(tx: Tx, corridor: Corridor, pair: Pair, message: Message) -> _Taken:
    terms = message.terms
    stored = await store.find(tx, UUID(terms.saga_id), lock=True)
    if stored is not None and stored.peer != corridor.key:
        return _Taken(pair)
    saga = None if stored is None else stored.saga
    inputs = Inputs(
        has_units=await _has_units_again(tx, corridor, saga, message),
        is_current=pair_chain.is_current(pair, message.own),
        is_repeated=message.has_positions,
    )
    move = sagas.on_answer(saga, message, inputs)
    receipt = sagas.receipt_of(move, message)
    if move.saga is None or move.saga == saga:
        return _Taken(pair, receipt)
    if move.entry is not None:
        is_done = move.saga.state is State.COMPLETED
        pair = await pairing.record(tx, corridor.key, pair, move.entry, terms, is_done=is_done)
    if stored is None:
        await store.add_forgotten(tx, corridor.key, corridor.frame, move)
    else:
        await store.write(tx, move)
    if move.money in FORGOTTEN:
        await _move_again(tx, corridor, terms)
    elif move.money is not None:
        assert stored is not None
        await _move_at_source(tx, corridor, stored, move.money)
    return _Taken(pair, receipt)


async def _has_units_again(tx: Tx, corridor: Corridor, saga: Saga | None, message: Message) -> bool:
    """Return whether a saga that this registry forgot can be made up for now; True where it is not forgotten."""
    is_known = saga is not None and saga.state is not State.IN_DOUBT and not saga.is_abandoned
    if is_known or not message.shows_request:
        return True
    terms = message.terms
    if terms.direction is Direction.REDEEM:
        return await wrapped_store.holds(tx, wrapped_amount(terms, corridor, terms.sender_did))
    return await _payer_again(tx, corridor, terms.sender_did, terms) is not None


async def _payer_again(tx: Tx, corridor: Corridor, payer: str, terms: Terms) -> str | None:
    """The account whose units are locked again: that of the agent, or that for shortfalls; None where neither has as many."""
    accounts, amount = (payer, corridor.book.shortfall), Minor(terms.amount)
    for account in accounts:
        again = ledger.BridgeAmount(corridor.frame, UUID(terms.saga_id), account, amount)
        if await ledger.can_lock_again(tx, again, corridor.book):
            return account
    return None


async def _lock_again(tx: Tx, corridor: Corridor, payer: str, terms: Terms) -> None:
    account = await _payer_again(tx, corridor, payer, terms)
    assert account is not None
    again = ledger.BridgeAmount(corridor.frame, UUID(terms.saga_id), account, Minor(terms.amount))
    await journal.append(tx, completed(UnitsWrapped, corridor, terms, home=corridor.book.frame))
    await wrapped_store.lock(tx, corridor.key, terms.holder, terms.amount)
    await ledger.lock_again(tx, again, corridor.book)


async def _move_again(tx: Tx, corridor: Corridor, terms: Terms) -> None:
    if terms.direction is Direction.WRAP:
        await _lock_again(tx, corridor, terms.sender_did, terms)
        return
    burnt = wrapped_amount(terms, corridor, terms.sender_did)
    assert await wrapped_store.set_aside(tx, burnt)
    await wrapped_store.end_burn(tx, burnt)
    await journal.append(tx, completed(UnitsUnwrapped, corridor, terms, home=corridor.frame))


async def end_with(tx: Tx, corridor: Corridor) -> None:
    """End every saga with the peer, whose pair is locked: the units set aside for it are given back.

    Decisions that the peer has not confirmed wait in case that it comes back, like those of transfers.
    """
    for stored in await store.lock_open(tx, corridor.key):
        move = sagas.on_abandon(stored.saga)
        assert move.saga is not None
        assert move.entry is not None
        await store.write(tx, move)
        pair = await lock_pair(tx, corridor.key)
        await pairing.record(tx, corridor.key, pair, move.entry, move.saga.terms, is_done=False)
        if move.money is not None:
            await _move_at_source(tx, corridor, stored, move.money)
    await store.end_doubts(tx, corridor.key)


async def _move_at_source(tx: Tx, corridor: Corridor, kept: store.StoredSaga, money: Money) -> None:
    terms, amount = kept.saga.terms, Minor(kept.saga.terms.amount)
    match money:
        case Money.KEEP:
            assert kept.hold_id is not None
            await journal.append(tx, completed(UnitsWrapped, corridor, terms, home=corridor.book.frame))
            await wrapped_store.lock(tx, corridor.key, terms.holder, terms.amount)
            await ledger.keep_locked(tx, kept.hold_id, amount, corridor.book)
        case Money.END_BURN:
            await wrapped_store.end_burn(tx, wrapped_amount(terms, corridor, terms.sender_did))
            await journal.append(tx, completed(UnitsUnwrapped, corridor, terms, home=corridor.frame))
        case Money.RETURN:
            assert kept.hold_id is not None
            await _free_request(tx, kept)
            await _return_budget(tx, kept)
            await ledger.return_locked(tx, kept.hold_id, corridor.book)
        case _:
            await _free_request(tx, kept)
            await _return_budget(tx, kept)
            await wrapped_store.give_back(tx, wrapped_amount(terms, corridor, terms.sender_did))


async def _return_budget(tx: Tx, kept: store.StoredSaga) -> None:
    terms, amount = kept.saga.terms, Minor(kept.saga.terms.amount)
    await agents.return_budget(
        tx, terms.sender_did, kept.held, amount, held_at=kept.created_at, is_unused=True
    )


async def _free_request(tx: Tx, kept: store.StoredSaga) -> None:
    if kept.request_scope is not None:
        await idempotency.forget(tx, kept.request_scope)


async def _decide(tx: Tx, corridor: Corridor, pair: Pair, message: Message) -> _Taken:
    terms = message.terms
    known = await store.decision(tx, corridor.key, UUID(terms.saga_id))
    money = sagas.signed_money(known, message)
    refusal = None
    if known is None and money is None and message.type is REQUEST[terms.direction]:
        refusal = await _why_refused(tx, corridor, pair, terms)
    has_units = money is None or await _has_units_for(tx, corridor, terms, money)
    is_current = pair_chain.is_current(pair, message.own)
    decided = sagas.decide(known, message, Inputs(refusal, pair.may_decide, has_units, is_current))
    if not decided.is_new:
        return _Taken(pair, decided.answer)
    assert decided.decision is not None
    if known is None and not decided.decision.is_done and await _is_full(tx, corridor):
        # Without a tombstone a late request could still succeed, so that nothing is answered.
        await federation.count_refusal(tx, corridor.peer.id, "bridge_tombstones")
        return _Taken(pair)
    if decided.entry is None:
        await store.close_decision(tx, corridor.key, decided.decision)
        return _Taken(pair, decided.answer)
    # A peer without positions confirms nothing.
    written = replace(decided.decision, is_closed=not message.has_positions)
    await store.write_decision(tx, corridor.key, corridor.frame, written)
    is_done = written.is_done
    pair = await pairing.record(tx, corridor.key, pair, decided.entry, terms, is_done=is_done)
    if decided.money is not None:
        await _carry_out(tx, corridor, terms, decided.money)
    return _Taken(pair, decided.answer)


async def _has_units_for(tx: Tx, corridor: Corridor, terms: Terms, money: Money) -> bool:
    """Return whether a statement that this registry signed before a restore can be carried out, or taken back, now."""
    match money:
        case Money.MINT:
            return await _why_not_minted(tx, corridor, terms) is None
        case Money.UNLOCK:
            return await _why_not_unlocked(tx, corridor, terms) is None
        case Money.TAKE_BACK_MINTED:
            return await wrapped_store.holds(tx, wrapped_amount(terms, corridor, terms.receiver_did))
        case _:
            return await _payer_again(tx, corridor, terms.receiver_did, terms) is not None


async def _is_full(tx: Tx, corridor: Corridor) -> bool:
    return await store.tombstones(tx, corridor.key, TOMBSTONES_MAX) >= TOMBSTONES_MAX


async def _carry_out(tx: Tx, corridor: Corridor, terms: Terms, money: Money) -> None:
    wrapped = wrapped_amount(terms, corridor, terms.receiver_did)
    match money:
        case Money.MINT:
            await wrapped_store.mint(tx, wrapped)
            await journal.append(tx, completed(UnitsWrapped, corridor, terms, home=corridor.frame))
        case Money.TAKE_BACK_MINTED:
            await wrapped_store.take_back(tx, wrapped)
            await journal.append(tx, completed(UnitsUnwrapped, corridor, terms, home=corridor.frame))
        case Money.TAKE_BACK_UNLOCKED:
            await _lock_again(tx, corridor, terms.receiver_did, terms)
        case _:
            await journal.append(tx, completed(UnitsUnwrapped, corridor, terms, home=corridor.book.frame))
            await wrapped_store.unlock(tx, corridor.key, terms.holder, terms.amount)
            amount, saga_id = Minor(terms.amount), UUID(terms.saga_id)
            unlocked = ledger.BridgeAmount(corridor.frame, saga_id, terms.receiver_did, amount)
            await ledger.unlock(tx, unlocked, corridor.book)


async def _why_refused(tx: Tx, corridor: Corridor, pair: Pair, terms: Terms) -> str | None:
    """Why this registry does not carry a first request out, as the code of a signed refusal."""
    if not pair.is_open or await has_doubt(tx, corridor.key):
        return Code.PEER_REWOUND
    return await _why_not_carried_out(tx, corridor, terms)


async def _why_not_carried_out(tx: Tx, corridor: Corridor, terms: Terms) -> str | None:
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
    status = await agents.lock_status(tx, terms.receiver_did)
    if status == "suspended" or await federation.is_blocklisted(tx, terms.receiver_did):
        return Code.AGENT_BLOCKED
    # A child that is ending could not redeem units that are wrapped for it now.
    if status != "active" or (is_wrap and await agents.ending_among(tx, [terms.receiver_did])):
        return Code.ACCOUNT_UNKNOWN
    return await (_why_not_minted if is_wrap else _why_not_unlocked)(tx, corridor, terms)


async def _why_not_minted(tx: Tx, corridor: Corridor, terms: Terms) -> str | None:
    name = wrapped_currency_of(terms, corridor.peer.trust_domain)
    has_room = await wrapped_store.has_room(tx, name, corridor.key, terms.amount)
    return None if has_room else Code.SUPPLY_EXHAUSTED


async def _why_not_unlocked(tx: Tx, corridor: Corridor, terms: Terms) -> str | None:
    are_locked = await wrapped_store.are_locked(tx, corridor.key, terms.holder, terms.amount)
    return None if are_locked else Code.INSUFFICIENT_LOCK


def completed(
    event: type[UnitsWrapped | UnitsUnwrapped], corridor: Corridor, terms: Terms, *, home: str
) -> UnitsWrapped | UnitsUnwrapped:
    """The event of units that are wrapped from now on, or not any more; `home` is the ledger id of their registry."""
    is_own = home == corridor.book.frame
    trust_domain = corridor.settings.trust_domain if is_own else corridor.peer.trust_domain
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
