"""One line a second is written for one kind of trouble, and the omitted lines are counted."""

import asyncio
import json
import logging
import subprocess
import sys
from typing import Any

import asyncpg
import pytest
from structlog.testing import capture_logs

from hansa.foundation.plumbing.storage.connection import log_lost_connections
from hansa.foundation.plumbing.telemetry.log_noise import KINDS_MAX, NoiseFilter

FLOOD = """
import logging, structlog, threading
from hansa.foundation.plumbing.telemetry.log import configure_logs
configure_logs("info", "json")
log = structlog.get_logger()
for number in range(1000):
    log.warning("too many", address=str(number))
    log.info("request", status=200)
    logging.getLogger("elsewhere").warning("number %d", number)
    try:
        raise ValueError(number)
    except ValueError:
        log.exception("crashed")
while timers := [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]:
    timers[0].join()
"""


class Written:
    """Filter with a clock that the test moves, and the lines that passed it."""

    def __init__(self) -> None:
        self.now = 100.0
        self.noise = NoiseFilter(clock=lambda: self.now)
        self.lines: list[dict[str, Any]] = []

    def line(self, level: int = logging.WARNING, **event: Any) -> bool:
        record = logging.LogRecord("hansa", level, "", 0, event, None, None)
        passed = self.noise.filter(record)
        if passed:
            self.lines.append(event)
        return passed


def test_a_line_of_a_kind_is_written_once_a_second_and_the_next_one_counts_what_was_left_out():
    written = Written()
    assert [written.line(event="refused", code="A") for _ in range(5)] == [True, False, False, False, False]
    written.now += 1.1
    assert written.line(event="refused", code="A")
    assert written.lines[-1]["suppressed"] == 4
    written.now += 1.1
    assert written.line(event="refused", code="A")
    assert "suppressed" not in written.lines[-1]


def test_kinds_do_not_hide_each_other():
    written = Written()
    kinds = [{"event": "refused", "code": "A"}, {"event": "refused", "code": "B"}, {"event": "stopped"}]
    assert all(written.line(**kind) for kind in kinds)


def test_answers_are_noise_from_400_on():
    written = Written()
    assert all(written.line(logging.INFO, event="request", status=200) for _ in range(10))
    assert [written.line(logging.INFO, event="request", status=401) for _ in range(3)] == [True, False, False]


def test_made_up_kinds_do_not_fill_the_memory():
    written = Written()
    for number in range(2 * KINDS_MAX):
        assert written.line(event=f"kind {number}")
    assert len(written.noise._seen) <= KINDS_MAX


def test_a_flood_leaves_a_line_of_each_kind_and_one_that_counts_the_others():
    flood = subprocess.run([sys.executable, "-c", FLOOD], capture_output=True, text=True, check=True)
    lines = [json.loads(line) for line in flood.stderr.splitlines()]
    assert sum(line["event"] == "request" for line in lines) == 1000
    noise = [line for line in lines if line["event"] != "request"]
    assert len(noise) < 60
    for event in ("too many", "crashed"):
        of_kind = [line for line in noise if event in line["event"]]
        suppressed = sum(line.get("suppressed", 0) for line in of_kind if line["event"] == event)
        reported = sum(
            int(line["event"].split()[2]) for line in of_kind if line["event"].startswith("lines suppressed")
        )
        written = sum(line["event"] == event for line in of_kind)
        assert written + suppressed + reported == 1000, event


def test_the_exception_is_part_of_the_kind():
    written = Written()
    troubles = [ValueError("a"), KeyError("a"), ValueError("b")]
    assert [written.line(event="crashed", exc_info=error) for error in troubles] == [True, True, False]


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (asyncpg.ConnectionDoesNotExistError("the server stops"), "a connection to the database was lost"),
        (ValueError("a fault"), "Future exception was never retrieved"),
    ],
)
def test_a_lost_connection_that_nobody_awaits_is_one_line_and_another_error_has_its_traceback(
    error: Exception, message: str
):
    logged: list[Any] = []
    loop = asyncio.new_event_loop()

    async def leave() -> None:
        log_lost_connections(asyncio.get_running_loop())
        loop.create_future().set_exception(error)

    handler = logging.Handler()
    handler.emit = logged.append  # type: ignore[method-assign]
    logging.getLogger("asyncio").addHandler(handler)
    try:
        with capture_logs() as lines:
            loop.run_until_complete(leave())
    finally:
        logging.getLogger("asyncio").removeHandler(handler)
        loop.close()
    written = [line["event"] for line in lines] + [
        record.getMessage().partition("\n")[0] for record in logged
    ]
    assert written == [message]
