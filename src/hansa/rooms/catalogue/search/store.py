"""Every SQL statement of search. Nothing is written or locked.

Whether a card may be found is decided here and nowhere else (`_SHOWN`): the index leaves out cards that may not be, and a
page is read with the same condition again, so that a card hidden since is not shown.
"""

from collections.abc import Sequence
from datetime import datetime

import asyncpg
import msgspec

from hansa.foundation.plumbing.storage.database import Tx

from .documents import CardRow

BATCH = 2000
COMPARED = 20_000
CARDS_CHANGED = "hansa_cards"
"""The channel on which processes are notified."""

_SHOWN = "(is_active AND NOT unlisted AND status = 'active')"
_VERIFIED = "(host_verified_at IS NOT NULL OR signature_verified_at IS NOT NULL)"

# In the order of `CardRow`.
_ROW = f"""
SELECT id, {_SHOWN} AS is_shown, did, human_readable_id, name, description, tags, skills_text, pricing,
  source_registry, settlement_currency, is_stub, encircled, bonded, {_VERIFIED} AS verified, verified_jobs, agent_score, liveness,
  last_alive_at, speaks_mcp, speaks_a2a, search_xid
FROM catalogue_card
"""  # noqa: S608

# Read in order of the number, a batch at a time, all in one snapshot.
_EVERY_SHOWN = f"{_ROW} WHERE {_SHOWN} AND id > $1 ORDER BY id LIMIT {BATCH}"

_VERSIONS_OF_SHOWN = (
    f"SELECT id, search_xid FROM catalogue_card WHERE {_SHOWN} AND id > $1 ORDER BY id LIMIT {COMPARED}"  # noqa: S608
)

_BY_NUMBER = f"{_ROW} WHERE id = ANY($1)"

_CHANGED = """
SELECT id, search_xid FROM catalogue_card WHERE search_xid >= $1
UNION ALL SELECT card_id, position FROM catalogue_card_deleted WHERE position >= $1
"""

# Transaction numbers may begin anew in a restored database, and the last ones in a promoted standby. The timeline
# is the one that is being written: that of the last checkpoint stays behind for some time after a promotion.
_DATABASE_STATE = """
SELECT s.system_identifier, d.oid, left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) AS timeline, now() AS moment,
  plumbing_oldest_open() AS horizon
FROM pg_control_system() s, pg_database d WHERE d.datname = current_database()
"""

# In one snapshot: without such a card, an index of this cursor has everything that is committed. The greatest values and not
# EXISTS: what these cost does not depend on the parameter, so that the statement is not planned anew each second.
_UNCHANGED_STATE = f"""
{_DATABASE_STATE} AND coalesce((SELECT max(search_xid) FROM catalogue_card) < $1, true)
  AND coalesce((SELECT max(position) FROM catalogue_card_deleted) < $1, true)
"""  # noqa: S608

_PAGE = f"""
SELECT id AS card_id, xmin::text::bigint AS version, uuid AS id, did, human_readable_id, name, description, tags, pricing, source_registry,
  settlement_currency, trust_domain, is_stub, encircled, bonded, {_VERIFIED} AS verified, verified_jobs, agent_score, liveness,
  liveness_checked_at, last_alive_at, created_at, updated_at, skills_text
FROM catalogue_card WHERE id = ANY($1) AND {_SHOWN}
"""  # noqa: S608


_VERSIONS = f"SELECT id, xmin::text::bigint AS version FROM catalogue_card WHERE id = ANY($1) AND {_SHOWN}"  # noqa: S608


class DatabaseState(msgspec.Struct, frozen=True):
    """Identity of the database, its timeline, its time, and the oldest transaction that may still change something."""

    system: str
    timeline: int
    moment: datetime
    horizon: int

    @classmethod
    def of(cls, row: asyncpg.Record) -> "DatabaseState":
        return cls(
            f"{row['system_identifier']}/{row['oid']}",
            int(row["timeline"], 16),
            row["moment"],
            row["horizon"],
        )


async def database_state(tx: Tx) -> DatabaseState:
    """Return the present place of a reader of changes."""
    row = await tx.fetchrow(_DATABASE_STATE)
    assert row is not None
    return DatabaseState.of(row)


async def state_where_unchanged(tx: Tx, since: int) -> DatabaseState | None:
    """Return the state of `database_state`; None where `since` or a later transaction changed or deleted a card."""
    row = await tx.fetchrow(_UNCHANGED_STATE, since)
    return None if row is None else DatabaseState.of(row)


async def every_shown(tx: Tx, after: int) -> list[CardRow]:
    """Some of the cards that may be found, those with the lowest numbers above `after`."""
    return [CardRow._make(row) for row in await tx.fetch(_EVERY_SHOWN, after)]


async def versions_of_shown(tx: Tx, after: int) -> dict[int, int]:
    """The transaction that changed each of some cards that may be found; of those with the lowest numbers above `after`."""
    return {row["id"]: row["search_xid"] for row in await tx.fetch(_VERSIONS_OF_SHOWN, after)}


async def notify_changed(tx: Tx) -> None:
    """Notify every process at the commit that a card was changed."""
    await tx.execute("SELECT pg_notify($1, '')", CARDS_CHANGED)


async def changed(tx: Tx, since: int) -> dict[int, int]:
    """The cards that `since` or a later transaction changed or deleted, each with the transaction that did."""
    return {row["id"]: row["search_xid"] for row in await tx.fetch(_CHANGED, since)}


async def by_number(tx: Tx, numbers: Sequence[int]) -> list[CardRow]:
    """These cards, hidden ones included; deleted ones are absent."""
    return [CardRow._make(row) for row in await tx.fetch(_BY_NUMBER, numbers)]


async def page(tx: Tx, numbers: Sequence[int]) -> dict[int, asyncpg.Record]:
    """These cards as they are shown, by number; one that may not be shown is left out."""
    return {row["card_id"]: row for row in await tx.fetch(_PAGE, numbers)}


async def versions(tx: Tx, numbers: Sequence[int]) -> dict[int, int]:
    """Return the transaction that wrote each of these cards last, without those that may not be shown."""
    return {row["id"]: row["version"] for row in await tx.fetch(_VERSIONS, numbers)}
