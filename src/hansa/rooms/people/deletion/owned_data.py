"""What a developer owns in rooms that this one does not know: supplied at assembly."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from hansa.foundation.plumbing.database import Tx


@dataclass(frozen=True)
class Blocker:
    """Something that an agent holds and that would be lost. `amount` is a decimal string."""

    kind: str
    agent_did: str
    amount: str
    detail: str


@dataclass(frozen=True)
class OwnedData:
    """The slot.

    `blockers(tx, developer_id)` names what stands in the way of ending the developer's agents. `end(tx, developer_id)`
    ends them for good; it raises Conflict when something stands in the way after all.
    """

    blockers: Callable[[Tx, int], Awaitable[Sequence[Blocker]]]
    end: Callable[[Tx, int], Awaitable[None]]


async def _owned_data_of(request: Request) -> OwnedData:
    owned_data: OwnedData = request.app.state.owned_data
    return owned_data


OfDeveloper = Annotated[OwnedData, Depends(_owned_data_of)]
