"""Every SQL statement of visits.

Locks: the end of a visit locks the card, then the job of the visit, as an owner's write does.
"""

import json
from collections.abc import Sequence
from typing import Any

import asyncpg

from hansa.foundation.plumbing import jobs
from hansa.foundation.plumbing.jobs import Job
from hansa.foundation.plumbing.storage.database import Tx

from .records import (
    Addresses,
    Cycle,
    Errand,
    Failing,
    Interface,
    MirroredAgent,
    Planned,
    Remembered,
    StoredCard,
)
from .visit import Visit

FAILING_SHOWN = 50
DRAWS_MAX = 20_000
# What search shows is not written anew at each visit that finds all as it was.
OBSERVED_ANEW_AFTER = "interval '1 hour'"

_INTERFACES = "c.host, c.card_data -> 'supportedInterfaces' AS interfaces"

_VISIT = f"""
SELECT v.card_id, c.uuid, c.trust_domain, c.did, v.errand, v.failures, v.found_at, v.etag, v.served_hash, v.served_members, v.served_version,
  c.status, c.is_active, c.mcp_name, {_INTERFACES}, c.card_data -> 'securityRequirements' AS security
FROM catalogue_visit v JOIN catalogue_card c ON c.id = v.card_id WHERE v.card_id = $1 AND v.errand = $2
"""  # noqa: S608

# Numbers of cards are drawn; one that is no mirror, or of no card, is a miss.
_DRAW = f"""
WITH numbers AS (SELECT min(id) AS first, max(id) - min(id) + 1 AS size FROM catalogue_card),
drawn AS (SELECT DISTINCT first + floor(random() * size)::bigint AS id
  FROM numbers, generate_series(1, least(floor(size * $1::float8 + random()), $3)::int))
SELECT c.did, {_INTERFACES}, c.card_data -> 'securityRequirements' AS security
FROM drawn d JOIN catalogue_card c USING (id)
WHERE c.source_registry IS NOT NULL AND c.did IS NOT NULL AND c.status = 'active' AND c.is_active AND NOT c.is_stub LIMIT $2
"""  # noqa: S608

_LOCK_CARD = f"""
SELECT c.did, c.developer_id, c.version, coalesce(c.host_verified_at, '-infinity') > now() - {OBSERVED_ANEW_AFTER} AS is_host_verified,
  {_INTERFACES}
FROM catalogue_card c WHERE c.id = $1 FOR NO KEY UPDATE
"""  # noqa: S608

_END = """
UPDATE catalogue_visit SET failures = $3, outcome = $4, trouble = $5,
  attempted_at = CASE WHEN $6 THEN clock_timestamp() ELSE attempted_at END
WHERE card_id = $1 AND errand = $2 RETURNING place, now()
"""

_PLANNED = "SELECT place, now() FROM catalogue_visit WHERE card_id = $1 AND errand = $2"

_TROUBLE = "SELECT trouble FROM catalogue_visit WHERE card_id = $1 AND errand = $2"

_REMEMBER = """
UPDATE catalogue_visit SET found_at = $2, etag = $3, served_hash = $4, served_members = $5, served_version = $6
WHERE card_id = $1 AND errand = 'pull'
"""

_STAMP_PULL = """
UPDATE catalogue_card SET last_pull_status = $2, pull_failures = $3,
  last_pull_attempt_at = CASE WHEN $4 THEN clock_timestamp() ELSE last_pull_attempt_at END
WHERE id = $1
"""

_HOST_VERIFIED = "UPDATE catalogue_card SET host_verified_at = clock_timestamp() WHERE id = $1"

_SIGNED = f"""
UPDATE catalogue_card SET signature_verified_at = clock_timestamp()
WHERE id = $1 AND coalesce(signature_verified_at, '-infinity') < now() - {OBSERVED_ANEW_AFTER}
"""  # noqa: S608

_UNSIGNED = """
UPDATE catalogue_card SET signature_verified_at = NULL WHERE id = $1 AND signature_verified_at IS NOT NULL
"""

_ALIVE = f"""
UPDATE catalogue_card SET liveness = 'alive', last_alive_at = clock_timestamp(), liveness_checked_at = clock_timestamp()
WHERE id = $1 AND (liveness <> 'alive' OR coalesce(last_alive_at, '-infinity') < now() - {OBSERVED_ANEW_AFTER})
"""  # noqa: S608

_NOT_ALIVE = """
UPDATE catalogue_card SET liveness = $2, liveness_checked_at = clock_timestamp() WHERE id = $1 AND liveness <> $2
"""

_HEARTBEAT = f"""
UPDATE catalogue_card SET liveness = 'alive', last_alive_at = clock_timestamp(), liveness_checked_at = clock_timestamp()
WHERE did = $1 AND source_registry IS NULL AND status = 'active'
  AND (liveness <> 'alive' OR coalesce(last_alive_at, '-infinity') < now() - {OBSERVED_ANEW_AFTER})
"""  # noqa: S608

_HEARTBEAT_AGAIN = """
UPDATE catalogue_card SET liveness_checked_at = clock_timestamp()
WHERE did = $1 AND source_registry IS NULL AND status = 'active'
  AND liveness_checked_at < clock_timestamp() - interval '10 seconds'
"""

_CHECKED = "UPDATE catalogue_card SET liveness_checked_at = clock_timestamp() WHERE id = $1"

_TOOLS_CHECKED = "UPDATE catalogue_card SET tools_checked_at = clock_timestamp() WHERE id = $1"

_NAMESPACE = """
UPDATE catalogue_card SET namespace_verified_at = CASE WHEN $2 THEN clock_timestamp() END
WHERE id = $1 AND ($2 OR namespace_verified_at IS NOT NULL)
"""

_CYCLE = """
SELECT now() AS as_of, count(*) AS cards,
  count(*) FILTER (WHERE attempted_at > since) AS attempted,
  count(*) FILTER (WHERE attempted_at > since AND failures = 0) AS succeeded,
  count(*) FILTER (WHERE attempted_at > since AND outcome = 'updated') AS changed
FROM catalogue_visit, (SELECT now() - $1::int * interval '1 second' AS since) AS cycle WHERE errand = 'pull'
"""

_OUTCOMES = "SELECT errand, outcome, count(*) AS cards FROM catalogue_visit GROUP BY errand, outcome"

_FAILING = """
SELECT v.card_id, c.did, v.place, v.outcome AS reason, v.failures, v.trouble, v.attempted_at
FROM catalogue_visit v JOIN catalogue_card c ON c.id = v.card_id
WHERE v.errand = 'pull' AND v.failures > 0 AND v.card_id = ANY ($1)
"""


async def has_mirrors(tx: Tx) -> bool:
    """Return whether cards of peers are stored."""
    found: bool = await tx.fetchval(
        "SELECT EXISTS (SELECT FROM catalogue_card WHERE source_registry IS NOT NULL)"
    )
    return found


async def draw_mirrors(tx: Tx, share: float, most: int) -> list[MirroredAgent]:
    """Agents of peers at random: of each the probability is `share`, and so many at most are drawn."""
    return [
        MirroredAgent(row["did"], _addresses(row), bool(json.loads(row["security"] or "[]")))
        for row in await tx.fetch(_DRAW, share, most, DRAWS_MAX)
    ]


async def visit_of(tx: Tx, job: Job, errand: Errand) -> Visit | None:
    """The visit that a job is for; None when its card is no longer visited."""
    row = await tx.fetchrow(_VISIT, int(job.key), errand)
    return None if row is None else _visit(row, job)


async def lock(tx: Tx, visit: Visit) -> StoredCard | None:
    """The card of a visit, locked with its job; None when the lease was lost."""
    row = await tx.fetchrow(_LOCK_CARD, visit.card_id)
    if not await jobs.is_held(tx, visit.job) or row is None:
        return None
    return StoredCard(
        did=row["did"],
        developer_id=row["developer_id"],
        addresses=_addresses(row),
        version=row["version"],
        is_host_verified=row["is_host_verified"],
    )


async def document_of(tx: Tx, card_id: int) -> dict[str, Any]:
    """The document of a locked card."""
    document: dict[str, Any] = json.loads(
        await tx.fetchval("SELECT card_data FROM catalogue_card WHERE id = $1", card_id)
    )
    return document


async def end(
    tx: Tx, visit: Visit, outcome: str, *, failures: int, error: str | None, attempted: bool
) -> Planned:
    """Write the result of a visit whose card and job are locked."""
    row = await tx.fetchrow(_END, visit.card_id, visit.errand, failures, outcome, error, attempted)
    assert row is not None
    return Planned(*row)


async def planned(tx: Tx, visit: Visit) -> Planned:
    """Return the place of the next visit of a locked card, and the time of the database."""
    row = await tx.fetchrow(_PLANNED, visit.card_id, visit.errand)
    assert row is not None
    return Planned(*row)


async def trouble_of(tx: Tx, visit: Visit) -> str | None:
    """The sentence of the last failure."""
    trouble: str | None = await tx.fetchval(_TROUBLE, visit.card_id, visit.errand)
    return trouble


async def forget(tx: Tx, card_id: int) -> None:
    """No more visits for a card."""
    await tx.execute("DELETE FROM catalogue_visit WHERE card_id = $1", card_id)


async def remember(tx: Tx, card_id: int, kept: Remembered) -> None:
    """Keep the state that the next pull compares with."""
    await tx.execute(
        _REMEMBER,
        card_id,
        kept.found_at,
        kept.etag,
        kept.served_hash,
        sorted(kept.served_members),
        kept.served_version,
    )


async def stamp_pull(tx: Tx, card_id: int, status: str, failures: int, *, attempted: bool) -> None:
    """Show on the card how its pull went."""
    await tx.execute(_STAMP_PULL, card_id, status, failures, attempted)


async def stamp_host_verified(tx: Tx, card_id: int) -> None:
    """The card's own host serves it."""
    await tx.execute(_HOST_VERIFIED, card_id)


async def stamp_signed(tx: Tx, card_id: int, *, is_signed: bool) -> None:
    """Stamp on the card whether the agent itself has signed the served card."""
    await tx.execute(_SIGNED if is_signed else _UNSIGNED, card_id)


async def stamp_liveness(tx: Tx, card_id: int, state: str) -> None:
    """Show the result of a call on the card."""
    written = await (
        tx.execute(_ALIVE, card_id) if state == "alive" else tx.execute(_NOT_ALIVE, card_id, state)
    )
    if written == "UPDATE 0":
        await tx.execute(_CHECKED, card_id)


async def stamp_tools(tx: Tx, card_id: int) -> None:
    """Show on the card that the tools of its MCP server were read."""
    await tx.execute(_TOOLS_CHECKED, card_id)


async def stamp_namespace(tx: Tx, card_id: int, *, is_verified: bool) -> None:
    """Show on the card whether the domain of its namespace states its proof."""
    await tx.execute(_NAMESPACE, card_id, is_verified)


async def stamp_heartbeat(tx: Tx, did: str) -> None:
    """Show on the card of an own agent that it sent a heartbeat."""
    if await tx.execute(_HEARTBEAT, did) == "UPDATE 0":
        await tx.execute(_HEARTBEAT_AGAIN, did)


async def cycle(tx: Tx, interval_seconds: int, kind: str) -> Cycle:
    """The pulls as they stand, those of the last interval counted. `kind`: that of their jobs."""
    row = await tx.fetchrow(_CYCLE, interval_seconds)
    assert row is not None
    outcomes = await tx.fetch(_OUTCOMES)
    depth = await jobs.depth_of(tx, kind)
    return Cycle(
        **dict(row),
        due=depth.due,
        under_way=depth.running,
        outcomes=_counted(outcomes, "pull"),
        liveness=_counted(outcomes, "liveness"),
        failing=await _failing(tx, kind),
    )


async def _failing(tx: Tx, kind: str) -> list[Failing]:
    due = await jobs.low_priority_due(tx, kind, FAILING_SHOWN)
    rows = await tx.fetch(_FAILING, [int(key) for key in due])
    failing = [Failing(**row, due_at=due[str(row["card_id"])]) for row in rows]
    return sorted(failing, key=lambda one: one.due_at)


def _counted(rows: Sequence[asyncpg.Record], errand: Errand) -> dict[str, int]:
    return {row["outcome"] or "": row["cards"] for row in rows if row["errand"] == errand}


def _visit(row: asyncpg.Record, job: Job) -> Visit:
    return Visit(
        card_id=row["card_id"],
        uuid=row["uuid"],
        trust_domain=row["trust_domain"],
        did=row["did"],
        errand=row["errand"],
        job=job,
        failures=row["failures"],
        status=row["status"],
        is_active=row["is_active"],
        addresses=_addresses(row),
        needs_credentials=bool(json.loads(row["security"] or "[]")),
        mcp_name=row["mcp_name"],
        remembered=Remembered(
            row["found_at"],
            row["etag"],
            row["served_hash"],
            frozenset(row["served_members"]),
            row["served_version"],
        ),
    )


def _addresses(row: asyncpg.Record) -> Addresses:
    declared: list[dict[str, Any]] = json.loads(row["interfaces"] or "[]")
    interfaces = (
        Interface(one["url"], one.get("protocolBinding", "").upper(), one.get("protocolVersion", ""))
        for one in declared
    )
    return Addresses(row["host"], tuple(interfaces))
