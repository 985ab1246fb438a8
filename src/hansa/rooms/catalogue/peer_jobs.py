"""When peers are read: at their intervals, at a hint, and from the start of a process on.

Each peer has a job for its cards and one for its acts of enforcement, so that a slow peer holds up no other one. They run
where a look at all peers that are due, by one job, found news.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from hansa.foundation.plumbing.jobs import (
    Job,
    LeasedKind,
    NewJob,
    PutOff,
    Retries,
    enqueue,
    enqueue_many,
    scheduled,
    sweep,
    sweep_with_runtime,
)
from hansa.foundation.plumbing.outgoing import OutgoingTrouble
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.peer_caller import PeerClosed
from hansa.rooms import federation
from hansa.rooms.federation import PeerRecord, SyncOutcome

from . import peer_reading, relays
from .peer_acts import forget_receipted, peers_to_receipt, send_receipts
from .peer_reading import ACTS_KIND, CARDS_KIND

PLANNED_EVERY_SECONDS = 2
ACTS_EVERY_SECONDS = 45
"""Without a hint an act is effective at a peer within a minute."""
RETRIES = Retries(None, pause_seconds=5.0, pause_max_seconds=300.0)
LEASE_SECONDS = 90.0
RECEIPTED_KEPT_DAYS = 30
LOOK_KIND = "peers: look for enforcement"
CARDS_AHEAD = 0.2
"""Part of the interval by which cards are read early, so that many peers are looked at in one round."""


async def read_peer(runtime: Runtime, peer: PeerRecord) -> SyncOutcome:
    """Read everything new at a peer and return the receipts. Raises: OutgoingTrouble, PeerClosed, FederationOff."""
    outcome = await peer_reading.sync_peer(runtime, peer)
    await send_receipts(runtime, peer)
    outcome.add(await peer_reading.read_relayed(runtime, peer))
    return outcome


async def _read_acts(runtime: Runtime, peer: PeerRecord) -> SyncOutcome:
    outcome = await peer_reading.sync_acts(runtime, peer)
    await send_receipts(runtime, peer)
    return outcome


def _reading(
    kind: str, read: Callable[[Runtime, PeerRecord], Awaitable[SyncOutcome]], at_once: int
) -> LeasedKind:
    async def run(runtime: Runtime, job: Job) -> None:
        try:
            peer = await runtime.database.query(lambda tx: federation.peer_by_id(tx, int(job.key)))
            if peer.is_open:
                await read(runtime, peer)
        except federation.PeerUnknown:
            return
        except OutgoingTrouble as error:
            await runtime.database.transaction(
                lambda tx: federation.record_signal(tx, int(job.key), "unanswered")
            )
            raise PutOff(f"The peer was not read: {type(error).__name__}.") from error
        except (PeerClosed, federation.FederationOff, federation.FrameUnavailable) as error:
            raise PutOff(f"The peer was not read: {type(error).__name__}.") from error

    return LeasedKind(kind, run, at_once, LEASE_SECONDS, RETRIES)


PEER_CARDS = _reading(CARDS_KIND, read_peer, at_once=4)
PEER_ACTS = _reading(ACTS_KIND, _read_acts, at_once=8)


async def _look(runtime: Runtime, _: Job) -> None:
    found = {*await peer_reading.peers_with_acts(runtime), *await runtime.database.query(peers_to_receipt)}
    if found:
        due = [NewJob(str(peer_id)) for peer_id in sorted(found)]
        await runtime.database.transaction(lambda tx: enqueue_many(tx, ACTS_KIND, due))


PEERS_LOOK = LeasedKind(LOOK_KIND, _look, 1, LEASE_SECONDS, RETRIES)


async def _look_for_cards(runtime: Runtime) -> None:
    """Let the peers that are due be read by their jobs, but those whose cards were all read already."""
    database, interval = runtime.database, runtime.settings.federation_sync_interval_seconds
    due = await database.query(lambda tx: peer_reading.due_cards(tx, CARDS_AHEAD * interval))
    ids = [one.peer_id for one in due]
    found = await database.query(federation.peers)
    open_peers = [peer for peer in found if peer.is_open and peer.id in ids]
    looked_at = await _read_by_looks(runtime, open_peers)
    unchanged = await peer_reading.peers_without_new_cards(runtime, looked_at, due)

    async def plan(tx: Tx) -> None:
        await peer_reading.put_off_cards(tx, ids, interval)
        await federation.note_synced(tx, unchanged)
        to_read = [NewJob(str(peer.id)) for peer in open_peers if peer.id not in unchanged]
        await enqueue_many(tx, CARDS_KIND, to_read)

    await database.transaction(plan)


async def _read_by_looks(runtime: Runtime, peers: list[PeerRecord]) -> list[PeerRecord]:
    """Those of these peers of which nothing is to be done but to see whether there are other cards."""
    settings = runtime.settings
    if settings.take_relayed_cards:
        return []
    to_receipt = await runtime.database.query(peers_to_receipt)
    return [peer for peer in peers if peer.id not in to_receipt and federation.accepts_cards(peer, settings)]


PEERS_CARDS_LOOK = scheduled(
    "peers: look for cards", PLANNED_EVERY_SECONDS, _look_for_cards, peer_reading.HAS_DUE_CARDS
)


async def _plan(tx: Tx, runtime: Runtime) -> None:
    await peer_reading.begin(tx, await federation.open_peer_ids(tx))
    is_due = await peer_reading.take_due_acts(tx, ACTS_EVERY_SECONDS)
    if is_due and runtime.settings.enforcement_propagation_mode != "off":
        await enqueue(tx, LOOK_KIND, "all")


PEER_PLAN = sweep_with_runtime(
    "catalogue: plan the reading of peers",
    PLANNED_EVERY_SECONDS,
    _plan,
    has_work=peer_reading.TO_PLAN,
    once_a_turn=True,
)
RECEIPTED = sweep(
    "catalogue: forget receipted acts", 86_400, lambda tx: forget_receipted(tx, RECEIPTED_KEPT_DAYS)
)


@asynccontextmanager
async def peers_from_the_start(runtime: Runtime) -> AsyncIterator[None]:
    """Have all mirrors compared with their homes, and their statuses follow the mode of this process."""
    mode = runtime.settings.enforcement_propagation_mode

    async def begin(tx: Tx) -> None:
        await peer_reading.reconcile_all(tx)
        await peer_reading.settle_statuses(tx, mode)
        await relays.settle(tx, is_relay=runtime.settings.relay_cards)

    await runtime.database.transaction(begin)
    yield
