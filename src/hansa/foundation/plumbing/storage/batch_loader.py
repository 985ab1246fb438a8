"""Lookups that come at the same moment share one statement.

The next statement takes every key that came while the last one ran, so a lookup always reads after it was asked for:
nothing is remembered between statements. Before it is sent, the requests that have already arrived at the process join it.

Questions of kinds of jobs that say themselves when there is work are asked in the same manner: those of one turn are one statement.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import chain
from typing import Generic, TypeVar

import msgspec

from hansa.foundation.plumbing.storage.database import Tx

Key = TypeVar("Key")
Found = TypeVar("Found")
# From the bytes of a request to its lookup: the socket is read, its task begins, its caller is known.
STEPS_OF_A_REQUEST = 3


async def let_requests_arrive() -> None:
    """Let the requests that have arrived come as far as their lookups; returns at once where there are none."""
    for _ in range(STEPS_OF_A_REQUEST):
        await asyncio.sleep(0)


class BatchLoader(Generic[Key, Found]):
    """Gathers lookups of one process; `load` answers many keys at once, absent ones left out.

    A load begins at least `pause_seconds` after the one before: a key that comes alone does not wait, and under load one
    statement has more of them.
    """

    def __init__(
        self, load: Callable[[Sequence[Key]], Awaitable[Mapping[Key, Found]]], pause_seconds: float = 0.0
    ) -> None:
        self._load, self._pause_seconds = load, pause_seconds
        self._waiting: dict[Key, list[asyncio.Future[Found | None]]] = {}
        self._worker: asyncio.Task[None] | None = None

    def find(self, key: Key) -> "asyncio.Future[Found | None]":
        """Return the value that `load` finds for `key`, read after this call. Raises, when it is awaited: the errors of `load`."""
        future: asyncio.Future[Found | None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(key, []).append(future)
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        return future

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            await let_requests_arrive()
            next_at = loop.time() + self._pause_seconds
            asked, self._waiting = self._waiting, {}
            await self._answer(asked)
            if (left_seconds := next_at - loop.time()) > 0:
                await asyncio.sleep(left_seconds)

    async def _answer(self, asked: "Mapping[Key, list[asyncio.Future[Found | None]]]") -> None:
        try:
            found = await self._load(list(asked))
        except Exception as error:  # noqa: BLE001
            for future in chain(*asked.values()):
                if not future.cancelled():
                    future.set_exception(error)
            return
        for key, futures in asked.items():
            for future in futures:
                # A caller that went away has cancelled its own.
                if not future.cancelled():
                    future.set_result(found.get(key))


class Question(msgspec.Struct, frozen=True):
    """Statement that reads one row with one boolean: whether there is work.

    It has no parameters: with some, the server would plan the statement of several questions anew for each of the first times.
    """

    statement: str

    async def __call__(self, tx: Tx) -> bool:
        """The answer now."""
        return bool(await tx.fetchval(self.statement))


async def ask(tx: Tx, questions: Mapping[str, Question]) -> dict[str, bool]:
    """The answers to several questions, by their names, in one round trip and one snapshot."""
    row = await tx.fetchrow(f"SELECT {', '.join(f'({one.statement})' for one in questions.values())}")
    assert row is not None
    return dict(zip(questions, map(bool, row.values()), strict=True))
