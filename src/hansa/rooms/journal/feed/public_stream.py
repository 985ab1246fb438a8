"""Public events as server-sent events (WHATWG HTML, 9.2), from a position on.

- The id of each message is a position of the log. A reader that returns with the last id it received (`Last-Event-ID`)
  receives the events committed since, once and in order, and then those committed from then on.
- Where more was missed than is read for one reader, a message `gap` says so, and the stream goes on from now.
- Where events behind the position were archived and dropped, a message `gap` says so, and the stream goes on with those stored.
- A silent stream sends a comment and its position at intervals, so that no proxy ends it and the position stays new.
"""

from collections.abc import AsyncIterator

import msgspec

from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.values.errors import Unavailable
from hansa.rooms.journal import reading_store
from hansa.rooms.journal.archive import boundary
from hansa.rooms.journal.reading import seal, unseal

from .live_feed import LiveFeed
from .messages import ListenerQueue, LiveEvent
from .store import Place

KEEP_ALIVE_SECONDS = 15.0
RETRY_MILLISECONDS = 2000
BUSY_RETRY_MILLISECONDS = 10_000
MISSED_MAX = 2000
READ_AT_ONCE = 500


class StreamFilter(msgspec.Struct, frozen=True):
    """Filter of a stream by event type and DID, and the position after which it begins; without one, from now on."""

    event_type: str | None = None
    did: str | None = None
    after: Place | None = None

    @classmethod
    def of(cls, event_type: str | None, did: str | None, position: str | None) -> "StreamFilter":
        """The filter of a request. Raises: CursorInvalid."""
        return cls(event_type, did, Place(*unseal(position, 2)) if position else None)


async def event_stream(feed: LiveFeed, database: Database, query: StreamFilter) -> AsyncIterator[bytes]:
    """The stream, as bytes on the wire. It ends when the reader falls behind or the process stops; readers come back."""
    retry = b"retry: %d\n\n" % RETRY_MILLISECONDS
    if feed.is_ending:
        yield retry
        return
    try:
        async with feed.needed():
            with feed.place(), feed.listening(query.event_type, query.did) as queue:
                # Read in the step in which the queue was opened: later events wait there, the others are in the log.
                now = feed.position
                yield retry
                if query.after is not None:
                    async for part in _missed(database, query.after, now, queue):
                        yield part
                while not queue.is_over:
                    events = await queue.take(KEEP_ALIVE_SECONDS)
                    if events:
                        yield b"".join(map(_message, events))
                    elif not queue.is_over:
                        yield b": keep-alive\nid: %b\n\n" % _id(feed.position)
    except Unavailable:
        yield b"retry: %d\n\n" % BUSY_RETRY_MILLISECONDS


async def _missed(
    database: Database, after: Place, until: Place, queue: ListenerQueue
) -> AsyncIterator[bytes]:
    """Yield the events committed after a position up to another one; both are of the past."""
    read = 0
    while after < until:
        place = (after.xid, after.seq)
        stored = await database.read_replicated(
            lambda tx, place=place: reading_store.events_after(  # type: ignore[misc]
                tx, place, event_type=None, limit=READ_AT_ONCE, offset=0
            )
        )
        if not read and (end := await database.query(boundary)) is not None and place < end.place:
            # Judged after the first page was read: a month that is dropped meanwhile is seen.
            yield b"event: gap\ndata: %b\n\n" % msgspec.json.encode({"detail": end.refusal().detail})
        due = [event for event in map(LiveEvent, stored) if event.place <= until]
        yield b"".join(_message(event) for event in due if queue.wants(event))
        read += len(due)
        if len(due) < READ_AT_ONCE:
            return
        if read >= MISSED_MAX:
            yield b"event: gap\nid: %b\ndata: {}\n\n" % _id(until)
            return
        after = due[-1].place


def _message(event: LiveEvent) -> bytes:
    return b"id: %b\ndata: %b\n\n" % (_id(event.place), event.public_record)


def _id(place: Place) -> bytes:
    return seal(place.xid, place.seq).encode()
