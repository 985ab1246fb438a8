"""The lines that the log has for requests: one each, at level info, written in batches off the path of the answers.

- The structured logger takes as long for a line as a hot route takes for its answer; these lines are formatted by hand.
- The requests of the last tenth of a second before a kill may be missing; an orderly stop writes everything.
- The query of a path is never written, and no path of a route that takes a secret in its path.
"""

import asyncio
import os
import re
from datetime import UTC, datetime
from functools import lru_cache
from json.encoder import encode_basestring_ascii

import msgspec

FLUSH_SECONDS = 0.1
FLUSH_LINES = 2000
PATH_MAX_CHARACTERS = 256
STANDARD_ERROR = 2
SECRET_IN_PATH = re.compile(r"\{code\}")

_PLAIN = re.compile(rb"[!#-&(-\[\]-~]*", re.ASCII)


class RequestLine(msgspec.Struct, frozen=True, gc=False):
    """One answer. `at` is its time in seconds since 1970, `route` the template of the path."""

    at: float
    method: str
    raw_path: bytes
    route: str
    status: int
    seconds: float
    request_id: bytes
    trace_id: str | None = None


class RequestLog:
    """The lines of one process that are not written yet."""

    def __init__(self) -> None:
        self._form = ""
        self._lines: list[RequestLine] = []
        self._due: asyncio.TimerHandle | None = None

    def configure(self, level: str, form: str) -> None:
        """Begin to write, as `console` or `json`, unless the level leaves these lines out."""
        self._form = form if level in {"debug", "info"} else ""

    def add(self, line: RequestLine) -> None:
        """Note one answer. Must be called in the event loop."""
        if not self._form:
            return
        self._lines.append(line)
        if self._due is None:
            self._due = asyncio.get_running_loop().call_later(FLUSH_SECONDS, self.flush)
        elif len(self._lines) >= FLUSH_LINES:
            self.flush()

    def flush(self) -> None:
        """Write the gathered lines. A log that cannot be written loses lines; requests are answered all the same."""
        if self._due is not None:
            self._due.cancel()
            self._due = None
        lines, self._lines = self._lines, []
        shape = _as_json if self._form == "json" else _as_text
        content = "".join([shape(line) for line in lines]).encode()
        try:
            while content:
                content = content[os.write(STANDARD_ERROR, content) :]
        except OSError:
            return


def _as_text(line: RequestLine) -> str:
    trace = "" if line.trace_id is None else f" trace_id={line.trace_id}"
    return (
        f"{_moment(line.at)} [info     ] request                        method={line.method}"
        f" milliseconds={line.seconds * 1000:.1f} path={_shown(line.raw_path, line.route)}"
        f" request_id={line.request_id.decode()} status={line.status}{trace}\n"
    )


def _as_json(line: RequestLine) -> str:
    path = encode_basestring_ascii(_shown(line.raw_path, line.route))
    trace = "" if line.trace_id is None else f' "trace_id": "{line.trace_id}",'
    return (
        f'{{"method": "{line.method}", "path": {path}, "status": {line.status},'
        f' "milliseconds": {line.seconds * 1000:.1f}, "request_id": "{line.request_id.decode()}",{trace}'
        f' "event": "request", "level": "info", "timestamp": "{_moment(line.at)}"}}\n'
    )


@lru_cache(maxsize=4096)
def _shown(raw_path: bytes, route: str) -> str:
    """The path, in one word whatever its bytes."""
    if SECRET_IN_PATH.search(route):
        return route
    raw_path = raw_path.partition(b"?")[0][:PATH_MAX_CHARACTERS]
    if _PLAIN.fullmatch(raw_path):
        return raw_path.decode("ascii")
    return "".join(chr(byte) if _PLAIN.fullmatch(bytes([byte])) else f"%{byte:02X}" for byte in raw_path)


def _moment(at: float) -> str:
    second = int(at)
    return f"{_second(second)}.{int((at - second) * 1_000_000):06d}Z"


@lru_cache(maxsize=8)
def _second(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")


request_log = RequestLog()
"""That of this process."""
