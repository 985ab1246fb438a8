"""What a developer owns in rooms that this one does not know: supplied at assembly."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from hansa.foundation.plumbing.database import Tx


@dataclass(frozen=True)
class Blocker:
    """Something of an agent that would be lost with it. `amount` is a decimal string."""

    kind: str
    agent_did: str
    amount: str
    detail: str


@dataclass(frozen=True)
class Belongings:
    """The slot.

    `blockers(tx, developer_id)` names what stands in the way of ending the developer's agents. `end(tx, developer_id)`
    ends them for good; it raises Conflict when something stands in the way after all.
    """

    blockers: Callable[[Tx, int], Awaitable[Sequence[Blocker]]]
    end: Callable[[Tx, int], Awaitable[None]]


async def _belongings_of(request: Request) -> Belongings:
    belongings: Belongings = request.app.state.belongings
    return belongings


OfDeveloper = Annotated[Belongings, Depends(_belongings_of)]
