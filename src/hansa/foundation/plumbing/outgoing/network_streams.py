"""Connections on the event loop itself, for the HTTP library: its own ones work through a second library for each read and write.

- What arrives is buffered up to a limit; beyond it the other end has to wait.
- TLS is that of the loop. A stream is closed at once: nothing is awaited from the other end.
"""

import asyncio
import ssl
from collections.abc import Iterable
from typing import cast

import httpcore2

BUFFERED_BYTES = 256 * 1024


class LoopBackend(httpcore2.AsyncNetworkBackend):
    """Connects to an internet address."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Raises: httpcore2.ConnectTimeout, httpcore2.ConnectError."""
        assert local_address is None
        assert not socket_options
        try:
            async with asyncio.timeout(timeout):
                _, stream = await asyncio.get_running_loop().create_connection(_LoopStream, host, port)
        except TimeoutError as trouble:
            raise httpcore2.ConnectTimeout(str(trouble)) from trouble
        except OSError as trouble:
            raise httpcore2.ConnectError(str(trouble)) from trouble
        return stream


class _LoopStream(asyncio.Protocol, httpcore2.AsyncNetworkStream):
    def __init__(self) -> None:
        self._transport: asyncio.Transport
        self._received = bytearray()
        self._has_ended = False
        self._trouble: Exception | None = None
        self._is_held_back = False
        self._may_write = asyncio.Event()
        self._may_write.set()
        self._reading: asyncio.Future[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        if len(self._received) > BUFFERED_BYTES and not self._is_held_back:
            self._is_held_back = True
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> bool:
        self._has_ended = True
        self._wake()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._has_ended, self._trouble = True, exc
        self._may_write.set()
        self._wake()

    def pause_writing(self) -> None:
        self._may_write.clear()

    def resume_writing(self) -> None:
        self._may_write.set()

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        """Raises: httpcore2.ReadTimeout, httpcore2.ReadError."""
        if not self._received and not self._has_ended:
            self._reading = asyncio.get_running_loop().create_future()
            try:
                async with asyncio.timeout(timeout):
                    await self._reading
            except TimeoutError as trouble:
                raise httpcore2.ReadTimeout(str(trouble)) from trouble
            finally:
                self._reading = None
        if not self._received and self._trouble is not None:
            raise httpcore2.ReadError(str(self._trouble)) from self._trouble
        taken = bytes(self._received[:max_bytes])
        del self._received[:max_bytes]
        if self._is_held_back and len(self._received) <= BUFFERED_BYTES and not self._has_ended:
            self._is_held_back = False
            self._transport.resume_reading()
        return taken

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        """Raises: httpcore2.WriteTimeout, httpcore2.WriteError."""
        if not buffer:
            return
        if self._transport.is_closing():
            raise httpcore2.WriteError("the connection is closed") from self._trouble
        self._transport.write(buffer)
        if self._may_write.is_set():
            return
        try:
            async with asyncio.timeout(timeout):
                await self._may_write.wait()
        except TimeoutError as trouble:
            raise httpcore2.WriteTimeout(str(trouble)) from trouble

    async def aclose(self) -> None:
        self._transport.abort()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> httpcore2.AsyncNetworkStream:
        """Raises: httpcore2.ConnectTimeout, httpcore2.ConnectError."""
        loop, plain = asyncio.get_running_loop(), self._transport
        if plain.is_closing():
            raise httpcore2.ConnectError("the connection ended before the handshake")
        try:
            async with asyncio.timeout(timeout):
                secured = await loop.start_tls(plain, self, ssl_context, server_hostname=server_hostname)
        except TimeoutError as trouble:
            plain.abort()
            raise httpcore2.ConnectTimeout(str(trouble)) from trouble
        except (OSError, ssl.CertificateError) as trouble:
            plain.abort()
            raise httpcore2.ConnectError(str(trouble)) from trouble
        except BaseException:
            plain.abort()
            raise
        if secured is None or secured.is_closing() or secured.get_extra_info("ssl_object") is None:
            plain.abort()
            raise httpcore2.ConnectError("the connection ended during the handshake")
        self._transport = secured
        return self

    def get_extra_info(self, info: str) -> object:
        if info == "is_readable":
            # Of an idle connection: it has ended, or the other end sent what was not asked for.
            return self._has_ended or bool(self._received) or self._transport.is_closing()
        names = {"client_addr": "sockname", "server_addr": "peername"}
        return self._transport.get_extra_info(names.get(info, info))

    def _wake(self) -> None:
        if self._reading is not None and not self._reading.done():
            self._reading.set_result(None)
