"""Call a peer, and keep as evidence that it did not answer."""

from contextlib import suppress
from typing import Any

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
from hansa.foundation.values.errors import Unavailable
from hansa.rooms.federation import peers

from .recording import record_signal

UNANSWERED = (AnswerUnreadable, CertificateRefused, HostUnreachable, NameUnknown, OutgoingTimeout)
"""What says that the peer did not answer; the other troubles arise on this side."""


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
