"""Connections are taken in many at a turn of the loop, and none is lost where the system allows no more."""

import asyncio
import errno
import gc
import socket
import struct
from collections.abc import Iterator

import pytest

from hansa.doors.http.connection.acceptor import ACCEPTED_AT_ONCE_MAX, ConnectionAcceptor, Placed
from hansa.doors.http.connection.per_address import AddressCounts

UNCOUNTED = AddressCounts(1, exempt=["127.0.0.1"])


class Counted(Placed):
    """A connection that counts how many were made."""

    made = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        Counted.made += 1


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    Counted.made = 0
    with socket.create_server(("127.0.0.1", 0), backlog=1000) as listener:
        yield listener


@pytest.fixture
def crowd(listener: socket.socket) -> Iterator[list[socket.socket]]:
    """Clients that wait at the door."""
    clients = [socket.create_connection(listener.getsockname()) for _ in range(ACCEPTED_AT_ONCE_MAX)]
    yield clients
    for client in clients:
        client.close()


async def all_in(count: int) -> int:
    """Wait until so many are in; returns after how many turns of the loop."""
    turns = 0
    async with asyncio.timeout(60):
        while Counted.made < count:
            turns += 1
            await asyncio.sleep(0)
    return turns


async def test_a_crowd_is_in_after_a_few_turns_of_the_loop(
    listener: socket.socket, crowd: list[socket.socket]
):
    acceptor = ConnectionAcceptor(listener, Counted, None, UNCOUNTED)
    turns = await all_in(len(crowd))
    assert turns <= 40, "the loop's own server takes in one at each turn"
    acceptor.close()
    await acceptor.wait_closed()


class OutOfFiles(socket.socket):
    """A listener that cannot open a file, and then one whose client is gone."""

    def __init__(self, listener: socket.socket) -> None:
        super().__init__(fileno=listener.detach())
        self._troubles = [OSError(errno.EMFILE, "Too many open files"), ConnectionAbortedError()]

    def accept(self) -> tuple[socket.socket, object]:
        if self._troubles:
            raise self._troubles.pop(0)
        return super().accept()


async def test_who_comes_while_no_file_can_be_opened_is_taken_in_later(
    listener: socket.socket, crowd: list[socket.socket]
):
    with OutOfFiles(listener) as short:
        acceptor = ConnectionAcceptor(short, Counted, None, UNCOUNTED)
        await all_in(len(crowd))
        acceptor.close()
        await acceptor.wait_closed()


async def test_who_has_gone_before_being_let_in_troubles_nobody(
    listener: socket.socket, crowd: list[socket.socket]
):
    for client in crowd:
        # Closed at once, and the other side gets a reset.
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
    troubles: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, error: troubles.append(error))
    acceptor = ConnectionAcceptor(listener, Counted, None, UNCOUNTED)
    with socket.create_connection(listener.getsockname()):
        await all_in(1)
        await asyncio.sleep(0.05)
    acceptor.close()
    await acceptor.wait_closed()
    gc.collect()
    assert troubles == []


async def test_nobody_is_taken_in_after_the_close(listener: socket.socket):
    acceptor = ConnectionAcceptor(listener, Counted, None, UNCOUNTED)
    acceptor.close()
    with socket.create_connection(listener.getsockname()):
        await asyncio.sleep(0.05)
    assert Counted.made == 0
    await acceptor.wait_closed()
