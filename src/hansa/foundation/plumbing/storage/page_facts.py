"""Facts that one page shows of a person and of the person's agents.

Each is an SQL expression of the room that owns the rows. The facts of several rooms are read in one statement.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from hansa.foundation.plumbing.storage.database import Tx

Facts: TypeAlias = Mapping[str, Any]
"""The values by the names of the facts."""


class PageFact(msgspec.Struct, frozen=True):
    """One value: an SQL expression that reads `asked.developer_id`, or `asked.did` for a fact of an agent."""

    expression: str


async def read_facts(
    tx: Tx,
    developer_id: int,
    of_person: Mapping[str, PageFact],
    dids: Sequence[str],
    of_agents: Mapping[str, PageFact],
) -> tuple[Facts, dict[str, Facts]]:
    """The facts of a person, and those of each of these agents by DID."""
    rows = await tx.fetch(
        f"WITH person AS MATERIALIZED (SELECT {_columns(of_person)} FROM (SELECT $1::bigint AS developer_id) asked)"  # noqa: S608
        f", agents AS MATERIALIZED (SELECT asked.did AS asked_did, {_columns(of_agents)}"
        # With the number of DIDs hidden from the planner it makes one plan for all.
        " FROM unnest((SELECT $2::text[])) AS asked (did))"
        " SELECT * FROM person LEFT JOIN agents ON true",
        developer_id,
        dids,
    )
    person = {name: rows[0][name] for name in of_person}
    agents: dict[str, Facts] = {
        one["asked_did"]: {name: one[name] for name in of_agents}
        for one in rows
        if one["asked_did"] is not None
    }
    return person, agents


def fact_columns(facts: Mapping[str, PageFact]) -> list[str]:
    """The facts as columns of a statement that has `asked`."""
    return [f"({fact.expression}) AS {name}" for name, fact in facts.items()]


def _columns(facts: Mapping[str, PageFact]) -> str:
    return ", ".join(fact_columns(facts))
