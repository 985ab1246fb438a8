"""Live events as they are made ready for readers."""

from datetime import UTC, datetime
from uuid import uuid4

import pytest

from hansa.foundation.events import event_types
from hansa.foundation.plumbing.jobs.reactors import StoredEvent
from hansa.rooms.journal.feed.messages import LiveEvent


@pytest.mark.parametrize("event_type", [*(kind.__name__ for kind in event_types()), "OfALaterVersion"])
def test_an_event_is_public_where_anyone_is_shown_a_part_of_it_and_is_framed_for_a_reader_alone(
    event_type: str,
):
    event = LiveEvent(stored(event_type))
    is_public = event.is_public
    assert not event._frames
    assert is_public == bool(event.frame_for(frozenset()))


def stored(event_type: str) -> StoredEvent:
    return StoredEvent(
        sequence=1,
        id=uuid4(),
        event_type=event_type,
        aggregate_id="did:a",
        aggregate_type="Agent",
        data={"did": "did:a"},
        metadata={},
        timestamp=datetime(2026, 1, 1, tzinfo=UTC),
        version=1,
        source_service="registry",
        idempotency_key=None,
        xid=1,
    )
