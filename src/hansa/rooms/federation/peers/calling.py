"""Call a peer over mutual TLS, as this registry."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from hansa.foundation.plumbing.outgoing import Answer, Call, CallLimits, MutualCalls, MutualEnd
from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.web.peer_caller import PeerClosed
from hansa.rooms.federation.identity import LOCAL_IDENTITY

from .records import PeerRecord

CALL_LIMITS = CallLimits(seconds=10.0, body_bytes=2 * 1024 * 1024)


PEER_CALLS: Slot[MutualCalls] = Slot(
    "federation: connections to peers",
    build=lambda runtime: MutualCalls(runtime.settings.outgoing_allow_hosts),
)


async def call_peer(
    runtime: Runtime,
    peer: PeerRecord,
    method: str,
    path: str,
    body: Any = None,
    *,
    limits: CallLimits = CALL_LIMITS,
) -> Answer:
    """Call a route of a peer; `body` is sent as JSON, as it is where it is bytes. Never within a transaction.

    `path` begins with `/api/v1` or names a root path. Whatever the status is, it is an answer.

    Raises: OutgoingTrouble (a `reason` that may be stored), PeerClosed before its card was verified, FederationOff.
    """
    end = peer.end
    if end is None:
        raise PeerClosed("The registry card of this peer was not verified yet.")
    if body is None or isinstance(body, bytes):
        call = Call(method, path, body)
    else:
        content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        call = Call(method, path, content, {"Content-Type": "application/json"})
    return await call_end(runtime, peer.id, end, call, limits)


async def call_end(runtime: Runtime, peer_id: int, end: MutualEnd, call: Call, limits: CallLimits) -> Answer:
    """Call a registry whose address and identity are known before they are stored. See `call_peer`."""
    own = await LOCAL_IDENTITY.of(runtime).svid()
    return await PEER_CALLS.of(runtime).send(peer_id, end, own, call, limits)


@asynccontextmanager
async def connections_to_peers(runtime: Runtime) -> AsyncIterator[None]:
    """Close the connections to peers at the end of the process."""
    try:
        yield
    finally:
        await PEER_CALLS.of(runtime).close()
