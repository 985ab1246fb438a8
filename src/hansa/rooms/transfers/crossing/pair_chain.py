"""Chain of decisions and receipts that each registry keeps for each peer, and the conclusions from the two chains.

- Every message bears the author's position and the position that it has seen of the other's chain.
- A lower number proves nothing, messages may be late: it is asked with a nonce. A fresh answer that is lower, or another
  hash at the same place, proves that the peer was restored from an old state: crossing stops in both directions.
- A message about the heads shows the statement of the addressee in which its author saw the addressee's chain.
- A peer's statement about the own chain counts only with the own signature at that place; else it is forged: its message is
  ignored and the peer is asked about the heads.
- A registry that learns so that its own chain was longer begins a new epoch, and decides nothing until the peer answered.
- Crossing resumes when each has signed the other's position in the new epoch.
"""

import hashlib
from enum import StrEnum

import msgspec
from msgspec.structs import replace

from .messages import NOWHERE, Message, MessageType, Position, positions_at

EPOCHS_AHEAD_MAX = 1_000_000
EPOCHS_APART_MAX = 10_000
"""How far the number of a new epoch may be above the last one that is known here."""


BEGIN = Position(1)


class Crossing(StrEnum):
    """State of crossing with a peer: open, or stopped until both chains agree."""

    OPEN = "open"
    PEER_REWOUND = "peer_rewound"
    RESUMING = "resuming"
    """The peer began a new epoch."""
    AWAITING_HEADS = "awaiting_heads"
    """This registry was restored, or may have been; what it decided before is not known yet."""


HEADS = frozenset({MessageType.HEADS, MessageType.HEADS_STATE})


class Pair(msgspec.Struct, frozen=True):
    """The two chains as one registry knows them. `floor` is the last known position of the peer when `nonce` was made.

    `shown` is the statement of the peer that bears `seen`; None where the peer does not name the pair in its messages.
    """

    own: Position = BEGIN
    seen: Position = NOWHERE
    crossing: Crossing = Crossing.OPEN
    nonce: str | None = None
    floor: Position = NOWHERE
    shown: Message | None = None
    peer: str = ""
    """SPIFFE id."""

    @property
    def is_open(self) -> bool:
        """Return whether new transfers cross."""
        return self.crossing is Crossing.OPEN

    @property
    def may_decide(self) -> bool:
        """Return whether this registry knows all that it decided."""
        return self.crossing is not Crossing.AWAITING_HEADS

    @property
    def asks(self) -> bool:
        """Return whether an answer about the heads is awaited."""
        return self.nonce is not None


class Observed(msgspec.Struct, frozen=True):
    """Result of the positions of a message.

    `resend`: one of the two began a new epoch. Every decision and receipt is sent until it is answered in this epoch:
    a registry that did not notice its restore cannot list the ones that it lacks.
    `is_forged`: the message makes a statement about the own chain that nothing proves; its content does not count.
    """

    pair: Pair
    messages: tuple[Message, ...] = ()
    resend: bool = False
    is_forged: bool = False


def append(pair: Pair, entry: str, digest: str) -> Pair:
    """The own chain grows by a decision or a receipt."""
    seq = pair.own.seq + 1
    text = f"{pair.own.head}\n{pair.own.epoch}\n{seq}\n{entry}\n{digest}"
    head = hashlib.sha256(text.encode()).hexdigest()
    return replace(pair, own=Position(pair.own.epoch, seq, head))


def begin_epoch(pair: Pair, nonce: str, above: int = 0) -> Pair:
    """After a restore: nothing is decided until the peer answered.

    The number is drawn by the nonce. After two restores of one backup the next number would be that of the epoch that the second
    restore lost, and messages about the lost one would count in the new one.
    """
    drawn = int.from_bytes(hashlib.sha256(nonce.encode()).digest()[:8]) % EPOCHS_APART_MAX
    own = Position(max(pair.own.epoch, above) + 1 + drawn)
    return replace(pair, own=own, crossing=Crossing.AWAITING_HEADS, nonce=nonce, floor=pair.seen)


def stamped(pair: Pair, message: Message) -> Message:
    """The message as it is signed and sent now."""
    proof = pair.shown if message.type in HEADS else message.proof
    return replace(message, own=pair.own, seen=pair.seen, to=pair.peer, proof=proof)


def ask(pair: Pair, nonce: str) -> Pair:
    """Ask about the heads, as is done at each start and from time to time, so that a quiet pair notices a rewind."""
    return pair if pair.asks else replace(pair, nonce=nonce, floor=pair.seen)


def await_heads(pair: Pair, nonce: str) -> Pair:
    """Decide nothing until the peer said how far it has seen this chain: it is not known whether the database is the last one."""
    if not pair.is_open:
        return pair
    return replace(pair, crossing=Crossing.AWAITING_HEADS, nonce=nonce, floor=pair.seen)


def questions(pair: Pair) -> tuple[Message, ...]:
    """Return the questions to the peer until it answers about the heads."""
    return (Message(MessageType.HEADS, nonce=pair.nonce),) if pair.nonce is not None else ()


def is_plausible(pair: Pair, message: Message) -> bool:
    """Return whether the epochs of a message are near enough to those known to be more than a disturbance."""
    highest = max(pair.own.epoch, pair.seen.epoch) + EPOCHS_AHEAD_MAX
    return max(message.own.epoch, message.seen.epoch) <= highest


def is_outdated(pair: Pair, message: Message) -> bool:
    """Return whether this is a receipt whose author may have lost the confirmed decision since; `pair`: the state after it was observed."""
    return message.type is MessageType.RECEIPT and may_be_lost(pair, message.own, message.seen)


def may_be_lost(pair: Pair, own: Position, seen: Position) -> bool:
    """Return whether a restore may have ended the state in which an author with these positions signed.

    It did not know of the present epoch of either side yet, or another entry of its chain was seen at this place: one of the two is
    lost. `pair` is the state after the message was observed.
    """
    is_early = own.epoch < pair.seen.epoch or max(seen.epoch, BEGIN.epoch) < pair.own.epoch
    is_forked = (own.epoch, own.seq) == (pair.seen.epoch, pair.seen.seq) and own.head != pair.seen.head
    return is_early or is_forked


def is_current(pair: Pair, own: Position) -> bool:
    """Return whether nothing later was seen of the author's chain; `pair`: the state after the message was observed.

    A late message may be of a fork that a restore ended, without an entry to compare. A peer that states no positions is taken at its word.
    """
    return own in {NOWHERE, pair.seen}


def contradicts(pair: Pair, message: Message, recorded: str | None) -> bool:
    """Return whether the author has seen an entry of the own chain that is not recorded here."""
    seen, own = message.seen, pair.own
    is_another = seen.epoch == own.epoch and recorded is not None and recorded != seen.head
    return is_another or seen.is_after(own)


def observe(pair: Pair, message: Message, recorded: str | None, fresh_nonce: str) -> Observed:
    """Judge the positions of a message, before its content.

    `recorded` is the own hash at the place that the peer has seen, None where none is recorded. The proof of a message about the
    heads is one that the caller verified: a statement of this registry for this peer.
    """
    if contradicts(pair, message, recorded):
        if not _is_proved(message):
            return _forged(pair, message, fresh_nonce)
        renewed = begin_epoch(pair, fresh_nonce, above=message.seen.epoch)
        observed = Observed(renewed, questions(renewed), resend=True)
    else:
        observed = Observed(pair)
    observed = _judge_peer(observed, message, fresh_nonce)
    if message.type is MessageType.HEADS:
        answer = Message(MessageType.HEADS_STATE, nonce=message.nonce)
        observed = replace(observed, messages=(*observed.messages, answer))
    if message.type is MessageType.HEADS_STATE:
        observed = _judge_answer(observed, message, recorded)
    return observed


def _is_proved(message: Message) -> bool:
    """Return whether the author shows the own signature at the place that it has seen."""
    return message.type in HEADS and message.proof is not None and message.proof.own == message.seen


def _forged(pair: Pair, message: Message, fresh_nonce: str) -> Observed:
    """Ask about the heads: a peer that has seen entries that a restore lost shows its proof."""
    if message.type is MessageType.HEADS_STATE:
        is_answered = pair.is_open and message.nonce == pair.nonce
        return Observed(replace(pair, nonce=None) if is_answered else pair, is_forged=True)
    if pair.asks:
        return Observed(pair, is_forged=True)
    asking = ask(pair, fresh_nonce)
    return Observed(asking, questions(asking), is_forged=True)


def _judge_peer(observed: Observed, message: Message, fresh_nonce: str) -> Observed:
    pair, shown = observed.pair, message.own
    if shown == pair.seen:
        return replace(observed, pair=_seen(pair, message)) if pair.shown is None else observed
    if shown.epoch < pair.seen.epoch:
        return observed
    if shown.is_after(pair.seen) and message.can_be_shown:
        return _later(observed, message, fresh_nonce)
    if not shown.is_after(pair.seen) and _proves_rewind(pair, message):
        return _rewound(observed, fresh_nonce)
    return _asking(observed, fresh_nonce)


def _later(observed: Observed, message: Message, fresh_nonce: str) -> Observed:
    pair = observed.pair
    if message.own.epoch > pair.seen.epoch:
        return _new_epoch(observed, message, fresh_nonce)
    return replace(observed, pair=_seen(pair, message))


def _seen(pair: Pair, message: Message) -> Pair:
    """The chain of the peer has come to this place, which its statement proves to it."""
    shown = positions_at(message.own, NOWHERE, message.to, message.raw)
    is_named = message.to is not None and message.can_be_shown
    return replace(pair, seen=message.own, shown=shown if is_named else None)


def _asking(observed: Observed, fresh_nonce: str) -> Observed:
    if observed.pair.asks:
        return observed
    asking = ask(observed.pair, fresh_nonce)
    return replace(observed, pair=asking, messages=(*observed.messages, *questions(asking)))


def _proves_rewind(pair: Pair, message: Message) -> bool:
    """Return whether another hash is at the same place, or a lower place in an answer that is fresher than the last one seen."""
    if message.own.seq == pair.seen.seq:
        return message.own.head != pair.seen.head
    is_fresh = message.type is MessageType.HEADS_STATE and pair.asks and message.nonce == pair.nonce
    return is_fresh and pair.floor.is_after(message.own)


def _new_epoch(observed: Observed, message: Message, fresh_nonce: str) -> Observed:
    pair = _seen(observed.pair, message)
    if observed.pair.seen.epoch == 0:
        return replace(observed, pair=pair)
    crossing = pair.crossing if pair.crossing is Crossing.AWAITING_HEADS else Crossing.RESUMING
    pair = replace(pair, crossing=crossing, nonce=fresh_nonce, floor=message.own)
    return Observed(pair, (*observed.messages, *questions(pair)), resend=True)


def _rewound(observed: Observed, fresh_nonce: str) -> Observed:
    pair = observed.pair
    if pair.crossing is not Crossing.OPEN and pair.crossing is not Crossing.RESUMING:
        return observed
    stopped = replace(pair, crossing=Crossing.PEER_REWOUND, nonce=fresh_nonce, floor=pair.seen)
    # The question bears the position that the peer lost: the peer then begins a new epoch.
    return replace(observed, pair=stopped, messages=(*observed.messages, *questions(stopped)))


def _judge_answer(observed: Observed, message: Message, recorded: str | None) -> Observed:
    pair = observed.pair
    if not pair.asks or message.nonce != pair.nonce:
        return observed
    if pair.crossing is Crossing.OPEN:
        return replace(observed, pair=replace(pair, nonce=None))
    # A peer that was restored once more, to the chain that was seen, has lost nothing.
    if pair.crossing is Crossing.PEER_REWOUND and message.own != pair.seen:
        return observed
    signed = message.seen == pair.own or (
        message.seen.epoch == pair.own.epoch and recorded == message.seen.head
    )
    if not signed or message.own.epoch != pair.seen.epoch:
        return observed
    return replace(observed, pair=replace(pair, crossing=Crossing.OPEN, nonce=None))
