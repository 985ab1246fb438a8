"""Read the news of a peer: its acts of enforcement, then its cards, then, once a day, whether all mirrors are right.

An interrupted reading goes on from the stored cursor. A page is applied once: its reader moves the cursor from where
it began, or applies nothing.
"""

from collections import Counter
from collections.abc import Awaitable
from time import monotonic

from hansa.foundation.plumbing.outgoing import AnswerTooLarge, OutgoingTimeout
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.rooms import federation
from hansa.rooms.federation import PeerRecord, SyncOutcome

from . import pages, rules, store
from .ahead import PageAhead
from .pages import Reading
from .reconciling import reconcile
from .records import JudgedPage, PageRefused, Progress

PAGES_MAX = 1_000
"""Of one reading; a peer that has more is read on at the next interval."""


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
