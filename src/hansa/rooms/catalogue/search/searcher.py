"""Search in one process: its index, kept in step with the database, and the results found in it lately.

- A change is indexed once its transaction is seen, and again while an older transaction is open that might have changed
  the same: the place in the changes moves only behind the oldest open one, so that none is ever missed.
- After a failover every card is compared with its document by the number of its last change; the differences are indexed.
- A search before every card was indexed is refused: a part of the catalogue would look like all of it.
- Reading and writing the index happen in threads; the event loop waits for nothing.
- Results are remembered until the index changes. Cards themselves are read from the database each time.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Collection, Hashable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from time import monotonic
from typing import Any, Concatenate, ParamSpec, TypeVar

import structlog
from msgspec.structs import replace

from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.telemetry.job_health import JobHealth
from hansa.foundation.plumbing.telemetry.metrics import search_index_current

from . import store
from .errors import SearchNotReady
from .execution import Hits, find, shared_names
from .index import Place, SearchIndex
from .query import SearchQuery
from .text import key_of

# While nothing changes the pause doubles. A change by another process that sends no notification is found within a second.
FOLLOW_SECONDS, REST_SECONDS = 0.2, 0.8
# How old the place that is on the disk may be: after a restart, changes are looked for from there on.
PLACE_KEPT_SECONDS = 60.0
# A write waits this long at most until a search finds it (decision 0022).
WRITE_WAITS_SECONDS = 0.2
# Writes of the same moment share one commit of the index, which costs more than the documents in it.
SHARE_SECONDS = 0.03
FOLLOWING = "search: follow the catalogue"
# A start waits so long for an index that has to be built; a larger one is built while the rest is served.
START_WAITS_SECONDS = 2.0
REMEMBERED = 2000
SEARCH_THREADS = 2
# Transactions that a promoted standby may lack; Patroni promotes none that lacks more than a megabyte of log, which 500 transfers
# fill. Their numbers are used again there: the same number is not the same change.
LOST_AT_MOST = 10_000
MINUTE = 60
DAY = 24 * 3600

_log = structlog.get_logger()
_Call = ParamSpec("_Call")
_Result = TypeVar("_Result")


class Searcher:
    """The search of one process. Nothing is opened before it is needed."""

    def __init__(
        self,
        database: Database,
        directory: Path,
        own_currency: str,
        health: JobHealth | None = None,
        *,
        hides_unbonded: bool = False,
    ) -> None:
        self._database = database
        self._health = health or JobHealth()
        self._directory = directory
        self._own_currency = own_currency
        self._hides_unbonded = hides_unbonded
        self._index: SearchIndex | None = None
        self._turn = asyncio.Lock()
        self._follower: asyncio.Task[None] | None = None
        # Set when a write waits; the future is done when the next catch-up to begin has ended.
        self._is_awaited = asyncio.Event()
        self._next_catch_up: asyncio.Future[None] | None = None
        self._writing = ThreadPoolExecutor(1, "search-index")
        self._reading = ThreadPoolExecutor(SEARCH_THREADS, "search")
        # Changes that were indexed although an older transaction is open, each with the transaction that made it.
        self._ahead: dict[int, int] = {}
        self._remembered: OrderedDict[Hashable, asyncio.Future[Any]] = OrderedDict()
        self._clock = 0.0
        self._rest = FOLLOW_SECONDS
        self._moved_at = 0.0
        self._is_complete = False
        self._has_failed = False

    @property
    def is_complete(self) -> bool:
        """Return whether searches are answered: every card is in the index."""
        return self._index is not None and self._is_complete

    @asynccontextmanager
    async def following(self) -> AsyncIterator[None]:
        """Follow the changes meanwhile; an index that is quickly built is complete before this goes on."""
        self._follower = task = asyncio.create_task(self._keep_following())
        try:
            await asyncio.wait({asyncio.create_task(self._complete())}, timeout=START_WAITS_SECONDS)
            yield
        finally:
            self._follower = None
            task.cancel()
            await asyncio.wait({task})
            await self.close()

    async def catch_up(self) -> None:
        """Index everything that is committed by now. Raises: Unavailable."""
        async with self._turn:
            try:
                if await self._is_unchanged():
                    self._rest = min(2 * self._rest, REST_SECONDS)
                else:
                    self._rest = FOLLOW_SECONDS
                    await self._database.read(self._index_changes)
            except BaseException:
                self._has_failed = self._index is not None
                raise
            self._is_complete = True
        search_index_current.set_to_current_time()

    async def include_committed(self) -> None:
        """Wait until searches of this process find the changes committed by now, `WRITE_WAITS_SECONDS` at most.

        Returns at once where nothing follows the changes, before the index is complete, and while following fails. Raises nothing:
        changes that could not be included in time are included later.
        """
        if self._follower is None or not self._is_complete or self._has_failed:
            return
        if self._next_catch_up is None:
            self._next_catch_up = asyncio.get_running_loop().create_future()
        self._is_awaited.set()
        await asyncio.wait({self._next_catch_up}, timeout=WRITE_WAITS_SECONDS)

    def look_now(self) -> None:
        """Another process has changed a card."""
        self._is_awaited.set()

    async def hits(self, search_query: SearchQuery) -> Hits:
        """Return the hits of the index. Raises: SearchNotReady."""
        is_hidden = self._hides_unbonded and not search_query.includes_unbonded
        bonded_only = search_query.bonded_only or is_hidden
        search_query = replace(search_query, bonded_only=bonded_only, includes_unbonded=False)
        return await self._once(find, search_query, self._alive_since() if search_query.active_24h else 0)

    async def shared_names(self, names: Collection[str]) -> set[str]:
        """Those of the names that several cards have, whatever their case and accents. Raises: SearchNotReady."""
        keys = {name: key_of(name) for name in names}
        shared = await self._once(shared_names, frozenset(keys.values()))
        return {name for name, key in keys.items() if key in shared}

    async def _once(
        self, search: Callable[Concatenate[Any, _Call], _Result], *asked: _Call.args, **_: _Call.kwargs
    ) -> _Result:
        """Search the index, once for the same question until it changes. Raises: SearchNotReady."""
        if self._index is None or not self._is_complete:
            raise SearchNotReady(retry_after=1)
        key = (search, *asked)
        found = self._remembered.get(key)
        if found is None:
            found = asyncio.ensure_future(self._find(self._index, search, *asked))
            self._remembered[key] = found
            found.add_done_callback(lambda done: self._forget_failed(key, done))
            if len(self._remembered) > REMEMBERED:
                self._remembered.popitem(last=False)
        # One reader going away does not end the search for the others.
        return await asyncio.shield(found)

    async def close(self) -> None:
        """Let the index go."""
        async with self._turn:
            if self._index is not None:
                await self._write(self._index.close)
                self._index = None
            self._is_complete = False
        self._writing.shutdown()
        self._reading.shutdown()

    async def _keep_following(self) -> None:
        while True:
            awaited, self._next_catch_up = self._next_catch_up, None
            self._is_awaited.clear()
            pause = 0.0
            try:
                await self.catch_up()
            except asyncio.CancelledError:
                raise
            except BaseException as error:  # noqa: BLE001
                # A full disk, say; the index panics where it meets what it does not expect. It answers as it is, and the
                # next turn comes.
                pause = self._health.failed(FOLLOWING, error)
            else:
                self._health.succeeded(FOLLOWING)
            finally:
                if awaited is not None:
                    awaited.set_result(None)
            await self._pause(pause)

    async def _pause(self, least_seconds: float) -> None:
        least_seconds = max(SHARE_SECONDS, least_seconds)
        shared_at = monotonic() + least_seconds
        timer = asyncio.get_running_loop().call_later(least_seconds + self._rest, self._is_awaited.set)
        try:
            await self._is_awaited.wait()
        finally:
            timer.cancel()
        if (left_seconds := shared_at - monotonic()) > 0:
            await asyncio.sleep(left_seconds)

    async def _complete(self) -> None:
        while not self._is_complete:  # noqa: ASYNC110
            await asyncio.sleep(FOLLOW_SECONDS / 10)

    async def _is_unchanged(self) -> bool:
        """Ask in one round trip whether no card has changed; the index then only moves on."""
        if self._index is None or self._index.place is None or self._has_failed or not self._is_complete:
            return False
        begins = self._index.place
        state = await self._database.query_again(lambda tx: store.state_where_unchanged(tx, begins.cursor))
        if state is None or not begins.is_behind(place := place_of(state)):
            return False
        self._clock = state.moment.timestamp() - monotonic()
        self._ahead = {}
        if monotonic() > self._moved_at + PLACE_KEPT_SECONDS:
            await self._write(self._index.move, place)
            self._moved_at = monotonic()
        return True

    async def _index_changes(self, tx: Tx) -> None:
        """In one snapshot: everything a transaction before the horizon did is seen."""
        if self._index is None:
            self._index = await self._write(SearchIndex, self._directory, self._own_currency)
        index = self._index
        if self._has_failed:
            await self._write(index.reopen)
            self._has_failed = False
        database_state = await store.database_state(tx)
        self._clock = database_state.moment.timestamp() - monotonic()
        place = place_of(database_state)
        if index.place is not None and index.place.is_before_failover(place):
            await self._index_differences(tx, index, index.place, place)
            return
        if index.place is None or not index.place.is_behind(place):
            await self._index_everything(tx, index, place)
            return
        changed = await store.changed(tx, index.place.cursor)
        unindexed = [card for card, transaction in changed.items() if self._ahead.get(card) != transaction]
        await self._index_cards(tx, index, unindexed, place)
        self._ahead = {card: number for card, number in changed.items() if number >= place.cursor}

    async def _index_cards(self, tx: Tx, index: SearchIndex, cards: list[int], place: Place) -> None:
        if not cards:
            if place != index.place:
                await self._write(index.move, place)
            return
        for begin in range(0, len(cards), store.BATCH):
            numbers = cards[begin : begin + store.BATCH]
            found = await store.by_number(tx, numbers)
            await self._write(index.replace, found, set(numbers) - {card.id for card in found})
        await self._write(index.commit, place)
        self._remembered.clear()

    async def _index_differences(self, tx: Tx, index: SearchIndex, before: Place, place: Place) -> None:
        """After a failover: compare every card with its document, whatever became of the changes in between."""
        began = monotonic()
        changed = set(await store.changed(tx, before.cursor - LOST_AT_MOST))
        after, count = 0, 0
        while True:
            present = await store.versions_of_shown(tx, after)
            last = max(present, default=None)
            indexed = await self._write(index.versions, after, last)
            changed |= {card for card, _ in present.items() ^ indexed.items()}
            count += len(present)
            if last is None:
                break
            after = last
        await self._index_cards(tx, index, sorted(changed), place)
        self._ahead = {}
        seconds = round(monotonic() - began, 1)
        _log.info("search index compared", cards=count, differences=len(changed), seconds=seconds)

    async def _index_everything(self, tx: Tx, index: SearchIndex, place: Place) -> None:
        began = monotonic()
        count, after = 0, 0
        indexed = asyncio.ensure_future(self._write(index.clear))
        while cards := await store.every_shown(tx, after):
            await indexed
            # The next cards are read meanwhile.
            indexed = asyncio.ensure_future(self._write(index.add, cards))
            count, after = count + len(cards), cards[-1].id
        await indexed
        await self._write(index.commit, place)
        self._ahead = {}
        self._remembered.clear()
        if count:
            _log.info("search index built", cards=count, seconds=round(monotonic() - began, 1))

    async def _find(self, index: SearchIndex, search: Callable[..., _Result], *asked: Any) -> _Result:
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._reading, search, index.searcher(), *asked)
        except asyncio.CancelledError:
            raise
        except BaseException as failure:
            # No query is an error: the files of the index must be damaged. A panic is no ordinary exception.
            _log.exception("search index cannot be read and is rebuilt")
            index.distrust()
            self._is_complete, self._has_failed = False, True
            raise SearchNotReady(retry_after=1) from failure

    async def _write(
        self, act: Callable[_Call, _Result], *arguments: _Call.args, **named: _Call.kwargs
    ) -> _Result:
        return await asyncio.get_running_loop().run_in_executor(
            self._writing, lambda: act(*arguments, **named)
        )

    def _forget_failed(self, key: Hashable, done: asyncio.Future[Any]) -> None:
        if (done.cancelled() or done.exception() is not None) and self._remembered.get(key) is done:
            del self._remembered[key]

    def _alive_since(self) -> int:
        """A day ago by the database's clock, to the minute, so that answers can be remembered."""
        return int((self._clock + monotonic()) // MINUTE * MINUTE) - DAY


def place_of(state: store.DatabaseState) -> Place:
    """The place of a reader who has read everything before the oldest open transaction."""
    return Place(state.system, state.timeline, state.horizon)


def _searcher(runtime: Runtime) -> Searcher:
    settings = runtime.settings
    return Searcher(
        runtime.database,
        settings.data_dir / "search",
        settings.settlement_currency,
        runtime.jobs,
        hides_unbonded=settings.bond_mode == "enforce",
    )


SEARCHER: Slot[Searcher] = Slot("catalogue: search index", build=_searcher)
