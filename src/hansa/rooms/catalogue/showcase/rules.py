"""Choice of the agents of the showcase: pins first, then some of each list, one agent for each owner."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Protocol, TypeVar

OF_EACH = 4
"""Agents of each list beyond the pinned ones."""


class _Owned(Protocol):
    @property
    def owner(self) -> Hashable: ...


_Agent = TypeVar("_Agent", bound=_Owned)
_Reason = TypeVar("_Reason")


def chosen(
    pinned: Sequence[_Agent], lists: Mapping[_Reason, Sequence[_Agent]], reason_of_pins: _Reason
) -> Iterator[tuple[_Reason, _Agent]]:
    """The agents to show with their reasons. Of an owner the first agent is shown, in the order of pins and lists."""
    owners: set[Hashable] = set()
    for agent in pinned:
        if agent.owner not in owners:
            owners.add(agent.owner)
            yield reason_of_pins, agent
    for reason, agents in lists.items():
        count = 0
        for agent in agents:
            if count < OF_EACH and agent.owner not in owners:
                owners.add(agent.owner)
                count += 1
                yield reason, agent
