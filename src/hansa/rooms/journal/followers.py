"""Followers: readers outside the registry that receive every event once, in the order of the journal.

- The row of a follower is its place, behind the last event that was acknowledged outside. It moves forward only.
- No month of the journal is dropped before every follower is beyond it.
- A follower moves by an UPDATE that names the former place: of two processes under one name the second is refused.
- Events are read up to the oldest open transaction, so that none can appear behind the place.
"""

from collections.abc import Sequence

from hansa.foundation.plumbing.jobs.reactors import StoredEvent
from hansa.foundation.plumbing.storage.database import Database, Tx

from . import followers_store
from .errors import FollowerMoved, FollowerUnknown
from .feed.store import Place, events_after


async def place_of_follower(tx: Tx, name: str) -> Place:
    """The place of the follower of this name; before the first event where there was none."""
    return await followers_store.place(tx, name)


async def events_to_follow(database: Database, place: Place, most: int) -> Sequence[StoredEvent]:
    """The next events behind the place, which the synchronous standbys have when this returns. Raises: Unavailable."""
    return await database.read_replicated(lambda tx: events_after(tx, place, most))


async def move_follower(tx: Tx, name: str, *, before: Place, to: Place) -> None:
    """Move the follower behind the event at `to`. Raises: FollowerMoved, when it is not at `before`."""
    if not await followers_store.move(tx, name, before=before, to=to):
        raise FollowerMoved


async def follower_before(tx: Tx, place: Place) -> str | None:
    """The name of a follower that has yet to publish an event up to the place, the one that rests longest; None where none has."""
    return await followers_store.behind(tx, place)


async def forget_follower(tx: Tx, name: str) -> None:
    """Delete the place of a follower that publishes no more. Raises: FollowerUnknown."""
    if not await followers_store.forget(tx, name):
        raise FollowerUnknown(f"No follower is named {name!r}.")
