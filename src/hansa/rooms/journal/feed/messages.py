"""Messages of the feed, framed for the wire.

Queue of messages for one reader of the public stream. No writer waits for a reader: one that falls behind is ended.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from uuid import UUID

import msgspec

from hansa.foundation.plumbing.jobs.reactors import StoredEvent
from hansa.foundation.plumbing.telemetry.lines import text_frame
from hansa.foundation.plumbing.telemetry.metrics import feed_readers_dropped_total
from hansa.foundation.values.errors import Refused
from hansa.rooms.journal.audience import is_shown, seen_by
from hansa.rooms.journal.parties import parties_of
from hansa.rooms.journal.schemas import EventRecord

from . import rules
from .store import Place

WAITING_MAX = 1000


class LiveEvent:
    """An event for all who follow it, made ready once for the public and once for each set of parties that read it."""

    def __init__(self, event: StoredEvent) -> None:
        self.id: UUID = event.id
        self.sequence = event.sequence
        self.place = Place.of(event)
        parties = parties_of(event.event_type, event.aggregate_id, event.data)
        self.keys = rules.keys_under(event.event_type, parties, event.data)
        self._event = event
        self._parties = frozenset(parties)
        self._records: dict[frozenset[str], bytes | None] = {}
        self._frames: dict[frozenset[str], bytes] = {}

    @property
    def is_public(self) -> bool:
        """Return whether anyone may see it, in part at least. Nothing is made ready for that: mostly nobody reads it."""
        return is_shown(self._event, frozenset())

    @property
    def public_record(self) -> bytes:
        """The event as JSON, as anyone sees it. Only of an event that `is_public`."""
        record = self._record_for(frozenset())
        assert record is not None
        return record

    def frame_for(self, agents: frozenset[str]) -> bytes:
        """The live message to a reader who owns these agents; empty when the event is not shown to it."""
        own = agents & self._parties
        frame = self._frames.get(own)
        if frame is None:
            record = self._record_for(own)
            frame = b"" if record is None else text_frame(b'{"type":"event","event":' + record + b"}")
            self._frames[own] = frame
        return frame

    def replay_frame_for(self, agents: frozenset[str]) -> bytes:
        """The same as a message of a replay."""
        record = self._record_for(agents & self._parties)
        return (
            b"" if record is None else text_frame(b'{"type":"event","replay":true,"event":' + record + b"}")
        )

    def _record_for(self, own: frozenset[str]) -> bytes | None:
        if own not in self._records:
            shown = seen_by(self._event, own)
            self._records[own] = (
                None if shown is None else EventRecord.model_validate(shown).model_dump_json().encode()
            )
        return self._records[own]


def message(kind: str, **members: Any) -> bytes:
    """A message that is not an event."""
    return text_frame(msgspec.json.encode({"type": kind, **members}))


def refusal(failure: Refused, channel: str | None = None) -> bytes:
    """Why a client's message was refused."""
    return message("error", code=failure.code, detail=failure.detail, channel=channel)


def resync(last: LiveEvent | None) -> bytes:
    """The last word to a reader that fell behind: where it stood, to go on from there by reading."""
    return message(
        "resync",
        last_event_id=str(last.id) if last else None,
        last_sequence=last.sequence if last else None,
        detail="This socket fell too far behind. Events after the last one were not sent; connect again.",
    )


class ListenerQueue:
    """The public events of the given type and DID that one reader has not taken yet."""

    def __init__(self, event_type: str | None, did: str | None) -> None:
        keys = (event_type and rules.OF_TYPE + event_type, did and rules.OF_AGENT + did)
        self._keys = frozenset(key for key in keys if key)
        self._waiting: deque[LiveEvent] = deque()
        self._has_news = asyncio.Event()
        self.is_over = False
        """Whether nothing more comes: the reader fell behind, or the process stops."""

    def wants(self, event: LiveEvent) -> bool:
        """Return whether the reader asked for this event and may see it."""
        return self._keys.issubset(event.keys) and event.is_public

    def deliver(self, events: Sequence[LiveEvent]) -> None:
        """Let these events wait, as far as they are wanted."""
        self._waiting.extend(event for event in events if self.wants(event))
        if len(self._waiting) > WAITING_MAX:
            feed_readers_dropped_total.inc()
            self.end()
        if self._waiting:
            self._has_news.set()

    def end(self) -> None:
        """Drop the queued messages and notify the reader that nothing more comes."""
        self.is_over = True
        self._waiting.clear()
        self._has_news.set()

    async def take(self, seconds: float) -> list[LiveEvent]:
        """Everything that waits; empty after so many seconds without an event, and at the end."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._has_news.wait()
        taken = list(self._waiting)
        self._waiting.clear()
        if not self.is_over:
            self._has_news.clear()
        return taken
