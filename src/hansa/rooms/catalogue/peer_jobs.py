"""When peers are read: at their intervals, at a hint, and from the start of a process on.

Each peer has a job for its cards and one for its acts of enforcement, so that a slow peer holds up no other one. The acts are read
where a look at all peers, by one job, found news.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.jobs import (
    Job,
    LeasedKind,
    NewJob,
    PutOff,
    Retries,
    enqueue,
    enqueue_many,
    sweep,
    sweep_with_runtime,
)
from hansa.foundation.plumbing.outgoing import OutgoingTrouble
from hansa.foundation.plumbing.peer_caller import PeerClosed
from hansa.foundation.plumbing.runtime import Runtime
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
            peer = await runtime.database.look(lambda tx: federation.peer_by_id(tx, int(job.key)))
            if peer.is_open:
                await read(runtime, peer)
        except federation.PeerUnknown:
            return
        except OutgoingTrouble as trouble:
            await runtime.database.act(lambda tx: federation.record_signal(tx, int(job.key), "unanswered"))
            raise PutOff(f"The peer was not read: {type(trouble).__name__}.") from trouble
        except (PeerClosed, federation.FederationOff, federation.FrameSilent) as trouble:
            raise PutOff(f"The peer was not read: {type(trouble).__name__}.") from trouble

    return LeasedKind(kind, run, at_once, LEASE_SECONDS, RETRIES)


PEER_CARDS = _reading(CARDS_KIND, read_peer, at_once=4)
PEER_ACTS = _reading(ACTS_KIND, _read_acts, at_once=8)


async def _look(runtime: Runtime, _: Job) -> None:
    found = {*await peer_reading.peers_with_acts(runtime), *await runtime.database.look(peers_to_receipt)}
    if found:
        due = [NewJob(str(peer_id)) for peer_id in sorted(found)]
        await runtime.database.act(lambda tx: enqueue_many(tx, ACTS_KIND, due))


PEERS_LOOK = LeasedKind(LOOK_KIND, _look, 1, LEASE_SECONDS, RETRIES)


async def _plan(tx: Tx, runtime: Runtime) -> None:
    open_peers = await federation.open_peer_ids(tx)
    await peer_reading.begin(tx, open_peers)
    interval = runtime.settings.federation_sync_interval_seconds
    cards, acts = await peer_reading.take_due(tx, interval, ACTS_EVERY_SECONDS)
    await enqueue_many(tx, CARDS_KIND, [NewJob(str(peer)) for peer in cards if peer in open_peers])
    if acts and runtime.settings.enforcement_propagation_mode != "off":
        await enqueue(tx, LOOK_KIND, "all")


PEER_PLAN = sweep_with_runtime(
    "catalogue: plan the reading of peers",
    PLANNED_EVERY_SECONDS,
    _plan,
    has_work=federation.HAS_OPEN_PEER,
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

    await runtime.database.act(begin)
    yield
