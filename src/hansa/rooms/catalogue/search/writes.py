"""Transactions that change the results of a search."""

from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar

from fastapi import Depends, Request

from hansa.foundation.plumbing.process.runtime import runtime_of
from hansa.foundation.plumbing.storage.database import Database, Tx

from . import store
from .searcher import SEARCHER, Searcher

Result = TypeVar("Result")


class IndexedWrites:
    """The database, for use cases that change a card."""

    def __init__(self, database: Database, searcher: Searcher) -> None:
        self._database = database
        self._searcher = searcher

    async def transaction(self, use_case: Callable[[Tx], Awaitable[Result]]) -> Result:
        """Run `Database.transaction` and return once the next search of this process finds the change, or after 200 ms.

        The transaction has ended by then, and no connection is held while waiting. Other processes are notified.
        """

        async def notified(tx: Tx) -> Result:
            result = await use_case(tx)
            await store.notify_changed(tx)
            return result

        result = await self._database.transaction(notified)
        await self._searcher.include_committed()
        return result


async def _indexed_writes(request: Request) -> IndexedWrites:
    return IndexedWrites(runtime_of(request).database, SEARCHER.of(runtime_of(request)))


CardWrites = Annotated[IndexedWrites, Depends(_indexed_writes)]
