"""Send peers what is due of settlements, and take their messages in; never within a transaction.

The asking side repeats its request until the outcome is here; the deciding side repeats the outcome until its receipt is.
"""

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import structlog
from msgspec.structs import replace

from hansa.foundation.plumbing import jobs
from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.runtime import Runtime, Slot
from hansa.foundation.values.errors import Refused
from hansa.rooms import federation, transfers
from hansa.rooms.commerce.slash_bond import SLASH_BOND

from . import envelope, store
from .awarding import take_award
from .opening import Request
from .paid_awards import ShownAward, take_paid
from .records import Kept
from .settlement import Award, Claim, Direction, Outcome, Receipt, Settlement
from .taking_in import Sent, take_outcome, take_receipt, take_request

REQUESTS = "/api/v1/federation/disputes/slash-request"
CONFIRMATIONS = "/api/v1/federation/disputes/slash-confirmation"
PATHS = {
    Direction.OUTGOING: REQUESTS,
    Direction.INCOMING: CONFIRMATIONS,
    Direction.AWARDED: CONFIRMATIONS,
    Direction.OWED: CONFIRMATIONS,
}
"""Where the messages about settlements of each kind go."""
DELIVERY = "commerce: settlements with a peer"
SWEEP_SECONDS = 2.0
BATCH = 10

SIGNED_VERDICT: Slot[Callable[[Runtime, int], Awaitable[dict[str, Any]]]] = Slot(
    "commerce: the signed facts of a dispute"
)

_log = structlog.get_logger()


async def deliver(runtime: Runtime, job: jobs.Job) -> None:
    """Send a peer all that is due. Raises: PutOff."""
    peer = await runtime.database.look(lambda tx: federation.peer_by_spiffe_id(tx, job.key))
    if peer is None or peer.ledger_id is None:
        raise jobs.PutOff("the peer is not known any more")
    try:
        while any([await _send(runtime, peer, direction) for direction in PATHS]):
            pass
    except federation.PeerSilent as silence:
        raise jobs.PutOff(silence.reason) from None


async def _send(runtime: Runtime, peer: federation.PeerRecord, direction: Direction) -> bool:
    """Send the peer what it has not answered of one kind, and take its answers in; whether there was any. Raises: PeerSilent."""
    due = await _due(runtime, peer, direction)
    if not due:
        return False
    texts = [await _statement(runtime, kept) for kept in due]
    sent_at = await runtime.database.look(lambda tx: transfers.positions_in_chain(tx, _key_of(peer)))
    answers = await federation.post_messages(runtime, peer, PATHS[direction], texts)
    peer = await federation.with_present_keys(runtime, peer, answers)
    for text in answers:
        if direction is Direction.OUTGOING:
            await take_confirmation(runtime, peer, text)
        else:
            await _take_receipt(runtime, peer, text, Sent(direction, sent_at))
    return True


async def _statement(runtime: Runtime, kept: Kept) -> str:
    """The request for a slash, the outcome of one, an award, or one that was paid, with the signature of this registry."""
    claim, direction = kept.settlement.claim, kept.settlement.direction
    if direction is Direction.INCOMING:
        return await _confirmation(runtime, kept)
    if direction is Direction.OWED:
        positions = await runtime.database.look(lambda tx: transfers.positions_in_chain(tx, kept.peer))
        award, proof = kept.settlement.award, kept.row["message"]
        return envelope.signed_paid(await _key(runtime), claim, award, proof, positions)
    verdict = await _verdict_of(runtime, kept)
    key = await _key(runtime)
    if direction is Direction.OUTGOING:
        proof = kept.row["outcome"] if kept.settlement.is_closed else None
        return envelope.signed_request(key, claim, verdict, proof, kept.settlement.payment)
    positions = await runtime.database.look(lambda tx: transfers.positions_in_chain(tx, kept.peer))
    return envelope.signed_award(key, claim, _stated_award(kept), verdict, positions)


async def _take_receipt(runtime: Runtime, peer: federation.PeerRecord, text: str, sent: Sent) -> None:
    signed = envelope.read_receipt(text, peer)
    if signed is not None:
        await runtime.database.act(lambda tx: take_receipt(tx, peer, signed, sent))


def _stated_award(kept: Kept) -> Award:
    return replace(kept.settlement.award, tx_id=stated_outcome(kept).tx_id)


def stated_outcome(kept: Kept) -> Outcome:
    """What this registry states about a claim of a peer, with the number of its transaction."""
    tx_id = kept.row["tx_id"]
    outcome = kept.settlement.outcome
    return Outcome(
        outcome.claim,
        outcome.status,
        outcome.slashed,
        None if tx_id is None else f"tx-{tx_id}",
        outcome.reason,
    )


async def answer_requests(runtime: Runtime, peer: federation.PeerRecord, texts: Sequence[str]) -> list[str]:
    """Open or find the settlements that a peer asks for; the signed state of each. Raises: federation.FrameSilent."""
    answers: list[str] = []
    peer = await federation.with_present_keys(runtime, peer, texts)
    for text in texts:
        answer = await _answer_request(runtime, peer, text)
        if answer is not None:
            answers.append(answer)
    return answers


async def _answer_request(runtime: Runtime, peer: federation.PeerRecord, text: str) -> str | None:
    read = envelope.read_request(text, peer)
    if read is None:
        await _count_malformed(runtime, peer)
        return None
    shown = None
    if read.proof is not None:
        shown = envelope.own_outcome(read.proof, await runtime.database.look(_own_keys))
        if shown is None or not shown.claim.is_again(read.claim):
            await _count_malformed(runtime, peer)
            return None
    await _learn_parties(runtime, read.claim)
    request = Request(peer, read.claim, read.verdict, text, shown, read.payment)
    settlement_id = await runtime.database.act(lambda tx: take_request(tx, request, runtime.settings))
    if settlement_id is None:
        return None
    kept = await runtime.database.look(lambda tx: store.find(tx, settlement_id))
    assert kept is not None
    return await _confirmation(runtime, kept)


async def _confirmation(runtime: Runtime, kept: Kept) -> str:
    """The outcome that was read before the positions: these are never behind what it states."""
    positions = await runtime.database.look(lambda tx: transfers.positions_in_chain(tx, kept.peer))
    return envelope.signed_confirmation(
        await _key(runtime), kept.settlement_id, stated_outcome(kept), positions
    )


async def _own_keys(tx: Tx) -> dict[str, bytes]:
    return {key.kid: key.public_key for key in await federation.all_keys(tx)}


async def answer_confirmations(
    runtime: Runtime, peer: federation.PeerRecord, texts: Sequence[str]
) -> list[str]:
    """Take the outcomes of a peer in; a signed receipt for each that is recorded. Raises: federation.FrameSilent."""
    answers: list[str] = []
    peer = await federation.with_present_keys(runtime, peer, texts)
    for text in texts:
        receipt = await _receipt_for(runtime, peer, text)
        if receipt is not None:
            # Read after the receipt: they are never behind what it confirms.
            positions = await runtime.database.look(
                lambda tx: transfers.positions_in_chain(tx, _key_of(peer))
            )
            answers.append(envelope.signed_receipt(await _key(runtime), receipt, positions))
    return answers


async def _receipt_for(runtime: Runtime, peer: federation.PeerRecord, text: str) -> Receipt | None:
    if (paid := envelope.read_paid(text, peer)) is not None:
        return await _take_paid(runtime, peer, paid)
    if (award := envelope.read_award(text, peer)) is None:
        after = await take_confirmation(runtime, peer, text)
    else:
        after = await _take_award(runtime, _request_of(peer, award, text), award)
    if after is None or not after.is_closed:
        return None
    if award is None:
        return Receipt(after.claim, after.status)
    return Receipt(award.claim, after.status, after.reason, award.award)


def _request_of(peer: federation.PeerRecord, award: envelope.SignedAward, text: str) -> Request:
    return Request(peer, award.claim, award.verdict, text, payment=award.award.payment)


async def _take_paid(runtime: Runtime, peer: federation.PeerRecord, paid: envelope.Paid) -> Receipt | None:
    """Record an award that the peer has paid, by the own signature that it shows."""
    signed = envelope.own_award(paid.proof, await runtime.database.look(_own_keys))
    if signed is None or not paid.is_of(signed):
        await _count_malformed(runtime, peer)
        return None
    await _learn_parties(runtime, signed.claim)
    shown, slash_bond = ShownAward(peer, signed, paid), SLASH_BOND.of(runtime)
    return await runtime.database.act(lambda tx: take_paid(tx, shown, slash_bond, runtime.settings))


async def _learn_parties(runtime: Runtime, claim: Claim) -> None:
    """Within one trust domain the frame says whose agents the parties are. Raises: federation.FrameSilent."""
    await federation.learn_holders(runtime, [claim.complainant_did, claim.defendant_did])


async def _take_award(runtime: Runtime, request: Request, award: envelope.SignedAward) -> Settlement | None:
    await _learn_parties(runtime, request.claim)
    try:
        return await runtime.database.act(lambda tx: take_award(tx, request, award, runtime.settings))
    except Refused as refusal:
        # Nothing was changed; the peer sends it again.
        _log.warning("award of a peer not applied", peer=request.peer.ledger_id, code=refusal.code)
        return None


async def take_confirmation(runtime: Runtime, peer: federation.PeerRecord, text: str) -> Settlement | None:
    """Apply one signed outcome; the settlement after it, None where it is none of this registry."""
    confirmation = envelope.read_confirmation(text, peer)
    if confirmation is None:
        await _count_malformed(runtime, peer)
        return None
    try:
        return await runtime.database.act(lambda tx: take_outcome(tx, peer, confirmation, runtime.settings))
    except Refused as refusal:
        # Nothing was changed; the peer is asked again.
        _log.warning("outcome of a settlement not applied", peer=peer.ledger_id, code=refusal.code)
        return None


async def _verdict_of(runtime: Runtime, kept: Kept) -> dict[str, Any]:
    """The signed facts of the dispute, kept when they were signed first."""
    known: str | None = kept.row["verdict"]
    if known is not None:
        read: dict[str, Any] = json.loads(known)
        return read
    verdict = await SIGNED_VERDICT.of(runtime)(runtime, kept.settlement.claim.dispute_id)
    text = json.dumps(verdict, ensure_ascii=False)
    await runtime.database.act(lambda tx: store.keep_verdict(tx, kept.settlement_id, text))
    return verdict


async def _due(runtime: Runtime, peer: federation.PeerRecord, direction: Direction) -> list[Kept]:
    return await runtime.database.act(lambda tx: store.take_due(tx, _key_of(peer), direction, BATCH))


def _key_of(peer: federation.PeerRecord) -> str:
    assert peer.spiffe_id is not None
    return peer.spiffe_id


async def _key(runtime: Runtime) -> federation.SigningKey:
    return await federation.SIGNATORY.of(runtime).present_key()


async def _count_malformed(runtime: Runtime, peer: federation.PeerRecord) -> None:
    await runtime.database.act(lambda tx: federation.count_refusal(tx, peer.id, "message_malformed"))


async def _enqueue_due(tx: Tx) -> None:
    await jobs.enqueue_many(tx, DELIVERY, [jobs.NewJob(peer) for peer in await store.peers_due(tx)])


EXCHANGE_JOBS = (
    jobs.LeasedKind(
        DELIVERY, deliver, at_once=2, retries=jobs.Retries(None, pause_seconds=2.0, pause_max_seconds=60.0)
    ),
    jobs.sweep_of(
        "commerce: settlements that are due",
        SWEEP_SECONDS,
        store.HAS_PEER_DUE,
        _enqueue_due,
        once_a_turn=True,
    ),
)
