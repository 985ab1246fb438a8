"""A TLS handshake that fails counts against the address of its client: it costs more than most requests."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator

import pytest

from hansa.doors.http.connection.acceptor import ConnectionAcceptor, Placed
from hansa.doors.http.connection.per_address import REFUSALS_MAX, AddressCounts
from tests.doors.wires import LIMIT_SECONDS


class Handshakes:
    """TLS without a certificate of its own: every handshake fails."""

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)


@pytest.fixture
async def address() -> AsyncIterator[tuple[str, int]]:
    """Address of a listener with a limit of ten connections for each client address."""
    with socket.create_server(("127.0.0.1", 0), backlog=1000) as listener:
        acceptor = ConnectionAcceptor(listener, Placed, Handshakes(), AddressCounts(10, exempt=[]))
        yield listener.getsockname()
        acceptor.close()
        await acceptor.wait_closed()


def client_hello() -> bytes:
    sent = ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), sent, server_hostname="registry.test")
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return sent.read()


async def end_of(address: tuple[str, int], sent: bytes) -> bytes:
    """Send the bytes, and return the bytes received until the other side ends the connection."""
    reader, writer = await asyncio.open_connection(*address)
    try:
        writer.write(sent)
        async with asyncio.timeout(LIMIT_SECONDS):
            return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.transport.abort()


@pytest.mark.parametrize(
    "sent",
    [client_hello(), b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\xff\xff" + b"\xff" * 70_000],
    ids=["a greeting", "plain HTTP", "a record of noise"],
)
async def test_an_address_whose_handshakes_fail_too_often_gets_no_new_ones(
    address: tuple[str, int], sent: bytes
):
    for _ in range(REFUSALS_MAX):
        await end_of(address, sent)
    with socket.create_connection(address) as refused:
        refused.setblocking(False)
        # Nothing is read from it and nothing answered: it is held, and closed later.
        await asyncio.get_running_loop().sock_sendall(refused, client_hello())
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await asyncio.get_running_loop().sock_recv(refused, 100)
