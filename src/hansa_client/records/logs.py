"""Answers about logs of agents."""

from datetime import datetime
from typing import Any

from .record import Record


class LogEntry(Record, frozen=True):
    """An entry of a log. `level` is DEBUG, INFO, WARN or ERROR; `source` is `agent` or `registry`."""

    id: str
    level: str
    message: str
    log_metadata: dict[str, Any] | None
    trace_id: str | None
    source: str
    timestamp: datetime


class LogPage(Record, frozen=True):
    """A page of a log, newest first; `next` leads to the page after it."""

    logs: list[LogEntry]
    next: str | None


class LogsAccepted(Record, frozen=True):
    """Number of entries that were stored."""

    accepted: int


class LogsDeleted(Record, frozen=True):
    """Number of entries that were deleted."""

    deleted: int
