"""Synchronise with a peer: read its documents, then what the catalogue pulls from it; by request, and by a job at intervals.

Each peer has a job of its own: one that is out of reach neither delays a start nor another peer.
"""

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta

from hansa.foundation.plumbing import jobs
from hansa.foundation.plumbing.admin_acts import record_act
from hansa.foundation.plumbing.caller import Developer
from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.jobs import Job, LeasedKind, NewJob, PutOff, Retries
from hansa.foundation.plumbing.runtime import Runtime, Slot
from hansa.foundation.values.errors import Unavailable

from . import store
from .errors import FederationOff, PeerDocumentRefused, PeerStateRefused, PeerUnknown
from .reading import peer_by_id, peer_by_name
from .records import PeerRecord
from .refreshing import refresh_peer

JOB = "federation: read a peer"
AT_ONCE = 32
RETRIES = Retries(None, pause_seconds=1.0, pause_max_seconds=300.0)
SPREAD = 0.1
"""Part of the interval by which the next due time varies, so that peers are not all read at one moment."""


@dataclass(frozen=True)
class SyncReport:
    """What a synchronisation changed. `hidden`: cards that left the listing; `refused` by reason."""

    pulled: int = 0
    changed: int = 0
    hidden: int = 0
    refused: dict[str, int] = field(default_factory=dict)


SYNC_PEER: Slot[Callable[[Runtime, PeerRecord], Awaitable[SyncReport]]] = Slot(
    "federation: pull the cards of a peer"
)
"""Called for an open peer whose documents were just read, outside of any transaction."""


async def sync_peer(runtime: Runtime, peer_id: int) -> SyncReport:
    """Read a peer's documents and pull its cards. A refused document is part of the report.

    Raises: PeerUnreachable, PeerStateRefused, PeerUnknown, FederationOff.
    """
    peer = await runtime.database.look(lambda tx: peer_by_id(tx, peer_id))
    if not peer.is_read:
        raise PeerStateRefused("The peer is paused or being removed; nothing is read from it.")
    try:
        refreshed = await refresh_peer(runtime, peer_id)
    except PeerDocumentRefused as refused:
        return SyncReport(refused={refused.reason: 1})
    if not refreshed.peer.is_open:
        return SyncReport(refused=refreshed.refused)
    pulled = await SYNC_PEER.of(runtime)(runtime, refreshed.peer)
    await runtime.database.act(lambda tx: store.note_synced(tx, peer_id))
    return SyncReport(pulled.pulled, pulled.changed, pulled.hidden, _added(refreshed.refused, pulled.refused))


async def sync_by_name(runtime: Runtime, administrator: Developer | None, name: str) -> SyncReport:
    """As `sync_peer`, of the peer that NAME means; recorded as an act. Raises: also PeerAmbiguous."""
    peer = await runtime.database.look(lambda tx: peer_by_name(tx, name))
    report = await sync_peer(runtime, peer.id)
    subject = peer.ledger_id or peer.trust_domain
    await runtime.database.act(lambda tx: record_act(tx, administrator, act="peer.sync", subject=subject))
    return report


async def pull_nothing(_: Runtime, __: PeerRecord) -> SyncReport:
    """The documents of a peer alone are synchronised."""
    return SyncReport()


async def _work(runtime: Runtime, job: Job) -> None:
    """What is out of reach is retried soon; a refused document is read again after the interval."""
    peer_id = int(job.key)
    try:
        await sync_peer(runtime, peer_id)
        peer = await runtime.database.look(lambda tx: peer_by_id(tx, peer_id))
    except (PeerUnknown, PeerStateRefused):
        await runtime.database.act(lambda tx: _conclude(tx, runtime, job))
        return
    except (Unavailable, FederationOff) as trouble:
        raise PutOff(trouble.detail) from None
    if peer.approval == "pending":
        raise PutOff("the other side has not added this registry yet")
    await runtime.database.act(lambda tx: _conclude(tx, runtime, job))


async def _conclude(tx: Tx, runtime: Runtime, job: Job) -> None:
    peer = await store.lock(tx, int(job.key))
    if peer is None or not peer.is_read:
        await jobs.conclude(tx, job)
        return
    interval = runtime.settings.federation_sync_interval_seconds
    pause = interval * (1 + random.uniform(-SPREAD, SPREAD))  # noqa: S311
    await jobs.conclude(tx, job, due_at=await store.now(tx) + timedelta(seconds=pause))


async def enqueue_missing(tx: Tx, runtime: Runtime) -> None:
    """Let every peer that is read have its job; one that waits keeps its due time."""
    interval = timedelta(seconds=runtime.settings.federation_sync_interval_seconds)
    due_at = await store.now(tx) + interval
    ids = await store.read_at_intervals(tx)
    await jobs.enqueue_many(tx, JOB, [NewJob(str(peer_id), due_at) for peer_id in ids])


READ_A_PEER = LeasedKind(JOB, _work, at_once=AT_ONCE, retries=RETRIES, concludes=True)


def _added(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    return {reason: one.get(reason, 0) + other.get(reason, 0) for reason in {*one, *other}}
