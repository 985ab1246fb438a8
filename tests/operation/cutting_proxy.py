"""A TCP proxy between two registries that cuts connections and freezes, delays or doubles their bytes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

CHUNK_BYTES = 1 << 16


@dataclass
class CuttingProxy:
    """Proxy whose bytes meet the present trouble: none, `cut`, `freeze`, `freeze requests`, `freeze answers`, `delay` or `double`.

    A cut closes the connection after some bytes more, so that a request or an answer is lost in its middle. Bytes that are
    frozen go on when the trouble ends. Of doubled bytes TLS makes an error.
    """

    port: int
    backend: int
    trouble: str = "none"
    bytes_before_cut: int = 0
    delay_seconds: float = 0.05
    _eased: asyncio.Event = field(default_factory=asyncio.Event)
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)

    def meet(self, error: str, bytes_before_cut: int = 0) -> None:
        """Begin a disturbance."""
        self.trouble, self.bytes_before_cut = error, bytes_before_cut
        self._eased.clear()

    def ease(self) -> None:
        """End the trouble."""
        self.trouble = "none"
        self._eased.set()

    async def pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, in both directions."""
        with suppress(OSError):
            there, back = await asyncio.open_connection("127.0.0.1", self.backend)
            ends = {writer, back}
            self._writers |= ends
            await asyncio.gather(self._copy(reader, back, "requests"), self._copy(there, writer, "answers"))
            self._writers -= ends
        writer.close()

    async def _copy(self, source: asyncio.StreamReader, target: asyncio.StreamWriter, what: str) -> None:
        with suppress(OSError):
            while content := await source.read(CHUNK_BYTES):
                content = await self._troubled(content, what)
                target.write(content)
                await target.drain()
                if not content:
                    break
        target.close()

    async def _troubled(self, content: bytes, what: str) -> bytes:
        """Return the bytes to pass on in place of these; no bytes end the connection."""
        match self.trouble:
            case "cut":
                left, self.bytes_before_cut = self.bytes_before_cut, self.bytes_before_cut - len(content)
                return content if self.bytes_before_cut >= 0 else content[: max(0, left)] and b""
            case "freeze":
                await self._eased.wait()
            case "freeze requests" | "freeze answers" if self.trouble.endswith(what):
                await self._eased.wait()
            case "delay":
                await asyncio.sleep(self.delay_seconds)
            case "double":
                return content * 2
        return content

    def close(self) -> None:
        """End every connection."""
        self.ease()
        for writer in self._writers:
            writer.transport.abort()


@asynccontextmanager
async def cutting_proxy(port: int, backend: int) -> AsyncIterator[CuttingProxy]:
    """The proxy on this port before the backend."""
    proxy = CuttingProxy(port, backend)
    server = await asyncio.start_server(proxy.pass_on, "127.0.0.1", port)
    try:
        yield proxy
    finally:
        server.close()
        proxy.close()
