"""Synchronise with a peer: by a job at intervals its documents are read; by request also the cards that the catalogue pulls.

Each peer has a job of its own: one that is out of reach neither delays a start nor another peer.
"""

import random
from collections import Counter
from datetime import timedelta

from hansa.foundation.plumbing import jobs
from hansa.foundation.plumbing.jobs import Job, LeasedKind, NewJob, PutOff, Retries
from hansa.foundation.plumbing.outgoing import OutgoingTrouble
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.admin_acts import record_act
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.errors import Unavailable
from hansa.rooms.federation.identity import FederationOff

from . import store
from .document_marks import DocumentMarks, are_known
from .errors import PeerDocumentRefused, PeerStateRefused, PeerUnknown, PeerUnreachable
from .reading import peer_by_id, peer_by_name
from .refreshing import Refreshed, refresh_known
from .slots import SYNC_PEER, SyncOutcome

JOB = "federation: read a peer"
AT_ONCE = 32
RETRIES = Retries(None, pause_seconds=1.0, pause_max_seconds=300.0)
SPREAD = 0.1
"""Part of the interval by which the next due time varies, so that peers are not all read at one moment."""


async def sync_peer(runtime: Runtime, peer_id: int) -> SyncOutcome:
    """Read a peer's documents and its cards. A refused document is part of the outcome.

    Raises: PeerUnreachable, PeerStateRefused, PeerUnknown, FederationOff.
    """
    refreshed, outcome = await _read_documents(runtime, peer_id)
    if refreshed is not None and refreshed.peer.is_open:
        try:
            pulled = await SYNC_PEER.of(runtime)(runtime, refreshed.peer)
        except OutgoingTrouble as error:
            raise PeerUnreachable.at(refreshed.peer.registry_url, error.reason) from None
        outcome = SyncOutcome(pulled.pulled, pulled.changed, pulled.hidden, outcome.refused + pulled.refused)
    return outcome


async def sync_by_name(runtime: Runtime, administrator: Developer | None, name: str) -> SyncOutcome:
    """Synchronize the peer that NAME means, recorded as an act. Raises: as `sync_peer`, and PeerAmbiguous."""
    peer = await runtime.database.query(lambda tx: peer_by_name(tx, name))
    report = await sync_peer(runtime, peer.id)
    subject = peer.ledger_id or peer.trust_domain
    await runtime.database.transaction(
        lambda tx: record_act(tx, administrator, act="peer.sync", subject=subject)
    )
    return report


async def _read_documents(runtime: Runtime, peer_id: int) -> tuple[Refreshed | None, SyncOutcome]:
    """Return the peer by its present documents, None where one is refused; and the refusals."""
    found = await runtime.database.query(lambda tx: store.one_now(tx, peer_id))
    if found is None:
        raise PeerUnknown
    peer, now = found
    if not peer.is_read:
        raise PeerStateRefused("The peer is paused or being removed; nothing is read from it.")
    try:
        refreshed = await refresh_known(runtime, peer, now)
    except PeerDocumentRefused as refused:
        return None, SyncOutcome(refused=Counter({refused.reason: 1}))
    return refreshed, SyncOutcome(refused=Counter(refreshed.refused))


async def _work(runtime: Runtime, job: Job) -> None:
    """Read the documents of one peer. An unreachable peer is retried soon; a refused document is read again after the interval."""
    peer_id = int(job.key)
    try:
        refreshed, _ = await _read_documents(runtime, peer_id)
        if refreshed is not None and refreshed.is_known:
            await runtime.database.execute(lambda tx: _put_off(tx, runtime, job))
            return
        read = (
            refreshed.peer
            if refreshed is not None
            else await runtime.database.query(lambda tx: peer_by_id(tx, peer_id))
        )
    except (PeerUnknown, PeerStateRefused):
        await runtime.database.transaction(lambda tx: _conclude(tx, runtime, job))
        return
    except (Unavailable, FederationOff) as error:
        raise PutOff(error.detail) from None
    if read.approval == "pending":
        raise PutOff("the other side has not added this registry yet")
    await runtime.database.transaction(lambda tx: _conclude(tx, runtime, job))


async def _conclude(tx: Tx, runtime: Runtime, job: Job) -> None:
    peer = await store.lock(tx, int(job.key))
    if peer is None or not peer.is_read:
        await jobs.conclude(tx, job)
        return
    await _put_off(tx, runtime, job)


async def _put_off(tx: Tx, runtime: Runtime, job: Job) -> None:
    """One statement."""
    interval = runtime.settings.federation_sync_interval_seconds
    await jobs.put_off(tx, job, interval * (1 + random.uniform(-SPREAD, SPREAD)))  # noqa: S311


async def read_if_changed(tx: Tx, peer_id: int, stated: DocumentMarks) -> bool:
    """Let the documents of a peer be read at once where it states others than those that are stored; whether they are."""
    peer = await peer_by_id(tx, peer_id)
    if not peer.is_read or are_known(peer, stated):
        return False
    await jobs.enqueue(tx, JOB, str(peer_id))
    return True


async def enqueue_missing(tx: Tx, runtime: Runtime) -> None:
    """Let every peer that is read have its job; one that waits keeps its due time."""
    interval = timedelta(seconds=runtime.settings.federation_sync_interval_seconds)
    due_at = await clock.now(tx) + interval
    ids = await store.read_at_intervals(tx)
    await jobs.enqueue_many(tx, JOB, [NewJob(str(peer_id), due_at) for peer_id in ids])


READ_A_PEER = LeasedKind(JOB, _work, at_once=AT_ONCE, retries=RETRIES, concludes=True)
