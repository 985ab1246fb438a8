"""Every SQL statement of resource discovery.

A page is found by key. Documents are read for the cards of one page only, and a page of large ones ends early instead
of filling the memory. Lists run under a statement timeout of their own.
"""

import json
from collections.abc import Collection

import asyncpg
import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.catalogue.card_conditions import EVERY_CARD, Conditions, listed_text
from hansa.rooms.catalogue.rules import like_pattern
from hansa.rooms.catalogue.search.query import LOCAL_ORIGIN

from .expression import ListFilter, Order
from .records import ListedAgent

LIST_SECONDS = 5
PAGE_MAX_BYTES = 8 * 1024 * 1024

_COLUMNS = """id AS card_id, did, human_readable_id, name, description, tags, trust_domain, source_registry,
settlement_currency, updated_at, card_data"""
_SHOWN = "is_active AND NOT unlisted AND status = 'active' AND did IS NOT NULL"

_BY_DID = f"SELECT {_COLUMNS} FROM catalogue_card WHERE did = $1 AND trust_domain = $2 AND {_SHOWN}"  # noqa: S608

_AFTER = "(updated_at, id) {0} (timestamptz 'epoch' + {{0}} * interval '1 microsecond', {{1}})"
_ORDERS: dict[Order, tuple[str, str]] = {
    "createdAt DESC": ("id DESC", "id < {0}"),
    "createdAt ASC": ("id", "id > {0}"),
    "updatedAt DESC": ("updated_at DESC, id DESC", _AFTER.format("<")),
    "updatedAt ASC": ("updated_at, id", _AFTER.format(">")),
}

# Of the candidates one more is read than is answered: whether others follow.
_PAGE = f"""
WITH candidates AS (
  SELECT * FROM catalogue_card WHERE {_SHOWN} AND {{conditions}} ORDER BY {{order}} LIMIT {{limit}} + 1
), weighed AS (
  SELECT *, count(*) OVER () AS candidates, sum(card_bytes) OVER (ORDER BY {{order}}) - card_bytes AS bytes_before
  FROM candidates
)
SELECT {_COLUMNS}, candidates FROM weighed WHERE bytes_before < {PAGE_MAX_BYTES} ORDER BY {{order}} LIMIT {{limit}}
"""  # noqa: S608

# From one name to the next over the index, instead of through every mirrored card.
_PUBLISHERS = """
WITH RECURSIVE peer AS (
  (SELECT source_registry AS name, trust_domain FROM catalogue_card WHERE source_registry IS NOT NULL
   ORDER BY source_registry LIMIT 1)
  UNION ALL
  SELECT next.source_registry, next.trust_domain FROM peer CROSS JOIN LATERAL
    (SELECT source_registry, trust_domain FROM catalogue_card WHERE source_registry > peer.name
     ORDER BY source_registry LIMIT 1) next
)
SELECT name, trust_domain FROM peer
"""


class Agents(msgspec.Struct, frozen=True):
    """Some agents in order, and whether others follow."""

    agents: list[ListedAgent]
    more: bool


async def agent_called(tx: Tx, trust_domain: str, did: str) -> ListedAgent | None:
    """The agent with that DID, if its card may be shown and it belongs to that trust domain."""
    row = await tx.fetchrow(_BY_DID, did, trust_domain)
    return None if row is None else _agent(row)


async def agents_after(
    tx: Tx, conditions: Conditions, order: Order, place: tuple[int, ...] | None, limit: int
) -> Agents:
    """The agents that may be shown, from `place` on: the card number, or microseconds of the change and the number."""
    await tx.execute(f"SET LOCAL statement_timeout = '{LIST_SECONDS}s'")
    columns, beyond = _ORDERS[order]
    if place is not None:
        conditions = conditions.having(beyond, *place)
    rows = await tx.fetch(
        _PAGE.format(conditions=conditions.sql, order=columns, limit=limit), *conditions.values
    )
    return Agents([_agent(row) for row in rows], more=bool(rows) and len(rows) < rows[0]["candidates"])


async def trust_domains_of_peers(tx: Tx) -> dict[str, str]:
    """The registries that cards are mirrored from, each with its trust domain."""
    return {row["name"]: row["trust_domain"] for row in await tx.fetch(_PUBLISHERS)}


def conditions_of(criteria: ListFilter) -> Conditions:
    """The filter as conditions."""
    conditions = EVERY_CARD
    if criteria.names:
        patterns = [like_pattern(name) for name in criteria.names]
        # The first condition is for the index, the second for the truth.
        held = listed_text("LIKE ANY({0}::text[])")
        conditions = conditions.having(f"{held} AND name_text LIKE ANY({{0}}::text[])", patterns)
    if criteria.created_after is not None:
        # A card changes when it is created: the second condition, which has an index, follows from the first.
        conditions = conditions.having("created_at > {0} AND updated_at > {0}", criteria.created_after)
    if criteria.updated_after is not None:
        conditions = conditions.having("updated_at > {0}", criteria.updated_after)
    return conditions


def of_origins(conditions: Conditions, origins: Collection[str]) -> Conditions:
    """Narrow the conditions to the cards of some origins; `local` are this registry's own."""
    return conditions.having(
        "(source_registry = ANY({0}::text[]) OR (source_registry IS NULL AND {1}))",
        sorted(origins),
        LOCAL_ORIGIN in origins,
    )


def _agent(row: asyncpg.Record) -> ListedAgent:
    known = {name: row[name] for name in ListedAgent.__struct_fields__ if name != "card_data"}
    return ListedAgent(**known, card_data=json.loads(row["card_data"]))
