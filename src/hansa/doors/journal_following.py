"""Follower of the journal that publishes each event to a stream of NATS (JetStream), once and in the order of the journal.

- The id of a message is that of its event, and its header `Hansa-Position` has the place of the event in the journal.
- The place is stored after the server acknowledged. A follower that begins goes on behind the stored place or the newest message of
  the stream, whichever is later: a process that died in between publishes nothing twice.
- While the server or the database is away the follower waits and connects again.
"""

import asyncio
import signal
from contextlib import suppress
from pathlib import Path

import msgspec
import structlog

from hansa.foundation.plumbing.jobs.reactors import StoredEvent
from hansa.foundation.plumbing.outgoing.nats_stream import (
    NatsStream,
    StreamMessage,
    StreamUnreachable,
    nats_stream,
)
from hansa.foundation.plumbing.storage.database import OUT_OF_REACH, Database
from hansa.foundation.values.errors import Unavailable
from hansa.rooms import journal

POSITION_HEADER = "Hansa-Position"
BATCH_MAX = 2000
LOOK_AGAIN_SECONDS = 1.0
"""An older open transaction holds back events without a notification at its end."""
PAUSE_SECONDS, PAUSE_MAX_SECONDS = 1.0, 30.0

_log = structlog.get_logger()
_ENCODER = msgspec.json.Encoder()


class Target(msgspec.Struct, frozen=True):
    """The stream that receives the events; subjects are `<prefix>.<event type>`."""

    url: str
    stream: str
    prefix: str
    credentials: Path | None = None


class Follower:
    """Publishes the events behind its place; `count` is how many were published in this run."""

    def __init__(self, database: Database, target: Target, name: str) -> None:
        self._database, self._target, self._name = database, target, name
        self._pause = PAUSE_SECONDS
        self.count = 0

    async def run(self, *, until_caught_up: bool) -> None:
        """Publish until cancelled, or until no event is left. Raises: StreamRefused, FollowerMoved.

        With `until_caught_up` also raises StreamUnreachable and Unavailable.
        """
        while True:
            try:
                await self._follow(until_caught_up=until_caught_up)
            except (StreamUnreachable, Unavailable, *OUT_OF_REACH) as error:
                if until_caught_up:
                    raise
                _log.warning(
                    "follower waits", reason=getattr(error, "detail", "") or str(error), seconds=self._pause
                )
                await asyncio.sleep(self._pause)
                self._pause = min(2 * self._pause, PAUSE_MAX_SECONDS)
            else:
                return

    async def _follow(self, *, until_caught_up: bool) -> None:
        wake = asyncio.Event()
        target = self._target
        opening = nats_stream(target.url, target.stream, f"{target.prefix}.>", credentials=target.credentials)
        async with opening as stream, journal.listening(self._database.dsn, wake):
            place = await self._begun(stream)
            while True:
                wake.clear()
                events = await journal.events_to_follow(self._database, place, BATCH_MAX)
                if events:
                    await stream.publish([message_of(event, target.prefix) for event in events])
                    place = await self._moved(place, journal.Place.of(events[-1]))
                    self.count += len(events)
                    self._pause = PAUSE_SECONDS
                elif until_caught_up:
                    return
                else:
                    with suppress(TimeoutError):
                        async with asyncio.timeout(LOOK_AGAIN_SECONDS):
                            await wake.wait()

    async def _begun(self, stream: NatsStream) -> journal.Place:
        """The place behind which nothing is published."""
        stored = await self._database.transaction(lambda tx: journal.place_of_follower(tx, self._name))
        published = _place_in(await stream.last_header(POSITION_HEADER))
        return stored if published <= stored else await self._moved(stored, published)

    async def _moved(self, before: journal.Place, to: journal.Place) -> journal.Place:
        await self._database.transaction(
            lambda tx: journal.move_follower(tx, self._name, before=before, to=to)
        )
        return to


def message_of(event: StoredEvent, prefix: str) -> StreamMessage:
    """The message of an event: its members as JSON, as the log of `GET /api/v1/event-store/events` has them."""
    members = msgspec.structs.asdict(event)
    position = f"{members.pop('xid')}.{event.sequence}"
    return StreamMessage(
        str(event.id), f"{prefix}.{event.event_type}", {POSITION_HEADER: position}, _ENCODER.encode(members)
    )


def _place_in(position: str | None) -> journal.Place:
    """The place in a header; before the first event where a stream has none, or another one than ours."""
    xid, _, seq = (position or "").partition(".")
    return journal.Place(int(xid), int(seq)) if xid.isdecimal() and seq.isdecimal() else journal.Place(0, 0)


async def follow(follower: Follower, *, until_caught_up: bool) -> None:
    """Run the follower until SIGTERM or SIGINT, or until no event is left. Raises: as `Follower.run`."""
    task = asyncio.create_task(follower.run(until_caught_up=until_caught_up))
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    with suppress(asyncio.CancelledError):
        await task
