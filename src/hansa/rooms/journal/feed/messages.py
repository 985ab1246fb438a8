"""What the feed says, framed for the wire."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

import msgspec

from hansa.foundation.plumbing.lines import text_frame
from hansa.foundation.words.errors import Refused
from hansa.rooms.journal.schemas import EventRecord
from hansa.rooms.journal.store import StoredEvent

from . import rules


@dataclass(frozen=True, eq=False)
class LiveEvent:
    """An event made ready once, for all who follow it; `record` is its JSON."""

    id: UUID
    sequence: int
    keys: tuple[str, ...]
    record: bytes
    frame: bytes

    @classmethod
    def of(cls, event: StoredEvent) -> "LiveEvent":
        """The event as it is told."""
        record = EventRecord.model_validate(event).model_dump_json().encode()
        return cls(
            id=event.id,
            sequence=event.sequence,
            keys=rules.keys_of(event.event_type, event.aggregate_id, event.data),
            record=record,
            frame=text_frame(b'{"type":"event","event":' + record + b"}"),
        )

    @property
    def replay_frame(self) -> bytes:
        return text_frame(b'{"type":"event","replay":true,"event":' + self.record + b"}")


def message(kind: str, **members: Any) -> bytes:
    """A message that is not an event."""
    return text_frame(msgspec.json.encode({"type": kind, **members}))


def refusal(trouble: Refused, channel: str | None = None) -> bytes:
    """Why a client's message was refused."""
    return message("error", code=trouble.code, detail=trouble.detail, channel=channel)


def resync(last: LiveEvent | None) -> bytes:
    """The last word to a reader that fell behind: where it stood, to go on from there by reading."""
    return message(
        "resync",
        last_event_id=str(last.id) if last else None,
        last_sequence=last.sequence if last else None,
        detail="This socket fell too far behind. Events after the last one were not sent; connect again.",
    )
