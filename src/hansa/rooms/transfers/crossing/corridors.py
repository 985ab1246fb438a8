"""Corridors that the callers of this process need, read in batches.

Requests made while a reading is under way wait for the next reading: each answer rests on a reading that began after its request,
so a commit before the request, a suspension for example, is seen.
"""

import asyncio
from collections.abc import Mapping

from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.values.errors import Unavailable

from .corridor import Corridor
from .destination import NoCorridor, corridors_to

Found = Corridor | NoCorridor | Unavailable


class Corridors:
    """The questions of one process."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._pending: dict[str, asyncio.Future[Found]] = {}
        self._reading: asyncio.Task[None] | None = None

    async def to(self, did: str) -> Corridor:
        """The corridor by which units reach the DID now. Raises: as `corridor_to`, Unavailable."""
        answer = self._pending.get(did)
        if answer is None:
            answer = self._pending[did] = asyncio.get_running_loop().create_future()
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(self._read())
        # Several callers may await one answer; the end of one of them does not take it from the others.
        found = await asyncio.shield(answer)
        if isinstance(found, Corridor):
            return found
        raise found.refusal() if isinstance(found, NoCorridor) else found

    async def _read(self) -> None:
        while self._pending:
            asked, self._pending = self._pending, {}
            try:
                found = await self._found(list(asked))
                for did, answer in asked.items():
                    answer.set_result(found[did])
            finally:
                for answer in asked.values():
                    answer.cancel()

    async def _found(self, dids: list[str]) -> Mapping[str, Found]:
        try:
            return await self._runtime.database.query(lambda tx: corridors_to(tx, dids, self._runtime))
        except Unavailable as error:
            return dict.fromkeys(dids, error)


CORRIDORS: Slot[Corridors] = Slot("transfers: corridors that callers ask for", build=Corridors)
