"""The log lines of requests."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hansa.foundation.plumbing.telemetry import request_log as module
from hansa.foundation.plumbing.telemetry.request_log import RequestLine, RequestLog

Written = Callable[..., str]


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Written:
    """Return a call that logs lines at a level in a form and returns the text of the log."""
    log = tmp_path / "log"
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT)
    monkeypatch.setattr(module, "STANDARD_ERROR", descriptor)

    async def write(*lines: RequestLine, level: str = "info", form: str = "console") -> str:
        requests = RequestLog()
        requests.configure(level, form)
        for line in lines:
            requests.add(line)
        requests.flush()
        return log.read_text()

    return write


def line(raw_path: bytes = b"/health", route: str = "/health") -> RequestLine:
    return RequestLine(1_700_000_000.25, "GET", raw_path, route, 200, 0.0123, b"abc")


async def test_a_line_names_method_path_status_time_and_request(written: Written):
    assert await written(line()) == (
        "2023-11-14T22:13:20.250000Z [info     ] request                        method=GET milliseconds=12.3"
        " path=/health request_id=abc status=200\n"
    )


async def test_json_lines_have_the_same_members(written: Written):
    assert json.loads(await written(line(), form="json")) == {
        "timestamp": "2023-11-14T22:13:20.250000Z",
        "level": "info",
        "event": "request",
        "method": "GET",
        "milliseconds": 12.3,
        "path": "/health",
        "request_id": "abc",
        "status": 200,
    }


@pytest.mark.parametrize("form", ["console", "json"])
async def test_no_path_breaks_out_of_its_line(written: Written, form: str):
    hostile = b'/a\nb\x1b[2J" status=200 \\x\xff?token=secret'
    logged = await written(line(hostile), form=form)
    assert logged.count("\n") == 1
    assert "\x1b" not in logged
    assert '" status' not in logged
    assert "secret" not in logged


async def test_a_route_with_a_secret_in_its_path_is_named_by_its_template(written: Written):
    route = "/api/v1/admin/invite-codes/{code}"
    assert "INV-1" not in await written(line(b"/api/v1/admin/invite-codes/INV-1", route))


async def test_a_level_above_info_leaves_the_lines_out(written: Written):
    assert await written(line(), level="warning") == ""


async def test_a_log_that_cannot_be_written_raises_nothing(monkeypatch: pytest.MonkeyPatch):
    descriptor = os.open("/dev/full", os.O_WRONLY)
    monkeypatch.setattr(module, "STANDARD_ERROR", descriptor)
    requests = RequestLog()
    requests.configure("info", "console")
    requests.add(line())
    requests.flush()
    os.close(descriptor)
