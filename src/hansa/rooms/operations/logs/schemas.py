"""Shapes of logs."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias
from uuid import UUID

from pydantic import AfterValidator, AwareDatetime, Field

from hansa.foundation.values.errors import Invalid
from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.request_body import RequestBody
from hansa.foundation.values.timestamps import ISO_ONLY

from . import rules
from .records import Entry, EntryFilter, Level, NewEntry, Source

TEXT_MAX = 200
PAGE_DEFAULT, PAGE_MAX = 50, 500
PORTION = 10

LevelIn: TypeAlias = Literal["DEBUG", "INFO", "WARN", "WARNING", "ERROR", "CRITICAL"]
Message = Annotated[
    str,
    Field(min_length=1, description="Stored without secrets, control characters escaped, and cut at 4,000."),
]
Metadata = Annotated[
    dict[str, Any],
    AfterValidator(rules.bounded_metadata),
    Field(description="At most 8,192 bytes as JSON, nested 4 levels deep."),
]
TraceId = Annotated[str, Field(pattern=r"^[0-9A-Fa-f]{32}$", description="Trace id of W3C Trace Context.")]


class LogEntryIn(RequestBody):
    """An entry; WARNING is stored as WARN, CRITICAL as ERROR."""

    level: LevelIn
    message: Message
    log_metadata: Metadata | None = None
    trace_id: TraceId | None = None

    def entry(self) -> NewEntry:
        """The entry that is stored."""
        return rules.new_entry(self.level, self.message, self.log_metadata, self.trace_id)


class LogsIn(RequestBody):
    """One entry by its own members, or several in `entries`."""

    level: LevelIn | None = None
    message: Message | None = None
    log_metadata: Metadata | None = None
    trace_id: TraceId | None = None
    entries: Annotated[list[LogEntryIn], Field(min_length=1, max_length=rules.ENTRIES_PER_REQUEST)] | None = (
        None
    )

    async def new_entries(self) -> list[NewEntry]:
        """The entries that are stored; other requests go on between portions of them. Raises: Invalid."""
        alone = (self.level, self.message, self.log_metadata, self.trace_id)
        if self.entries is not None:
            if any(member is not None for member in alone):
                raise Invalid(
                    "`entries` has the members of each entry; send none beside it.", field="entries"
                )
            stored = []
            for place, entry in enumerate(self.entries):
                if place and not place % PORTION:
                    await asyncio.sleep(0)
                stored.append(entry.entry())
            return stored
        if self.level is None or self.message is None:
            missing = "level" if self.level is None else "message"
            raise Invalid(
                "An entry needs `level` and `message`; several are sent in `entries`.", field=missing
            )
        return [rules.new_entry(self.level, self.message, self.log_metadata, self.trace_id)]


class LogsAcceptedOut(LazyModel):
    """Number of entries that were stored."""

    accepted: int


class LogsDeletedOut(LazyModel):
    """Number of entries that were deleted."""

    deleted: int


class LogsQuery(LazyModel):
    """Bounds of the entries; each that is set has to be met."""

    limit: int = Field(default=PAGE_DEFAULT, ge=1, le=PAGE_MAX)
    level: Level | None = None
    source: Source | None = None
    trace_id: TraceId | None = None
    q: str | None = Field(
        default=None, min_length=1, max_length=TEXT_MAX, description="Text in the message, in any case."
    )
    since: Annotated[AwareDatetime, ISO_ONLY] | None = Field(
        default=None, description="Time of the oldest entry."
    )
    next: str | None = Field(
        default=None, pattern=r"^log-[0-9]{1,18}$", description="The cursor of the previous page."
    )

    def entry_filter(self) -> EntryFilter:
        """The page that this query asks for, and one entry more."""
        return EntryFilter(
            limit=self.limit + 1,
            before=int(self.next.removeprefix("log-")) if self.next else None,
            level=self.level,
            source=self.source,
            trace_id=self.trace_id.lower() if self.trace_id else None,
            text=self.q,
            since=self.since,
        )


class LogEntryOut(LazyModel):
    """An entry. `source`: `agent`, or `registry` for what the registry added."""

    id: UUID
    level: Level
    message: str
    log_metadata: dict[str, Any] | None
    trace_id: str | None
    source: Source
    timestamp: datetime

    @classmethod
    def of(cls, entry: Entry) -> "LogEntryOut":
        return cls(
            id=entry.id,
            level=entry.level,
            message=entry.message,
            log_metadata=entry.metadata,
            trace_id=entry.trace_id,
            source=entry.source,
            timestamp=entry.written_at,
        )


class LogsOut(LazyModel):
    """A page of a log, newest first."""

    logs: list[LogEntryOut]
    next: str | None = Field(description="Send it as `next` for the following page; null on the last one.")

    @classmethod
    def of(cls, entries: Sequence[Entry], limit: int) -> "LogsOut":
        """The page of `limit` entries; one more that was found shows that another page follows."""
        shown = entries[:limit]
        return cls(
            logs=[LogEntryOut.of(entry) for entry in shown],
            next=f"log-{shown[-1].position}" if len(entries) > limit else None,
        )
