"""Notify peers as soon as acts of enforcement are committed, or documents of this registry changed: each by a job of its own.

A hint only says that there is something to read. Where it does not arrive the peer reads at its own interval.
"""

from datetime import datetime

from hansa.foundation.events import AgentReinstated, AgentRevoked, AgentSuspended
from hansa.foundation.plumbing.jobs import Job, LeasedKind, PutOff, Retries, enqueue
from hansa.foundation.plumbing.jobs.reactors import Reactor, StoredEvent
from hansa.foundation.plumbing.outgoing import CallLimits, OutgoingTrouble
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.peer_caller import Peer, PeerClosed
from hansa.rooms import federation
from hansa.rooms.catalogue.exports import newest_act
from hansa.rooms.catalogue.peer_reading import ACTS_KIND, has_read_acts

from . import store

PATH = "/api/v1/federation/hint"
LIMITS = CallLimits(seconds=5.0, body_bytes=16 * 1024)
ATTEMPTS = 3
OK = 200


async def _notify_peers(tx: Tx, event: StoredEvent) -> None:
    found = [await federation.peer_by_id(tx, peer_id) for peer_id in await federation.open_peer_ids(tx)]
    if not found:
        return
    await store.note(
        tx,
        event.data["did"],
        [peer.id for peer in found],
        [peer.ledger_id or peer.trust_domain for peer in found],
        [peer.name for peer in found],
    )
    await federation.notify_peers(tx)


NOTICES = Reactor(
    "catalogue: notify peers of enforcement", (AgentSuspended, AgentReinstated, AgentRevoked), _notify_peers
)


async def _send_hint(runtime: Runtime, job: Job) -> None:
    try:
        peer = await runtime.database.query(lambda tx: federation.peer_by_id(tx, int(job.key)))
    except federation.PeerUnknown:
        return
    place, begun = await runtime.database.read(_place_and_time)
    try:
        hint = {"next": place, **await federation.hint_documents(runtime)}
        answer = await federation.call_peer(runtime, peer, "POST", PATH, hint, limits=LIMITS)
    except (OutgoingTrouble, PeerClosed, federation.FederationOff, federation.CardUnsigned) as error:
        if job.attempts < ATTEMPTS:
            raise PutOff(f"The peer was not notified: {type(error).__name__}.") from None
        return
    if answer.status == OK:
        await runtime.database.transaction(lambda tx: store.note_notified(tx, peer.id, begun))


async def _place_and_time(tx: Tx) -> tuple[str, datetime]:
    return await newest_act(tx), await clock.now(tx)


HINTS = LeasedKind(federation.HINT_KIND, _send_hint, at_once=16, retries=Retries(None, pause_seconds=1.0))


async def receive_hint(tx: Tx, peer: Peer, place: str) -> bool:
    """Let the acts of the peer be read at once; False where they were read up to this place."""
    if await has_read_acts(tx, peer.id, place):
        return False
    await enqueue(tx, ACTS_KIND, str(peer.id))
    return True
