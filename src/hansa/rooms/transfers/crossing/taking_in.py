"""Take a message of a peer in: chain, row, event and units in one transaction.

The pair is locked first, so that one message of a peer is applied after the other; the engine of the ledger comes last. What
is refused changes nothing.
"""

from dataclasses import dataclass, field
from uuid import UUID, uuid4

from hansa.foundation.events import CrossRegistryTransferCompleted
from hansa.foundation.plumbing import idempotency, jobs
from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.money import Minor, format_amount, share
from hansa.rooms import agents, catalogue, federation, journal, ledger

from . import pair_chain, protocol, store
from .messages import Body, Code, Message, MessageType
from .pair_chain import Pair
from .payment_slot import PAYMENT_DECIDED, CrossingDecision, PaymentDecided
from .protocol import Findings
from .receiver import Terms
from .sender import Judgement
from .states import Money, MoneyKind, SentState, Step

DELIVERY = "transfers: messages to a peer"
TOMBSTONES_MAX = 100_000
BLOCKED = Code.AGENT_BLOCKED


@dataclass(frozen=True)
class Corridor:
    """The peer whose messages are taken in, and the book that they concern."""

    peer: federation.PeerRecord
    book: ledger.Book
    settings: Settings = field(repr=False)
    decided: PaymentDecided = field(repr=False)

    @classmethod
    def to(cls, peer: federation.PeerRecord, runtime: Runtime) -> "Corridor":
        """The corridor between this registry and a verified peer."""
        settings = runtime.settings
        return cls(peer, ledger.Book.of(settings), settings, PAYMENT_DECIDED.of(runtime))

    @property
    def key(self) -> str:
        """What names the peer in every row: its SPIFFE id."""
        assert self.peer.spiffe_id is not None
        return self.peer.spiffe_id

    @property
    def frame(self) -> str:
        """The other registry's ledger id."""
        assert self.peer.ledger_id is not None
        return self.peer.ledger_id

    def lies_in_namespaces(self, message: Message) -> bool:
        """Whether payer and payee belong to the registries that the message says."""
        assert message.body is not None
        own, other = message.body.receiver_did, message.body.sender_did
        if protocol.concerns_sent(message):
            own, other = other, own
        return namespace_of(own) == self.settings.issuer and namespace_of(other) == self.peer.did_namespace


def namespace_of(did: str) -> str | None:
    """The issuer part of a DID; None where it has none."""
    match did.split(":"):
        case ["did", _, issuer, _]:
            return issuer
    return None


async def take_in(tx: Tx, corridor: Corridor, message: Message) -> list[Message]:
    """Apply a message whose signature was verified; the answers bear the positions after it."""
    pair = await store.lock_pair(tx, corridor.key)
    if not pair_chain.is_plausible(pair, message):
        await federation.count_refusal(tx, corridor.peer.id, "message_implausible")
        return []
    recorded = await store.head_at(tx, corridor.key, message.seen)
    observed = pair_chain.observe(pair, message, recorded, uuid4().hex)
    if observed.pair != pair:
        await store.write_pair(tx, corridor.key, observed.pair)
    if observed.resend:
        await store.reopen(tx, corridor.key)
    answers = list(observed.messages)
    pair = observed.pair
    if message.body is not None and not pair_chain.is_outdated(pair, message):
        if not corridor.lies_in_namespaces(message):
            await federation.count_refusal(tx, corridor.peer.id, "foreign_namespace")
            return []
        step, pair = await _apply(tx, corridor, pair, message)
        answers += step.messages
    return [pair_chain.stamped(pair, one) for one in answers]


async def _apply(tx: Tx, corridor: Corridor, pair: Pair, message: Message) -> tuple[Step, Pair]:
    assert message.body is not None
    transfer_id = UUID(message.body.transfer_id)
    now = await store.now(tx)
    if protocol.concerns_sent(message):
        row = await store.sent_row(tx, transfer_id, lock=True)
        if row is not None and row["peer"] != corridor.key:
            return Step(), pair
        sent = None if row is None else store.sent_of(row)
        judgement = await _judgement(tx, corridor, pair, message)
        step = protocol.receive(sent, None, message, Findings(NO_TERMS, judgement), now)
        changed = step.sent is not None and step.sent != sent
    else:
        row = await store.received_row(tx, corridor.key, transfer_id)
        received = None if row is None else store.received_of_row(row)
        terms = await _terms(tx, corridor, pair, message, is_known=received is not None)
        step = protocol.receive(None, received, message, Findings(terms, Judgement()), now)
        changed = step.received is not None and step.received != received
    return step, (await write_step(tx, corridor, pair, step) if changed else pair)


NO_TERMS = Terms(0, 0, 0)
UNLIMITED = 2**63


async def write_step(tx: Tx, corridor: Corridor, pair: Pair, step: Step) -> Pair:
    """Write a step that changed something: row, chain, budget, event, and the units last."""
    row = step.sent or step.received
    assert row is not None
    transfer_id = UUID(row.body.transfer_id)
    if step.sent is not None:
        await store.write_sent(tx, corridor.key, corridor.frame, step.sent)
    if step.received is not None:
        await store.write_received(tx, corridor.key, corridor.frame, step.received)
    if step.entry is not None:
        pair = pair_chain.append(pair, step.entry, row.body.digest)
        await store.write_pair(tx, corridor.key, pair)
        await store.add_entry(tx, corridor.key, pair.own, step.entry, transfer_id)
    if step.sent is not None and not step.sent.is_closed:
        await jobs.enqueue(tx, DELIVERY, corridor.key)
    for money in step.money:
        await _carry_out(tx, corridor, money, None if step.sent is None else step.sent.code)
    if step.sent is not None and step.sent.state is SentState.COMMITTED and step.sent.receipt is not None:
        await ledger.confirm_out(tx, corridor.frame, transfer_id, corridor.book)
    return pair


async def _carry_out(tx: Tx, corridor: Corridor, money: Money, code: str | None) -> None:
    transfer_id = UUID(money.body.transfer_id)
    if money.kind is MoneyKind.ABORT_OUT:
        await _give_back(tx, transfer_id)
        await corridor.decided(tx, CrossingDecision(transfer_id, None, code), corridor.settings)
    if money.kind in COMPLETING:
        await federation.record_signal(tx, corridor.peer.id, "crossing")
        await journal.append(tx, _completed(corridor, money))
    await ledger.apply(tx, [step.order(corridor.book) for step in _orders(corridor, money)], corridor.book)
    if money.kind in {MoneyKind.COMMIT_OUT, MoneyKind.REPLAY_OUT}:
        left = await ledger.crossing(tx, corridor.frame, "out", transfer_id, corridor.book)
        assert left is not None, "what is committed was reserved"
        await corridor.decided(tx, CrossingDecision(transfer_id, left.tx_id, None), corridor.settings)


COMPLETING = frozenset({MoneyKind.COMMIT_OUT, MoneyKind.REPLAY_OUT, MoneyKind.COMMIT_IN, MoneyKind.REPLAY_IN})

LedgerStep = (
    ledger.ReserveOut
    | ledger.CommitOut
    | ledger.AbortOut
    | ledger.ReserveIn
    | ledger.CommitIn
    | ledger.AbortIn
)


def _orders(corridor: Corridor, money: Money) -> list[LedgerStep]:
    frame, transfer_id, body = corridor.frame, UUID(money.body.transfer_id), money.body
    reserve_out = ledger.ReserveOut(
        frame, transfer_id, body.sender_did, Minor(body.amount), body.receiver_did, body.memo
    )
    reserve_in = _reserve_in(corridor, money)
    commit_in = ledger.CommitIn(frame, transfer_id, body.memo)
    orders: dict[MoneyKind, list[LedgerStep]] = {
        MoneyKind.RESERVE_OUT: [reserve_out],
        MoneyKind.COMMIT_OUT: [ledger.CommitOut(frame, transfer_id)],
        MoneyKind.ABORT_OUT: [ledger.AbortOut(frame, transfer_id)],
        MoneyKind.REPLAY_OUT: [reserve_out, ledger.CommitOut(frame, transfer_id)],
        MoneyKind.RESERVE_IN: [reserve_in],
        MoneyKind.COMMIT_IN: [commit_in],
        MoneyKind.ABORT_IN: [ledger.AbortIn(frame, transfer_id)],
        MoneyKind.REPLAY_IN: [reserve_in, commit_in],
    }
    return orders[money.kind]


def _reserve_in(corridor: Corridor, money: Money) -> ledger.ReserveIn:
    limit = corridor.peer.net_in_limit
    return ledger.ReserveIn(
        corridor.frame,
        UUID(money.body.transfer_id),
        money.body.receiver_did,
        Minor(money.body.amount),
        Minor(money.fee),
        None if limit is None else Minor(limit),
        money.body.sender_did,
    )


async def _give_back(tx: Tx, transfer_id: UUID) -> None:
    """An ABORT frees the Idempotency-Key and gives the payer's budget back."""
    row = await store.sent_row(tx, transfer_id)
    assert row is not None
    if row["request_scope"] is not None:
        await idempotency.forget(tx, row["request_scope"])
    held = agents.HeldBudget(row["is_counted"], row["capability_id"])
    await agents.return_budget(
        tx, row["sender_did"], held, row["amount"], held_at=row["created_at"], is_unused=True
    )


def _completed(corridor: Corridor, money: Money) -> CrossRegistryTransferCompleted:
    body = money.body
    return CrossRegistryTransferCompleted(
        transfer_id=body.transfer_id,
        direction="out" if money.kind.value.endswith("_out") else "in",
        sender_did=body.sender_did,
        receiver_did=body.receiver_did,
        amount=format_amount(body.amount),
        amount_received=format_amount(money.net),
        fee=format_amount(money.fee),
        currency=body.currency,
        counterparty_frame=corridor.frame,
    )


async def _judgement(tx: Tx, corridor: Corridor, pair: Pair, message: Message) -> Judgement:
    """What is found before this registry decides; the payer is judged a last time before COMMIT."""
    body = message.body
    assert body is not None
    code, has_units = None, True
    if message.type is MessageType.PREPARED:
        code = await _why_not_committed(tx, corridor, body)
    if message.type is MessageType.RECEIPT and message.proof is not None:
        order = ledger.ReserveOut(
            corridor.frame, UUID(body.transfer_id), body.sender_did, Minor(body.amount), body.receiver_did
        )
        has_units = await _refusal_code(tx, corridor, order) is None
    return Judgement(code, pair.may_decide, has_units)


async def _terms(tx: Tx, corridor: Corridor, pair: Pair, message: Message, *, is_known: bool) -> Terms:
    """What is found before this registry prepares; a known transfer needs nothing but its row."""
    body = message.body
    assert body is not None
    if is_known and message.type is not MessageType.COMMIT:
        return NO_TERMS
    fee = share(body.amount, federation.BORDER_FEE)
    code, headroom, full = None, UNLIMITED, False
    if message.type is MessageType.PREPARE:
        code = await _why_not_prepared(tx, corridor, pair, message, fee)
    if message.type is MessageType.COMMIT and not is_known and not await _has_room(tx, corridor, message):
        headroom = 0
    if not is_known and (code is not None or message.type is MessageType.ABORT):
        full = await store.tombstones(tx, corridor.key, TOMBSTONES_MAX) >= TOMBSTONES_MAX
    return Terms(body.amount - fee, fee, headroom, code, full)


async def _why_not_prepared(
    tx: Tx, corridor: Corridor, pair: Pair, message: Message, fee: Minor
) -> str | None:
    body = message.body
    assert body is not None
    if (code := await _why_closed(tx, corridor)) is not None:
        return code
    if not pair.is_open or await store.has_doubt(tx, corridor.key):
        return Code.PEER_REWOUND
    if body.currency != corridor.book.currency:
        return Code.CURRENCY_DIFFERS
    if await federation.is_blocklisted(tx, body.receiver_did):
        return BLOCKED
    order = _reserve_in(corridor, Money(MoneyKind.RESERVE_IN, body, body.amount - fee, fee))
    return await _refusal_code(tx, corridor, order)


async def _has_room(tx: Tx, corridor: Corridor, message: Message) -> bool:
    body = message.body
    assert body is not None
    money = Money(MoneyKind.RESERVE_IN, body, message.net or 0, message.fee or 0)
    return await _refusal_code(tx, corridor, _reserve_in(corridor, money)) is None


async def _refusal_code(tx: Tx, corridor: Corridor, order: LedgerStep) -> str | None:
    """Why the ledger would refuse this order, as the code of a signed refusal."""
    try:
        await ledger.apply(tx, [order.order(corridor.book)], corridor.book, dry=True)
    except ledger.AccountSuspended:
        return BLOCKED
    except ledger.SystemAccountRefused:
        return Code.ACCOUNT_UNKNOWN
    except Refused as refusal:
        return refusal.code
    return None


async def _why_closed(tx: Tx, corridor: Corridor) -> str | None:
    try:
        await federation.require_may_cross(tx, corridor.settings, corridor.peer)
    except Refused as refusal:
        return refusal.code
    return None


async def _why_not_committed(tx: Tx, corridor: Corridor, body: Body) -> str | None:
    """Suspension and licences, judged a last time. A peer that was paused meanwhile ends nothing that is under way."""
    if await _is_blocked(tx, body.sender_did) or await is_withheld_abroad(tx, body.receiver_did):
        return BLOCKED
    code = await _why_closed(tx, corridor)
    return None if code == federation.PeerPaused.code else code


async def is_withheld_abroad(tx: Tx, did: str) -> bool:
    """Whether the home of an agent of another registry suspended or revoked it, as far as that is known here."""
    status = await catalogue.mirrored_status(tx, did)
    return status in {"suspended", "revoked"} or await federation.is_blocklisted(tx, did)


async def _is_blocked(tx: Tx, did: str) -> bool:
    statuses = await agents.statuses_of(tx, [did])
    return statuses.get(did) == "suspended" or await federation.is_blocklisted(tx, did)
