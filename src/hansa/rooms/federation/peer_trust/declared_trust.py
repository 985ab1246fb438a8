"""Trust in this registry that peers state: read from each, stored, and logged when a peer begins to warn."""

import asyncio
from typing import Annotated, Literal

import msgspec
import structlog

from hansa.foundation.plumbing.outgoing import CallLimits, OutgoingTrouble
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.peer_caller import PeerClosed
from hansa.rooms.federation import peers
from hansa.rooms.federation.identity import FederationOff

from . import store
from .rules import TrustState
from .verdicts import OwnTrust

PATH = "/api/v1/federation/peer-trust/mine"
AT_ONCE = 8
LIMITS = CallLimits(seconds=10.0, body_bytes=64 * 1024)
OK = 200
WARNED = frozenset({"warn", "restricted", "suspended"})

_log = structlog.get_logger()


class _Trust(msgspec.Struct, frozen=True):
    state: TrustState
    score: Annotated[float, msgspec.Meta(ge=0, le=1)]
    interactions: Annotated[int, msgspec.Meta(ge=0, le=2**53)]
    reason: Annotated[str, msgspec.Meta(min_length=1, max_length=500, pattern=r"\A[^\x00]*\Z")]


class Statement(msgspec.Struct, frozen=True):
    """Answer of a peer about this registry."""

    mode: Literal["off", "observe", "enforce"]
    trust: _Trust


async def declared_trust(tx: Tx) -> list[OwnTrust]:
    """The last statement of each peer about this registry, by ledger id."""
    return [OwnTrust(**row) for row in await store.declared_trust(tx)]


async def ask_peers(runtime: Runtime) -> None:
    """The job: read from every active peer how far it trusts this registry."""
    found = [peer for peer in await runtime.database.query(peers.peers) if peer.status == "active"]
    turns = asyncio.Semaphore(AT_ONCE)
    await asyncio.gather(*(_ask(runtime, peer, turns) for peer in found))


async def _ask(runtime: Runtime, peer: peers.PeerRecord, turns: asyncio.Semaphore) -> None:
    async with turns:
        try:
            answer = await peers.call_peer(runtime, peer, "GET", PATH, limits=LIMITS)
        except (OutgoingTrouble, PeerClosed, FederationOff):
            return
    if answer.status != OK:
        return
    try:
        declared = msgspec.json.decode(answer.body, type=Statement)
    except msgspec.DecodeError:
        return
    before = await runtime.database.execute(
        lambda tx: store.store_declared_trust(tx, peer.id, declared.mode, declared.trust)
    )
    if declared.trust.state in WARNED and declared.trust.state != before:
        _log.warning(
            "a peer lowered its trust in this registry",
            peer=peer.ledger_id,
            state=declared.trust.state,
            mode=declared.mode,
            reason=declared.trust.reason,
        )
