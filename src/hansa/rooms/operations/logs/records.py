"""Entries of logs."""

from datetime import datetime
from typing import Any, Literal, TypeAlias
from uuid import UUID

import msgspec

Level: TypeAlias = Literal["DEBUG", "INFO", "WARN", "ERROR"]
Source: TypeAlias = Literal["agent", "registry"]


class NewEntry(msgspec.Struct, frozen=True):
    """Entry that is to be stored: without secrets, harmless to show. `metadata` is JSON."""

    level: Level
    message: str
    metadata: str | None
    trace_id: str | None

    @property
    def size_bytes(self) -> int:
        """Bytes that count in the quota of the log."""
        return len(self.message.encode()) + len((self.metadata or "").encode())


class Entry(msgspec.Struct, frozen=True):
    """Stored entry; entries of one log have rising positions and times that never fall."""

    position: int
    id: UUID
    level: Level
    message: str
    metadata: dict[str, Any] | None
    trace_id: str | None
    source: Source
    written_at: datetime


class EntryFilter(msgspec.Struct, frozen=True):
    """Page of a log: the newest entries before a position that meet every bound that is set."""

    limit: int
    before: int | None = None
    level: Level | None = None
    source: Source | None = None
    trace_id: str | None = None
    text: str | None = None
    since: datetime | None = None
