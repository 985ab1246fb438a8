"""federation/quiet-peers: CPU of a registry with a hundred peers in which nothing happens, in per cent of one core.

The peers are answered for by this process, and read the registry as often as it reads them. The CPU that a registry without peers uses
meanwhile, beside it, is taken off. Work of once a minute is measured twice, work of every five minutes for a part of the peers.
"""

import asyncio
from contextlib import AsyncExitStack
from time import monotonic

from bench.federation_crossings import End, beside, free_ports, prepared, serving
from bench.figures import Figures
from bench.process_cpu import used_alone, used_by
from bench.quiet_peers_stub import QuietPeer, answering, quiet_peer, reading
from bench.seed import temporary_directory
from hansa.foundation.plumbing.keys.authority import IdentityAuthority
from hansa.foundation.plumbing.keys.key_files import Keyring
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import federation
from hansa.rooms.auditor.witnessing.peer_logs import FOLLOW
from hansa.rooms.catalogue.peer_reading import ACTS_KIND, CARDS_KIND
from hansa.rooms.federation.peers.synchronizing import READ_A_PEER

PEERS, PEERS_FULL = 20, 100
SETTLING_SECONDS = 5
SECONDS, SECONDS_FULL = 60, 120
TARGET = 2.0
AGENTS = 10

_FOLLOW_NOW = "UPDATE plumbing_job SET due_at = clock_timestamp() WHERE kind = $1"
_SETTLED = """
SELECT (SELECT count(*) FROM auditor_peer_log) = $1
  AND (SELECT count(*) FROM catalogue_peer_sync WHERE reconcile_due_at > now() AND acts_next IS NOT NULL) = $1
  AND NOT EXISTS (SELECT FROM plumbing_job WHERE kind = ANY($2) AND state = 'waiting' AND due_at <= now())
"""
# As if the peers had been added at different times: what is read seldom of each is due at another moment.
_SPREAD_JOBS = """
UPDATE plumbing_job SET due_at = clock_timestamp() + random() * $1 * interval '1 second' WHERE kind = $2
"""
_SPREAD_CARDS = """
UPDATE catalogue_peer_sync SET cards_due_at = clock_timestamp() + random() * $1 * interval '1 second'
"""


async def run(*, full: bool) -> Figures:
    figures = Figures()
    count, seconds = (PEERS_FULL, SECONDS_FULL) if full else (PEERS, SECONDS)
    async with AsyncExitStack() as stack:
        homes = [await stack.enter_async_context(temporary_directory()) for _ in range(3)]
        stubs = [quiet_peer(number, port, homes[2]) for number, port in enumerate(free_ports(count))]
        places = ",".join(f"127.0.0.1:{one.port}" for one in stubs)
        allowed = {"OUTGOING_ALLOW_HOSTS": places}
        end, other = await prepared(homes[:2], AGENTS, allowed, allowed)
        with_peers, alone = [(await stack.enter_async_context(serving(one))).pid for one in (end, other)]
        authority = IdentityAuthority(Keyring(end.directory), end.trust_domain)
        await stack.enter_async_context(answering(stubs, authority.bundle_pem))
        await _befriend(end, stubs)
        spiffe_id = federation.registry_id_of(end.trust_domain, end.settings["REGISTRY_NAME"])
        base_url = end.settings["FEDERATION_BASE_URL"]
        troubles = await stack.enter_async_context(reading(stubs, base_url, spiffe_id, authority.bundle_pem))
        await _settle(end, count)
        troubles.clear()
        before = _used(with_peers), _used(alone)
        began = monotonic()
        await asyncio.sleep(seconds)
        share = 100 / (monotonic() - began)
        after = _used(with_peers), _used(alone)
    whole, base = (
        [(last - first) * share for last, first in zip(*pair, strict=True)]
        for pair in zip(after, before, strict=True)
    )
    figures.add("a registry without peers", "% of a core", [base[0]])
    figures.add(f"{count} quiet peers, above that", "% of a core", [whole[0] - base[0]])
    figures.add("of this the service process", "% of a core", [whole[1] - base[1]])
    figures.add("each peer", "% of a core", [(whole[0] - base[0]) / count])
    figures.notes.append(
        f"target: {PEERS_FULL} quiet peers {TARGET} %; {len(troubles)} troubles {troubles[:3]}"
    )
    figures.notes.append("sound: every call of the peers is answered")
    figures.books_are_sound = not troubles
    return figures


async def _settle(end: End, count: int) -> None:
    """Wait until every peer was read for the first time, its documents, cards, acts and keys; then spread the rare readings."""
    async with beside(end) as runtime:
        database = runtime.database
        await database.transaction(lambda tx: tx.execute(_FOLLOW_NOW, FOLLOW))
        kinds = [CARDS_KIND, ACTS_KIND, READ_A_PEER.name]
        while not await database.query(lambda tx: tx.fetchval(_SETTLED, count, kinds)):  # noqa: ASYNC110
            await asyncio.sleep(1)
        await asyncio.sleep(SETTLING_SECONDS)
        interval = float(runtime.settings.federation_sync_interval_seconds)
        await database.transaction(lambda tx: tx.execute(_SPREAD_JOBS, interval, READ_A_PEER.name))
        await database.transaction(lambda tx: tx.execute(_SPREAD_CARDS, interval))


def _used(pid: int) -> tuple[float, float]:
    """CPU seconds of the service with its database, and of the service process."""
    return used_by(pid), used_alone(pid)


async def _befriend(end: End, stubs: list[QuietPeer]) -> None:
    async def add(tx: Tx) -> None:
        for stub in stubs:
            await federation.add_peer(tx, stub.as_new())

    async with beside(end) as runtime:
        await runtime.database.transaction(add)
