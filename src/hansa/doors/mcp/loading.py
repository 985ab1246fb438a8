"""The SDK of the protocol is imported after the process is ready, or with the first request; until then the door is closed.

Its import takes a second of processor time, which is no part of a start.
"""

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from importlib import import_module
from types import ModuleType

from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.values.errors import Unavailable
from hansa.rooms import status

MODULE = "hansa.doors.mcp.serving"
AFTER_SECONDS = 3.0
"""Pause after the start: the work of a start that comes after `ready` is done before."""


class StillLoading(Unavailable):
    """The tools are loaded after the start; retry after a second."""

    code = "MCP_LOADING"
    sentence = "The tools are being loaded; retry in a second."


class Protocol:
    """The module of the protocol in one process."""

    def __init__(self, presence: status.McpPresence) -> None:
        self._presence = presence
        self._module: ModuleType | None = None
        self._loading: asyncio.Task[None] | None = None

    async def load(self) -> None:
        """Import the module in a thread, unless it is imported."""
        if self._module is None:
            self._module = await asyncio.to_thread(import_module, MODULE)
            self._presence.is_loaded = True
            # Collection stays off as at the start: a full one would walk objects that stay as long as the process.
            gc.freeze()

    def loaded(self) -> ModuleType:
        """The module. Raises: StillLoading; then it is being imported."""
        if self._module is not None:
            return self._module
        if self._loading is None or self._loading.done():
            self._loading = asyncio.create_task(self.load())
        raise StillLoading(retry_after=1)


PROTOCOL: Slot[Protocol] = Slot(
    "mcp: module of the protocol", build=lambda runtime: Protocol(status.MCP_PRESENCE.of(runtime))
)


@asynccontextmanager
async def loading_after_start(runtime: Runtime) -> AsyncIterator[None]:
    """Import the module once the process serves, where the tools are enabled."""

    async def load() -> None:
        await asyncio.sleep(AFTER_SECONDS)
        await PROTOCOL.of(runtime).load()

    if not runtime.settings.mcp_enabled:
        yield
        return
    task = asyncio.create_task(load())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
