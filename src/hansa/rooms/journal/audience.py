"""Parts of an event that a reader sees; every public reading of the journal goes through here.

- Internal readers see the whole event and do not come here.
- The public sees types, parties and amounts. Members that an event type withholds are absent, private types are left out.
- The owner of an agent sees the events of that agent whole, but of the balances after a transaction its own alone.
"""

from collections.abc import Collection, Mapping
from typing import Any

from msgspec.structs import replace

from hansa.foundation.events import event_types
from hansa.foundation.plumbing.jobs.reactors import StoredEvent

from .parties import parties_of

_KINDS = {kind.__name__: kind for kind in event_types()}

PRIVATE_TYPES = sorted(name for name, kind in _KINDS.items() if kind.is_private)


def is_shown(event: StoredEvent, own: Collection[str]) -> bool:
    """Return whether the owner of these parties of the event sees it, in part at least; the public, when there are none."""
    kind = _KINDS.get(event.event_type)
    return kind is None or not kind.is_private or bool(own)


def seen_by(event: StoredEvent, agents: Collection[str]) -> StoredEvent | None:
    """The event as the owner of `agents` sees it, or the public when there are none; None when it is not shown at all."""
    kind = _KINDS.get(event.event_type)
    if kind is None:
        return event
    own = {party for party in parties_of(event.event_type, event.aggregate_id, event.data) if party in agents}
    if not is_shown(event, own):
        return None
    shown = dict(event.data)
    for member in kind.withheld:
        outer, _, inner = member.partition(".")
        if inner:
            shown[outer] = [_without(part, inner, own) for part in shown.get(outer, ())]
        elif not own:
            shown.pop(outer, None)
    return replace(event, data=shown)


def _without(part: Mapping[str, Any], member: str, own: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in part.items() if name != member or part["account"] in own}
