"""Look at every peer for new acts of enforcement, by one job and without a transaction for each.

A peer without news costs a call. One that has news, or does not answer, is read by the job of its own.
"""

import asyncio
import json
from urllib.parse import urlencode

from hansa.foundation.plumbing.outgoing import Answer, CallLimits, OutgoingTrouble
from hansa.foundation.plumbing.peer_caller import PeerClosed
from hansa.foundation.plumbing.runtime import Runtime
from hansa.rooms import federation
from hansa.rooms.federation import PeerRecord

from . import pages, store

AT_ONCE = 32
LIMITS = CallLimits(seconds=5.0, body_bytes=64 * 1024)


async def peers_with_acts(runtime: Runtime) -> list[int]:
    """The open peers that have acts which were not read, or did not answer. Never within a transaction."""
    found = await runtime.database.read(federation.peers)
    places = await runtime.database.look(store.acts_places)
    turns = asyncio.Semaphore(AT_ONCE)

    async def has_news(peer: PeerRecord) -> bool:
        since = places[peer.id]
        if since is None:
            return True
        async with turns:
            return await _has_news(runtime, peer, since)

    looked_at = [peer for peer in found if peer.is_open and peer.id in places]
    news = await asyncio.gather(*(has_news(peer) for peer in looked_at))
    return [peer.id for peer, is_news in zip(looked_at, news, strict=True) if is_news]


async def _has_news(runtime: Runtime, peer: PeerRecord, since: str) -> bool:
    path = f"{pages.ACTS_PATH}?{urlencode({'limit': 1, 'since': since})}"
    try:
        answer = await federation.call_peer(runtime, peer, "GET", path, limits=LIMITS)
    except (OutgoingTrouble, PeerClosed, federation.FederationOff):
        return True
    return not _is_empty(answer, since)


def _is_empty(answer: Answer, since: str) -> bool:
    """Whether the page has no item and leaves the place where it was; anything else is read and judged in whole."""
    if answer.status != pages.OK:
        return False
    try:
        page = json.loads(answer.body)
    except (ValueError, RecursionError):
        return False
    if not isinstance(page, dict):
        return False
    return page.get("items") == [] and page.get("next") == since and page.get("more") is False
