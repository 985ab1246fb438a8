"""The messages about settlements between this registry and its peers; never within a transaction.

The asking side repeats its request until the outcome is here; the deciding side repeats the outcome until its receipt is.
"""

import json
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace

from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import federation, transfers
from hansa.rooms.commerce.bonds import SLASH_BOND

from . import envelope, store
from .awarding import PresentedAward, take_award, take_paid
from .envelope import Confirmation, Message, Paid, SettlementRequest, SignedAward, SignedReceipt
from .inbox import Sent, take_outcome, take_receipt, take_request
from .opening import Request
from .records import Kept
from .settlement import Direction, Outcome, Receipt, Settlement

BATCH = 10

SIGNED_VERDICT: Slot[Callable[[Runtime, int], Awaitable[dict[str, Any]]]] = Slot(
    "commerce: the signed facts of a dispute"
)

Exchange = federation.mailbox.Exchange[Message]


async def _apply(tx: Tx, exchange: Exchange, messages: Sequence[Message]) -> Sequence[Message]:
    answers = [await _answer(tx, exchange, message) for message in messages]
    return [answer for answer in answers if answer is not None]


async def _answer(tx: Tx, exchange: Exchange, message: Message) -> Message | None:
    """Apply a message by the handler of its type; the answer bears positions that are never behind its statement."""
    match message:
        case SettlementRequest():
            return await _confirmation(tx, exchange, message)
        case SignedReceipt():
            await _apply_receipt(tx, exchange, message)
            return None
        case Confirmation():
            after = await take_outcome(tx, exchange.peer, message, exchange.runtime.settings)
            receipt = _receipt_of(after, message)
        case SignedAward():
            request = _request_of(exchange, message)
            after = await take_award(tx, request, message, exchange.runtime.settings)
            receipt = _receipt_of(after, message)
        case Paid():
            receipt = await _receipt_of_paid(tx, exchange, message)
    if receipt is None:
        return None
    return SignedReceipt(receipt, "", await transfers.positions_in_chain(tx, exchange.spiffe_id))


async def _confirmation(tx: Tx, exchange: Exchange, asked: SettlementRequest) -> Confirmation | None:
    """Open or find the settlement that a peer asks for; its state. Raises: MalformedMessage."""
    shown = None
    if asked.proof is not None:
        shown = envelope.own_outcome(asked.proof, await federation.mailbox.own_keys(tx))
        if not shown.claim.is_again(asked.claim):
            raise federation.mailbox.MalformedMessage("proof")
    request = Request(exchange.peer, asked.claim, asked.verdict, asked.text, shown, asked.payment)
    settlement_id = await take_request(tx, request, exchange.runtime.settings)
    if settlement_id is None:
        return None
    stored = await store.find(tx, settlement_id)
    assert stored is not None
    return await _stated(tx, stored)


async def _stated(tx: Tx, kept: Kept) -> Confirmation:
    positions = await transfers.positions_in_chain(tx, kept.peer)
    return Confirmation(declared_outcome(kept), positions, settlement_id=kept.settlement_id)


async def _apply_receipt(tx: Tx, exchange: Exchange, signed: SignedReceipt) -> None:
    """Apply the receipt of a statement of this registry: all those of one request are about settlements of one kind."""
    first = exchange.sent[0]
    match first:
        case Confirmation():
            sent = Sent(Direction.INCOMING, first.positions)
        case SignedAward():
            sent = Sent(Direction.AWARDED, first.positions)
        case Paid():
            sent = Sent(Direction.OWED, first.positions)
        case _:
            return
    await take_receipt(tx, exchange.peer, signed, sent)


def _receipt_of(after: Settlement | None, stated: Confirmation | SignedAward) -> Receipt | None:
    if after is None or not after.is_closed:
        return None
    if isinstance(stated, Confirmation):
        return Receipt(after.claim, after.status)
    return Receipt(stated.claim, after.status, after.reason, stated.award)


def _request_of(exchange: Exchange, award: SignedAward) -> Request:
    return Request(exchange.peer, award.claim, award.verdict, award.text, payment=award.award.payment)


async def _receipt_of_paid(tx: Tx, exchange: Exchange, paid: Paid) -> Receipt | None:
    """Record an award that the peer has paid, by the own signature that it shows. Raises: MalformedMessage."""
    signed = envelope.own_award(paid.proof, await federation.mailbox.own_keys(tx))
    if not paid.is_of(signed):
        raise federation.mailbox.MalformedMessage("proof")
    slash_bond = SLASH_BOND.of(exchange.runtime)
    return await take_paid(
        tx, PresentedAward(exchange.peer, signed, paid), slash_bond, exchange.runtime.settings
    )


def declared_outcome(kept: Kept) -> Outcome:
    """Return the outcome that this registry states about a claim of a peer, with the number of its transaction."""
    tx_id = kept.row["tx_id"]
    return replace(kept.settlement.outcome, tx_id=None if tx_id is None else f"tx-{tx_id}")


def _parties(message: Message) -> Sequence[str]:
    """Return the agents whose registries have to be known before the opening or the proof of a peer is judged."""
    match message:
        case SettlementRequest() | SignedAward() | Paid():
            return (message.claim.complainant_did, message.claim.defendant_did)
        case _:
            return ()


async def _sign(runtime: Runtime, messages: Sequence[Message], _: bool) -> list[str]:
    key = await federation.SIGNATORY.of(runtime).present_key()
    return [envelope.signed_text(key, message) for message in messages]


async def _due(
    runtime: Runtime, peer: federation.PeerRecord, *, directions: Sequence[Direction]
) -> Sequence[Message]:
    """The statements about settlements of one kind that the peer has not answered."""
    assert peer.spiffe_id is not None
    name = peer.spiffe_id
    for direction in directions:
        due = await runtime.database.transaction(partial(_take_due, peer=name, direction=direction))
        if due:
            return [await _statement(runtime, stored) for stored in due]
    return ()


async def _take_due(tx: Tx, *, peer: str, direction: Direction) -> list[Kept]:
    return await store.take_due(tx, peer, direction, BATCH)


async def _statement(runtime: Runtime, kept: Kept) -> Message:
    """The request for a slash, the outcome of one, an award, or one that was paid."""
    claim, direction = kept.settlement.claim, kept.settlement.direction
    if direction is Direction.INCOMING:
        return await runtime.database.query(lambda tx: _stated(tx, kept))
    if direction is Direction.OWED:
        positions = await runtime.database.query(lambda tx: transfers.positions_in_chain(tx, kept.peer))
        return Paid(claim, kept.settlement.award, kept.row["message"], positions)
    verdict = await _verdict_of(runtime, kept)
    if direction is Direction.OUTGOING:
        proof = kept.row["outcome"] if kept.settlement.is_closed else None
        return SettlementRequest(claim, verdict, proof, kept.settlement.payment)
    positions = await runtime.database.query(lambda tx: transfers.positions_in_chain(tx, kept.peer))
    award = replace(kept.settlement.award, tx_id=declared_outcome(kept).tx_id)
    return SignedAward(claim, award, verdict, positions)


async def _verdict_of(runtime: Runtime, kept: Kept) -> dict[str, Any]:
    """The signed facts of the dispute, kept when they were signed first."""
    known: str | None = kept.row["verdict"]
    if known is not None:
        read: dict[str, Any] = json.loads(known)
        return read
    verdict = await SIGNED_VERDICT.of(runtime)(runtime, kept.settlement.claim.dispute_id)
    text = json.dumps(verdict, ensure_ascii=False)
    await runtime.database.transaction(lambda tx: store.keep_verdict(tx, kept.settlement_id, text))
    return verdict


REQUESTS: federation.mailbox.Channel[Message] = federation.mailbox.Channel(
    "/api/v1/federation/disputes/slash-request",
    asks=envelope.read_request,
    answers=envelope.read_confirmation,
    parties=_parties,
    apply=_apply,
    sign=_sign,
)
STATEMENTS: federation.mailbox.Channel[Message] = federation.mailbox.Channel(
    "/api/v1/federation/disputes/slash-confirmation",
    asks=envelope.read_statement,
    answers=envelope.read_receipt,
    parties=_parties,
    apply=_apply,
    sign=_sign,
)
STATED = (Direction.INCOMING, Direction.AWARDED, Direction.OWED)

SETTLEMENTS_OUTBOX = federation.mailbox.Outbox(
    delivery="commerce: settlements with a peer",
    sweep="commerce: settlements that are due",
    has_peer_due=store.HAS_PEER_DUE,
    peers_due=store.peers_due,
    sendings=(
        federation.mailbox.Sending(REQUESTS, partial(_due, directions=(Direction.OUTGOING,))),
        federation.mailbox.Sending(STATEMENTS, partial(_due, directions=STATED)),
    ),
    at_once=2,
)
