"""Read the news of a peer: its acts of enforcement, then its cards, then, once a day, whether all mirrors are right.

An interrupted reading goes on from the stored cursor. A page is applied once: its reader moves the cursor from where
it began, or applies nothing.

Fetch the next page of a peer while the one before it is applied: the peer, this process and the database work at once.

Compare all mirrors of a peer with its cards, by digests, and read again only the ranges that differ.

A card that is missed here, or that stayed here after its end, is found whatever the cause: every card is in one range of both.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Any

from hansa.foundation.plumbing.outgoing import AnswerTooLarge, CallLimits, OutgoingTimeout
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.rooms import federation
from hansa.rooms.catalogue.exports import ranges_of_mirrors
from hansa.rooms.catalogue.exports.records import Range
from hansa.rooms.catalogue.rules import BIGINT_MAX
from hansa.rooms.federation import PeerRecord, SyncOutcome

from . import pages, rules, store
from .pages import Reading
from .records import JudgedPage, PageRefused, Progress

PAGES_MAX = 1_000
"""Of one reading; a peer that has more is read on at the next interval."""
DIGEST_LIMITS = CallLimits(seconds=60.0, body_bytes=64 * 1024)
RANGES_MAX = 2_000
"""Ranges that are compared or read in one comparison; what is left differs still at the next one."""
PARTS = 16


async def sync_peer(runtime: Runtime, peer: PeerRecord) -> SyncOutcome:
    """Read everything new. Raises: OutgoingTrouble, PeerClosed, FederationOff."""
    await runtime.database.execute(lambda tx: store.begin(tx, [peer.id]))
    reading = await _begin(runtime, peer)
    if isinstance(reading, SyncOutcome):
        return reading
    await _counting_refusals(reading, _read_acts(reading))
    # The acts of a peer that is restricted are read all the same.
    await _counting_refusals(reading, _read_cards_and_compare(reading))
    return reading.outcome


async def sync_acts(runtime: Runtime, peer: PeerRecord) -> SyncOutcome:
    """Read the new acts of enforcement alone. Raises: OutgoingTrouble, PeerClosed, FederationOff."""
    reading = await _begin(runtime, peer)
    if isinstance(reading, SyncOutcome):
        return reading
    await _counting_refusals(reading, _read_acts(reading))
    return reading.outcome


async def _counting_refusals(reading: Reading, work: Awaitable[None]) -> None:
    """Await the reading of one feed and count its refusal, which does not keep the other feed from being read."""
    try:
        await work
    except PageRefused as refusal:
        await pages.refuse(reading, refusal.reason)


async def _begin(runtime: Runtime, peer: PeerRecord) -> Reading | SyncOutcome:
    try:
        return Reading.of(runtime, peer)
    except PageRefused as refusal:
        reason = refusal.reason
        await runtime.database.transaction(lambda tx: federation.count_refusal(tx, peer.id, reason))
        return SyncOutcome(refused=Counter({reason: 1}))


async def _read_acts(reading: Reading) -> None:
    endless = rules.Endless()
    for _ in range(PAGES_MAX):
        progress = await _progress(reading)
        if progress is None or reading.runtime.settings.enforcement_propagation_mode == "off":
            return
        since = progress.acts_next
        page = await pages.fetch_page(reading, pages.ACTS_PATH, since, rules.PAGE_SIZE_MAX)
        endless.require_progress(since, page)
        # The cards are read from the start first.
        if rules.begins_anew(progress, page) or rules.is_nothing_new(since, page):
            return
        if not await pages.apply_acts(reading, since, page) or not page.more:
            return
    raise PageRefused("more_for_ever")


async def _read_cards_and_compare(reading: Reading) -> None:
    if not federation.accepts_cards(reading.peer, reading.runtime.settings):
        raise PageRefused("trust_restricted")
    if await _read_cards(reading):
        await _finish(reading)


async def _read_cards(reading: Reading) -> bool:
    """Return whether everything that the peer has was read. A page is fetched and judged while the one before it is applied."""
    ahead = PageAhead(lambda since, size: _fetch_cards(reading, since, size))
    try:
        return await _read_cards_from(reading, ahead)
    finally:
        await ahead.drop()


class PageAhead:
    """At most one page that is fetched ahead; it counts only where the reader goes on from the place that it was fetched from."""

    def __init__(self, fetch: Callable[[str | None, int], Awaitable[JudgedPage]]) -> None:
        self._fetch = fetch
        self._since: str | None = None
        self._fetching: asyncio.Task[JudgedPage] | None = None

    def begin(self, since: str, size: int) -> None:
        """Fetch the page after this place from now on."""
        self._since = since
        self._fetching = asyncio.ensure_future(self._fetch(since, size))

    async def page(self, since: str | None, size: int) -> JudgedPage:
        """Return the page after a place, as far as it was fetched already. Raises: the error of fetching it."""
        if self._fetching is not None and self._since == since:
            try:
                return await self._fetching
            finally:
                self._fetching = None
        await self.drop()
        return await self._fetch(since, size)

    async def drop(self) -> None:
        """Read nothing ahead any more."""
        fetching, self._fetching = self._fetching, None
        if fetching is None:
            return
        fetching.cancel()
        await asyncio.wait([fetching])
        if not fetching.cancelled():
            # Retrieved, because asyncio logs the exception of a task that is never awaited.
            fetching.exception()


async def _read_cards_from(reading: Reading, ahead: PageAhead) -> bool:
    endless = rules.Endless()
    for left in reversed(range(PAGES_MAX)):
        progress = await _progress(reading)
        if progress is None:
            return False
        since, begun = progress.cards_next, monotonic()
        page = await ahead.page(since, progress.page_size)
        if rules.begins_anew(progress, page):
            await _begin_anew(reading, page, is_restored=page.epoch != progress.epoch)
            continue
        endless.require_progress(since, page)
        if rules.is_nothing_new(since, page):
            return True
        if page.more and left:
            ahead.begin(page.next, progress.page_size)
        if not await pages.apply_cards(reading, since, page):
            return False
        await _set_page_size(reading, progress.page_size, monotonic() - begun)
        if not page.more:
            return True
    raise PageRefused("more_for_ever")


async def _fetch_cards(reading: Reading, since: str | None, size: int) -> JudgedPage:
    """The next page; where it is too large or takes too long, a smaller one. Raises: PageRefused, OutgoingTrouble."""
    while True:
        try:
            return await pages.fetch_page(reading, pages.CARDS_PATH, since, size)
        except (AnswerTooLarge, OutgoingTimeout) as error:
            if size == rules.PAGE_SIZE_MIN:
                if isinstance(error, AnswerTooLarge):
                    raise PageRefused("page_too_large") from None
                raise
            size = max(rules.PAGE_SIZE_MIN, size // 2)
            await _store_page_size(reading, size)


async def _finish(reading: Reading) -> None:
    progress = await _progress(reading)
    if progress is not None and progress.is_reconciled_now:
        await reconcile(reading)
    await reading.runtime.database.execute(lambda tx: federation.note_synced(tx, [reading.peer.id]))


async def _begin_anew(reading: Reading, page: JudgedPage, *, is_restored: bool) -> None:
    ledger_id = reading.origin.ledger_id
    await reading.runtime.database.transaction(
        lambda tx: store.begin_anew(tx, reading.peer.id, ledger_id, page, is_restored=is_restored)
    )


async def _set_page_size(reading: Reading, size: int, seconds: float) -> None:
    fitting = rules.next_page_size(size, seconds)
    if fitting != size:
        await _store_page_size(reading, fitting)


async def _store_page_size(reading: Reading, size: int) -> None:
    await reading.runtime.database.transaction(lambda tx: store.set_page_size(tx, reading.peer.id, size))


async def _progress(reading: Reading) -> Progress | None:
    return await reading.runtime.database.query(lambda tx: store.progress(tx, reading.peer.id))


async def reconcile(reading: Reading) -> None:
    """Read the ranges that differ. Raises: PageRefused, OutgoingTrouble."""
    waiting, looked_at = [""], 0
    while waiting and looked_at < RANGES_MAX:
        prefix = waiting.pop()
        looked_at += 1
        theirs = await _ranges_at_peer(reading, prefix)
        ours = await _ranges_here(reading, prefix)
        for part in rules.differing(theirs, ours):
            if rules.is_read_whole(part):
                looked_at += 1
                await _read_range(reading, part.prefix)
            else:
                waiting.append(part.prefix)
    await reading.runtime.database.transaction(lambda tx: store.note_reconciled(tx, reading.peer.id))


async def _ranges_here(reading: Reading, prefix: str) -> list[Range]:
    ledger_id = reading.origin.ledger_id
    return await reading.runtime.database.query(lambda tx: ranges_of_mirrors(tx, prefix, ledger_id))


async def _ranges_at_peer(reading: Reading, prefix: str) -> list[Range]:
    path = f"{pages.CARDS_PATH}/digest?prefix={prefix}"
    answer = await federation.call_peer(reading.runtime, reading.peer, "GET", path, limits=DIGEST_LIMITS)
    if answer.status != pages.OK:
        raise PageRefused(f"answered_{answer.status}")
    try:
        said = json.loads(answer.body)
        listed = said["ranges"]
        found = [Range(part["prefix"], part["cards"], part["digest"]) for part in listed]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise PageRefused("digest_unreadable") from None
    if len(found) > PARTS or not all(_is_sound(part, prefix) for part in found):
        raise PageRefused("digest_unreadable")
    return found


def _is_sound(part: Any, prefix: str) -> bool:
    is_part = isinstance(part.prefix, str) and len(part.prefix) == len(prefix) + 1
    is_counted = type(part.cards) is int and 0 < part.cards <= BIGINT_MAX
    return is_part and part.prefix.startswith(prefix) and is_counted and isinstance(part.digest, str)


async def _read_range(reading: Reading, prefix: str) -> None:
    found: list[JudgedPage] = []
    endless, since = rules.Endless(), None
    while not found or found[-1].more:
        page = await pages.fetch_page(reading, pages.CARDS_PATH, since, rules.PAGE_SIZE_MAX, prefix)
        endless.require_progress(since, page)
        found.append(page)
        since = page.next
        if sum(one.size for one in found) > rules.PAGE_SIZE_MAX:
            raise PageRefused("range_too_large")
    await pages.apply_range(reading, prefix, found)
