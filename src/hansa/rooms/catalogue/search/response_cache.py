"""Answers as they were sent, for those who ask the same again.

An answer is sent again only while the index is unchanged and the database still has the same versions of the same cards
to show. The versions are read for every request, for all requests of the same moment in one statement.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec

from hansa.foundation.plumbing.process.runtime import Slot
from hansa.foundation.plumbing.storage.batch_loader import BatchLoader
from hansa.foundation.plumbing.storage.database import Database

from . import store
from .discover import read_found
from .execution import Hits
from .query import Discovery, SearchQuery
from .searcher import SEARCHER, Searcher

KEPT_BYTES_MAX = 24_000_000

Render = Callable[[Discovery, SearchQuery, Searcher], Awaitable[bytes]]


class _Kept(msgspec.Struct, frozen=True):
    hits: Hits
    versions: Mapping[int, int]
    body: bytes


class Answers:
    """Answers that this process has given lately."""

    def __init__(self, searcher: Searcher, database: Database) -> None:
        self._searcher = searcher
        self._database = database
        self._versions: BatchLoader[tuple[int, ...], Mapping[int, int]] = BatchLoader(self._read_versions)
        self._kept: OrderedDict[tuple[Render, SearchQuery], _Kept] = OrderedDict()
        self._kept_bytes = 0

    async def answer(self, search_query: SearchQuery, render: Render) -> bytes:
        """The answer to a search. Raises: SearchNotReady, Unavailable."""
        hits = await self._searcher.hits(search_query)
        stored = self._kept.get((render, search_query))
        # The hits are remembered until the index changes: they are the same object or they are others.
        if stored is not None and stored.hits is hits and stored.versions == await self._versions_of(hits):
            self._kept.move_to_end((render, search_query))
            return stored.body
        discovery, versions = await read_found(self._database, hits)
        body = await render(discovery, search_query, self._searcher)
        self._keep((render, search_query), _Kept(hits, versions, body))
        return body

    async def _versions_of(self, hits: Hits) -> Mapping[int, int]:
        return (await self._versions.find(hits.numbers) or {}) if hits.cards else {}

    async def _read_versions(
        self, pages: Sequence[tuple[int, ...]]
    ) -> Mapping[tuple[int, ...], Mapping[int, int]]:
        numbers = list({number for page in pages for number in page})
        versions = await self._database.query(lambda tx: store.versions(tx, numbers))
        return {page: {number: versions[number] for number in page if number in versions} for page in pages}

    def _keep(self, key: tuple[Render, SearchQuery], kept: _Kept) -> None:
        earlier = self._kept.pop(key, None)
        self._kept_bytes += len(kept.body) - (len(earlier.body) if earlier else 0)
        self._kept[key] = kept
        while self._kept_bytes > KEPT_BYTES_MAX:
            _, oldest = self._kept.popitem(last=False)
            self._kept_bytes -= len(oldest.body)


SEARCH_ANSWERS: Slot[Answers] = Slot(
    "catalogue: answers of searches", build=lambda runtime: Answers(SEARCHER.of(runtime), runtime.database)
)
