"""Resume the events that a reactor gave up on, at an administrator's request."""

from collections.abc import Sequence
from functools import partial

import msgspec

from hansa.foundation.plumbing.jobs.reactors import Reactor
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.web.admin_acts import record_admin_act
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.errors import Unavailable
from hansa.rooms.journal.reading_store import Place

from . import store
from .errors import ReactorUnknown
from .rules import error_text

RESUMED_MAX = 100


class Resumed(msgspec.Struct, frozen=True):
    """How many events were reacted to, and how many failed again."""

    reacted: int
    failed: int


async def resume_events(
    database: Database, reactors: Sequence[Reactor], name: str, administrator: Developer
) -> Resumed:
    """React to the oldest events that the reactor set aside, each in a transaction of its own.

    Raises: ReactorUnknown, Unavailable.
    """
    reactor = next((one for one in reactors if one.name == name), None)
    if reactor is None:
        raise ReactorUnknown
    await database.transaction(
        lambda tx: record_admin_act(tx, administrator, act="reactor.retry", subject=name)
    )
    places = await database.read(lambda tx: store.places_set_aside(tx, name, RESUMED_MAX))
    reacted = failed = 0
    for place in places:
        try:
            reacted += await database.transaction(partial(_react, reactor=reactor, place=place))
        except Unavailable:
            raise
        except Exception as failure:  # noqa: BLE001
            failed += 1
            again = partial(store.fail_again, name=name, place=place, error=error_text(failure))
            await database.transaction(again)
    return Resumed(reacted, failed)


async def _react(tx: Tx, *, reactor: Reactor, place: Place) -> int:
    event = await store.take_back(tx, reactor.name, place)
    if event is None:
        return 0
    await reactor.react(tx, event)
    return 1
