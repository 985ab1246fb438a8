"""Requests and connections that are due to end at once end in portions, between which the event loop does other work."""

import asyncio
import socket
from collections.abc import Callable

import pytest

from hansa.doors.http.admission import REFUSED_AT_ONCE_MAX, Admission
from hansa.doors.http.connection import acceptor
from hansa.doors.http.connection.acceptor import (
    CLOSED_AT_ONCE_MAX,
    ConnectionAcceptor,
    Placed,
    RefusedSockets,
)
from hansa.doors.http.connection.deadlines import OVERDUE_AT_ONCE_MAX, Deadlines
from hansa.doors.http.connection.per_address import AddressCounts
from tests.doors.wires import LIMIT_SECONDS

CROWD = 100


async def most_in_one_turn(count: Callable[[], int], until: int) -> int:
    """The largest difference of this count from one turn of the loop to the next, until it is reached."""
    largest, before = 0, count()
    async with asyncio.timeout(LIMIT_SECONDS):
        while before < until:
            await asyncio.sleep(0)
            largest, before = max(largest, count() - before), count()
    return largest


async def test_requests_that_are_late_together_are_refused_a_few_at_a_time():
    admission, refused = Admission(places=0, timeout_seconds=0.01), []
    for number in range(CROWD):
        admission.ask(lambda: True, lambda number=number: refused.append(number))
    assert await most_in_one_turn(lambda: len(refused), CROWD) == REFUSED_AT_ONCE_MAX
    assert refused == list(range(CROWD))


class Overdue:
    """Something with a deadline."""

    due = filed = 2**62
    is_over = False

    def overdue(self) -> None:
        self.is_over = True


async def test_connections_that_are_overdue_together_end_a_few_at_a_time():
    deadlines, crowd = Deadlines(0.01), [Overdue() for _ in range(CROWD)]
    for one in crowd:
        deadlines.arm(one, 1)
    assert await most_in_one_turn(lambda: sum(one.is_over for one in crowd), CROWD) == OVERDUE_AT_ONCE_MAX


async def test_a_connection_that_went_on_before_its_turn_came_is_not_ended():
    deadlines, crowd = Deadlines(0.01), [Overdue() for _ in range(CROWD)]
    for one in crowd:
        deadlines.arm(one, 1)
    await most_in_one_turn(lambda: sum(one.is_over for one in crowd), 1)
    moved, gone, cleared, *others = [one for one in crowd if not one.is_over]
    deadlines.arm(moved, 1000)
    deadlines.forget(gone)
    deadlines.clear(cleared)
    await most_in_one_turn(lambda: sum(one.is_over for one in others), len(others))
    assert [one.is_over for one in (moved, gone, cleared)] == [False] * 3


async def test_refused_connections_are_closed_a_few_at_a_time():
    refused = RefusedSockets(held_seconds=0.01)
    clients = []
    for _ in range(CROWD):
        client, connection = socket.socketpair()
        refused.refuse(connection, is_plain=False)
        clients.append(client)
    assert await most_in_one_turn(lambda: CROWD - len(refused), CROWD) == CLOSED_AT_ONCE_MAX
    for client in clients:
        client.close()


async def test_a_turn_of_the_loop_takes_in_no_more_once_it_has_taken_its_time(
    monkeypatch: pytest.MonkeyPatch,
):
    class Counted(Placed):
        made = 0

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            Counted.made += 1

    class Clock:
        seconds = 0.0

        @classmethod
        def perf_counter(cls) -> float:
            cls.seconds += acceptor.ACCEPTING_SECONDS / 4
            return cls.seconds

    monkeypatch.setattr(acceptor, "time", Clock)
    with socket.create_server(("127.0.0.1", 0), backlog=CROWD) as listener:
        clients = [socket.create_connection(listener.getsockname()) for _ in range(CROWD)]
        taking_in = ConnectionAcceptor(listener, Counted, None, AddressCounts(1, exempt=["127.0.0.1"]))
        # What is accepted in one turn is made in the next ones.
        assert await most_in_one_turn(lambda: Counted.made, CROWD) <= 8
        taking_in.close()
        await taking_in.wait_closed()
        for client in clients:
            client.close()
