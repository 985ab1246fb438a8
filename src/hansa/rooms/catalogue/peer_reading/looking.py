"""Look at peers for new acts of enforcement and for changed cards, by one job for all and without a transaction for each.

A peer without news costs a call. One that has news, or does not answer, is read by the job of its own.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from hansa.foundation.plumbing.outgoing import Answer, CallLimits, OutgoingTrouble
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.web.peer_caller import PeerClosed
from hansa.rooms import federation
from hansa.rooms.federation import PeerRecord

from . import pages, store
from .records import CardsDue

AT_ONCE = 32
LIMITS = CallLimits(seconds=5.0, body_bytes=64 * 1024)


async def peers_with_acts(runtime: Runtime) -> list[int]:
    """The open peers that have acts which were not read, or did not answer. Never within a transaction."""
    found = await runtime.database.query(federation.peers)
    places = await runtime.database.query(store.acts_places)
    looked_at = [peer for peer in found if peer.is_open and peer.id in places]
    unread = [peer.id for peer in looked_at if places[peer.id] is None]
    sinces = {peer.id: since for peer in looked_at if (since := places[peer.id]) is not None}
    empty = await _empty_pages(runtime, looked_at, pages.ACTS_PATH, sinces)
    return [*unread, *(peer_id for peer_id in sinces if peer_id not in empty)]


async def peers_without_new_cards(
    runtime: Runtime, peers: Sequence[PeerRecord], due: Sequence[CardsDue]
) -> list[int]:
    """Those of these peers whose cards were all read, in the epoch and shape in which they are exported now."""
    sinces = {one.peer_id: one.since for one in due if one.since is not None and not one.is_reconciled_now}
    empty = await _empty_pages(runtime, peers, pages.CARDS_PATH, sinces)
    shapes = {one.peer_id: (one.epoch, one.export_version) for one in due}
    return [
        peer_id
        for peer_id, page in empty.items()
        if (page.get("epoch"), page.get("export_version")) == shapes[peer_id]
    ]


async def _empty_pages(
    runtime: Runtime, peers: Sequence[PeerRecord], path: str, sinces: Mapping[int, str]
) -> dict[int, dict[str, Any]]:
    """The pages of those peers that have nothing new after the place in `sinces`, by the id of the peer."""
    turns = asyncio.Semaphore(AT_ONCE)

    async def page_of(peer: PeerRecord) -> dict[str, Any] | None:
        async with turns:
            return await _empty_page(runtime, peer, path, sinces[peer.id])

    asked = [peer for peer in peers if peer.id in sinces]
    found = await asyncio.gather(*map(page_of, asked))
    return {peer.id: page for peer, page in zip(asked, found, strict=True) if page is not None}


async def _empty_page(runtime: Runtime, peer: PeerRecord, path: str, since: str) -> dict[str, Any] | None:
    query = urlencode({"limit": 1, "since": since})
    try:
        answer = await federation.call_peer(runtime, peer, "GET", f"{path}?{query}", limits=LIMITS)
    except (OutgoingTrouble, PeerClosed, federation.FederationOff):
        return None
    return _page_if_empty(answer, since)


def _page_if_empty(answer: Answer, since: str) -> dict[str, Any] | None:
    """The page where it has no item and leaves the place where it was; anything else is read and judged in whole."""
    if answer.status != pages.OK:
        return None
    try:
        page = json.loads(answer.body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(page, dict):
        return None
    is_empty = page.get("items") == [] and page.get("next") == since and page.get("more") is False
    return page if is_empty else None
