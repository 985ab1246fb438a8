"""Statements on people_call."""

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

import msgspec

from hansa.foundation.plumbing.storage.database import Tx

from .batch import Call

# A closed account gets no calls any more, also where a process had some in its memory.
_INSERT = """
INSERT INTO people_call
  (developer_id, agent_did, request_id, called_at, method, route, status, took_microseconds, idempotency_key,
   client, grant_id)
SELECT c.developer_id, c.agent_did, c.request_id, c.called_at, c.method, c.route, c.status, c.took_microseconds, c.idempotency_key,
  c.client, c.grant_id
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::timestamptz[], $5::text[], $6::text[], $7::smallint[],
  $8::bigint[], $9::text[], $10::text[], $11::uuid[]) WITH ORDINALITY
  AS c (developer_id, agent_did, request_id, called_at, method, route, status, took_microseconds, idempotency_key, client, grant_id, place)
WHERE EXISTS (SELECT FROM people_developer d WHERE d.id = c.developer_id AND d.closed_at IS NULL)
ORDER BY c.place
"""

_TRIM = """
DELETE FROM people_call c USING unnest($1::bigint[]) AS d (id) CROSS JOIN LATERAL (
  SELECT k.number FROM people_call k WHERE k.developer_id = d.id ORDER BY k.number DESC OFFSET $2 LIMIT 1
) AS newest_too_many
WHERE c.developer_id = d.id AND c.number <= newest_too_many.number
"""

_PAGE_MATCHING = """
SELECT agent_did, request_id, called_at, method, route, status, took_microseconds, idempotency_key,
  client, grant_id
FROM people_call WHERE {matching} ORDER BY called_at DESC, number DESC LIMIT $4 OFFSET $5
"""

_MATCHING = """
developer_id = $1 AND ($2::int IS NULL OR status / 100 = $2)
  AND ($3 = '' OR strpos(lower(route), lower($3)) > 0 OR request_id = $3 OR idempotency_key = $3)
"""


class WrittenCall(msgspec.Struct, frozen=True):
    """A call as its developer sees it."""

    agent_did: str | None
    request_id: str
    called_at: datetime
    method: str
    route: str
    status: int
    took_microseconds: int
    idempotency_key: str | None
    client: str | None
    grant_id: UUID | None


async def insert(tx: Tx, calls: Sequence[tuple[int, Call]]) -> None:
    """Write calls, each with the id of its developer."""
    await tx.execute(
        _INSERT,
        [developer_id for developer_id, _ in calls],
        [call.agent_did for _, call in calls],
        [call.line.request_id.decode() for _, call in calls],
        [datetime.fromtimestamp(call.line.at, UTC) for _, call in calls],
        [call.line.method for _, call in calls],
        [call.line.route for _, call in calls],
        [call.line.status for _, call in calls],
        [round(call.line.seconds * 1_000_000) for _, call in calls],
        [call.idempotency_key for _, call in calls],
        [call.client for _, call in calls],
        [call.grant_id for _, call in calls],
    )


async def trim(tx: Tx, developer_ids: Sequence[int], kept: int) -> None:
    """Keep the newest calls of each of these developers, by the primary key."""
    await tx.execute(_TRIM, developer_ids, kept)


async def calls_of(
    tx: Tx, developer_id: int, *, hundreds: int | None = None, named: str = "", limit: int, offset: int
) -> tuple[list[WrittenCall], int]:
    """A page of the last calls of the developer and the developer's agents, newest first, and how many are kept.

    `hundreds` is the first digit of the statuses that are wanted, `named` a part of their routes, the id of a request or
    its idempotency key.
    """
    wanted = (developer_id, hundreds, named)
    page = _PAGE_MATCHING.format(matching=_MATCHING)
    shown = [WrittenCall(**row) for row in await tx.fetch(page, *wanted, limit, offset)]
    total: int = await tx.fetchval(f"SELECT count(*) FROM people_call WHERE {_MATCHING}", *wanted)  # noqa: S608
    return shown, total


async def forget_older(tx: Tx, days: int) -> None:
    """Delete calls of long ago, by the index of their time."""
    await tx.execute("DELETE FROM people_call WHERE called_at < now() - make_interval(days => $1)", days)
