"""Record the evidence of peer trust, and compute the states of peers from it.

Call a peer, and keep as evidence that it did not answer.
"""

from contextlib import suppress
from typing import Any

import structlog

from hansa.foundation.plumbing import parameters
from hansa.foundation.plumbing.outgoing import (
    Answer,
    AnswerUnreadable,
    CallLimits,
    CertificateRefused,
    HostUnreachable,
    NameUnknown,
    OutgoingTimeout,
)
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.errors import Unavailable
from hansa.rooms.federation import peers

from . import store
from .rules import CROSSINGS_OF_AN_HOUR, SignalKind, Thresholds, next_state, score, weight_of
from .verdicts import PeerVerdict

MARK_MAX_CHARACTERS = 512
_log = structlog.get_logger()
UNANSWERED = (AnswerUnreadable, CertificateRefused, HostUnreachable, NameUnknown, OutgoingTimeout)
"""What says that the peer did not answer; the other troubles arise on this side."""


async def record_signal(tx: Tx, peer_id: int, kind: SignalKind, mark: str = "") -> bool:
    """Record an event of a peer: a crossing succeeded, a dispute was lost, a card refused, a request not answered, a swap aborted.

    `mark` is the id of the dispute, or DID and version of the card; the others need none. Returns whether it counts: a
    dispute and a card's version once, and of an hour 10 crossings, one refused card, one unanswered request, one swap
    that was aborted after this registry was prepared.
    """
    match kind:
        case "crossing":
            return await record_crossings(tx, peer_id, 1) > 0
        case "unanswered" | "swap_aborted":
            counts = await store.add(tx, peer_id, kind, await store.hour(tx))
        case _:
            counts = await store.add(tx, peer_id, kind, mark[:MARK_MAX_CHARACTERS])
    if counts:
        await store.count_interactions(tx, peer_id, 1, is_lost_dispute=kind == "dispute_lost")
    return counts


async def record_crossings(tx: Tx, peer_id: int, count: int) -> int:
    """Record that so many crossings succeeded; returns how many of them count."""
    counted = await store.add_crossings(tx, peer_id, count, CROSSINGS_OF_AN_HOUR)
    if counted:
        await store.count_interactions(tx, peer_id, counted, is_lost_dispute=False)
    return counted


async def peer_verdicts(tx: Tx) -> list[PeerVerdict]:
    """Every peer with its score and evidence as of now, by name; the state is the one that has effects."""
    evidence = await store.evidence(tx)
    found = [(peer, evidence.get(peer.id, store.NO_EVIDENCE)) for peer in await peers.peers(tx)]
    return [PeerVerdict(peer, score(known.decayed), known.counts) for peer, known in found]


async def peer_verdict(tx: Tx, peer_id: int) -> PeerVerdict:
    """One of them. Raises: PeerUnknown."""
    peer = await peers.peer_by_id(tx, peer_id)
    known = (await store.evidence(tx, peer_id)).get(peer_id, store.NO_EVIDENCE)
    return PeerVerdict(peer, score(known.decayed), known.counts)


async def classify_peers(tx: Tx, runtime: Runtime) -> None:
    """The job: let state and weight of each peer follow its score, and forget evidence that weighs nothing any more."""
    settings = runtime.settings
    if settings.peer_trust_mode == "off":
        return
    limits = Thresholds.of(await parameters.in_force(tx, settings))
    await store.forget_old(tx)
    for verdict in await peer_verdicts(tx):
        peer = verdict.peer
        after = next_state(peer.trust_state, verdict.score, peer.total_interactions, limits)
        await store.set_weight(tx, peer.id, weight_of(after, verdict.score))
        if after != peer.trust_state and await store.set_state(tx, peer.id, peer.trust_state, after):
            _log.warning(
                "the trust state of a peer changed",
                peer=peer.ledger_id or peer.trust_domain,
                before=peer.trust_state,
                after=after,
                score=round(verdict.score, 4),
                mode=settings.peer_trust_mode,
            )


async def call_peer(
    runtime: Runtime,
    peer: peers.PeerRecord,
    method: str,
    path: str,
    body: Any = None,
    *,
    limits: CallLimits = peers.CALL_LIMITS,
) -> Answer:
    """Call a route of a peer; `body` is sent as JSON unless it is None. Never within a transaction.

    `path` begins with `/api/v1` or names a root path. Whatever the status is, it is an answer. Without an answer the call
    counts as evidence in peer trust.

    Raises: OutgoingTrouble (a `reason` that may be stored), PeerClosed before its card was verified, FederationOff.
    """
    try:
        return await peers.call_peer(runtime, peer, method, path, body, limits=limits)
    except UNANSWERED:
        with suppress(Unavailable):
            await runtime.database.transaction(lambda tx: record_signal(tx, peer.id, "unanswered"))
        raise
