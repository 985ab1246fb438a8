"""States of the data shown of an agent: an answer that was made from a state is right while the state is the same.

Each room states in SQL the values of its rows that a page shows; the states of several rooms, and of several agents, are read in one
statement. A state is made of row versions (`xmin`), so that no state comes back after a change.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import msgspec

from hansa.foundation.plumbing.storage.database import Tx

States: TypeAlias = Mapping[str, str | None]
"""The state of each part by its name; None where the part has nothing to show."""


class PageState(msgspec.Struct, frozen=True):
    """One part of the data shown: an SQL expression of type text that reads `asked.did`."""

    expression: str


async def read_states(tx: Tx, parts: Mapping[str, PageState], dids: Sequence[str]) -> dict[str, States]:
    """The states of each of these agents, in one statement."""
    columns = ", ".join(f"({part.expression}) AS {name}" for name, part in parts.items())
    rows = await tx.fetch(
        # With the number of DIDs hidden from the planner it makes one plan for all; else it plans anew each time.
        f"SELECT asked.did AS asked_did, {columns} FROM unnest((SELECT $1::text[])) AS asked (did)",  # noqa: S608
        dids,
    )
    return {row["asked_did"]: {name: row[name] for name in parts} for row in rows}
