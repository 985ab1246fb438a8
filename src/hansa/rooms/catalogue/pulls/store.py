"""Every SQL statement of visits.

Locks: who writes the end of a visit locks the card, then the visit, as an owner's write does; who claims skips what is
locked. A condition on `due_at` compares with now(), which an index can serve.
"""

import json
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import asyncpg

from hansa.foundation.plumbing.database import Tx

from .records import Addresses, Cycle, Errand, Failing, Interface, Remembered, Standing, Visit

LEASE_SECONDS = 90
FAILING_SHOWN = 50
# What search shows is not written anew at each visit that finds all as it was.
OBSERVED_ANEW_AFTER = "interval '1 hour'"

_CLAIM = f"""
WITH due AS (
  SELECT card_id, coalesce(place, card_id::text) AS place, due_at FROM catalogue_visit v
  WHERE errand = $1 AND due_at <= now() AND failures {{standing}} AND NOT EXISTS (
    SELECT 1 FROM catalogue_visit other
    WHERE other.place = v.place AND other.lease IS NOT NULL AND other.due_at > now() AND other.errand = $1)
  ORDER BY due_at LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED
), chosen AS (SELECT DISTINCT ON (place) card_id FROM due ORDER BY place, due_at)
UPDATE catalogue_visit v SET lease = $3, due_at = now() + interval '{LEASE_SECONDS} seconds'
FROM chosen WHERE v.card_id = chosen.card_id AND v.errand = $1
"""  # noqa: S608

# One walk through an index for those that never fail, and one for the others.
_IS_DUE = """
SELECT EXISTS (SELECT FROM catalogue_visit WHERE errand = $1 AND due_at <= now() AND failures = 0)
  OR EXISTS (SELECT FROM catalogue_visit WHERE errand = $1 AND due_at <= now() AND failures > 0)
"""

_INTERFACES = "c.host, c.card_data -> 'supportedInterfaces' AS interfaces"

_LEASED = f"""
SELECT v.card_id, c.did, v.errand, v.lease, v.failures, v.found_at, v.etag, v.served_hash, v.served_members, v.served_version,
  c.status, c.is_active, {_INTERFACES}, c.card_data -> 'securityRequirements' AS security
FROM catalogue_visit v JOIN catalogue_card c ON c.id = v.card_id WHERE v.errand = $1 AND v.lease = $2
"""  # noqa: S608

_LOCK_CARD = f"""
SELECT c.did, c.version, coalesce(c.host_verified_at, '-infinity') > now() - {OBSERVED_ANEW_AFTER} AS is_host_verified,
  {_INTERFACES}
FROM catalogue_card c WHERE c.id = $1 FOR NO KEY UPDATE
"""  # noqa: S608

_LOCK_VISIT = """
SELECT 1 FROM catalogue_visit WHERE card_id = $1 AND errand = $2 AND lease = $3 FOR NO KEY UPDATE
"""

_END = """
UPDATE catalogue_visit SET lease = NULL, due_at = now() + $4::float8 * interval '1 second', failures = $5,
  outcome = $6, trouble = $7, attempted_at = CASE WHEN $8 THEN clock_timestamp() ELSE attempted_at END
WHERE card_id = $1 AND errand = $2 AND lease = $3
"""

_REMEMBER = """
UPDATE catalogue_visit SET found_at = $2, etag = $3, served_hash = $4, served_members = $5, served_version = $6
WHERE card_id = $1 AND errand = 'pull'
"""

_PUT_OFF = """
UPDATE catalogue_visit SET lease = NULL, due_at = now() + $4::float8 * interval '1 second'
WHERE card_id = $1 AND errand = $2 AND lease = $3
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

_CYCLE = """
SELECT now() AS as_of, count(*) AS cards, count(*) FILTER (WHERE due_at <= now()) AS due,
  count(*) FILTER (WHERE lease IS NOT NULL AND due_at > now()) AS under_way,
  count(*) FILTER (WHERE attempted_at > since) AS attempted,
  count(*) FILTER (WHERE attempted_at > since AND failures = 0) AS succeeded,
  count(*) FILTER (WHERE attempted_at > since AND outcome = 'updated') AS changed
FROM catalogue_visit, (SELECT now() - $1::int * interval '1 second' AS since) AS cycle WHERE errand = 'pull'
"""

_OUTCOMES = "SELECT errand, outcome, count(*) AS cards FROM catalogue_visit GROUP BY errand, outcome"

_FAILING = f"""
SELECT v.card_id, c.did, v.place, v.outcome AS reason, v.failures, v.trouble, v.attempted_at, v.due_at
FROM catalogue_visit v JOIN catalogue_card c ON c.id = v.card_id
WHERE v.errand = 'pull' AND v.failures > 0 ORDER BY v.due_at LIMIT {FAILING_SHOWN}
"""  # noqa: S608


async def is_due(tx: Tx, errand: Errand) -> bool:
    """Whether a visit is due; takes no lock."""
    due: bool = await tx.fetchval(_IS_DUE, errand)
    return due


async def claim(tx: Tx, errand: Errand, most: int, lease: UUID) -> list[Visit]:
    """Lease due visits, one to a place, those that never fail first."""
    for standing in ("= 0", "> 0"):
        if most > 0:
            outcome = await tx.execute(_CLAIM.format(standing=standing), errand, most, lease)
            most -= int(outcome.rpartition(" ")[2])
    return [_visit(row) for row in await tx.fetch(_LEASED, errand, lease)]


async def lock(tx: Tx, visit: Visit) -> Standing | None:
    """The card of a visit, locked with it; None when the visit is somebody else's by now."""
    row = await tx.fetchrow(_LOCK_CARD, visit.card_id)
    if row is None or not await tx.fetchval(_LOCK_VISIT, visit.card_id, visit.errand, visit.lease):
        return None
    return Standing(
        did=row["did"],
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
    tx: Tx, visit: Visit, outcome: str, *, pause: float, failures: int, trouble: str | None, attempted: bool
) -> bool:
    """Write how a visit ended and give up its lease; whether it was still ours."""
    done = await tx.execute(
        _END, visit.card_id, visit.errand, visit.lease, pause, failures, outcome, trouble, attempted
    )
    return done == "UPDATE 1"


async def put_off(tx: Tx, visit: Visit, seconds: float) -> None:
    """Give up a lease without having made the visit."""
    await tx.execute(_PUT_OFF, visit.card_id, visit.errand, visit.lease, seconds)


async def forget(tx: Tx, card_id: int) -> None:
    """No more visits for a card."""
    await tx.execute("DELETE FROM catalogue_visit WHERE card_id = $1", card_id)


async def remember(tx: Tx, card_id: int, kept: Remembered) -> None:
    """Keep what the next pull compares with."""
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
    """Whether the agent itself has signed what is served."""
    await tx.execute(_SIGNED if is_signed else _UNSIGNED, card_id)


async def stamp_liveness(tx: Tx, card_id: int, state: str) -> None:
    """Show on the card what a call told."""
    written = await (
        tx.execute(_ALIVE, card_id) if state == "alive" else tx.execute(_NOT_ALIVE, card_id, state)
    )
    if written == "UPDATE 0":
        await tx.execute(_CHECKED, card_id)


async def stamp_heartbeat(tx: Tx, did: str) -> None:
    """Show on the card of an own agent that it sent a heartbeat."""
    if await tx.execute(_HEARTBEAT, did) == "UPDATE 0":
        await tx.execute(_HEARTBEAT_AGAIN, did)


async def cycle(tx: Tx, interval_seconds: int) -> Cycle:
    """The pulls as they stand, those of the last interval counted."""
    row = await tx.fetchrow(_CYCLE, interval_seconds)
    assert row is not None
    outcomes = await tx.fetch(_OUTCOMES)
    return Cycle(
        **dict(row),
        outcomes=_counted(outcomes, "pull"),
        liveness=_counted(outcomes, "liveness"),
        failing=[Failing(**one) for one in await tx.fetch(_FAILING)],
    )


def _counted(rows: Sequence[asyncpg.Record], errand: Errand) -> dict[str, int]:
    return {row["outcome"] or "": row["cards"] for row in rows if row["errand"] == errand}


def _visit(row: asyncpg.Record) -> Visit:
    return Visit(
        card_id=row["card_id"],
        did=row["did"],
        errand=row["errand"],
        lease=row["lease"],
        failures=row["failures"],
        status=row["status"],
        is_active=row["is_active"],
        addresses=_addresses(row),
        needs_credentials=bool(json.loads(row["security"] or "[]")),
        remembered=Remembered(
            row["found_at"],
            row["etag"],
            row["served_hash"],
            frozenset(row["served_members"]),
            row["served_version"],
        ),
    )


def _addresses(row: asyncpg.Record) -> Addresses:
    stated: list[dict[str, Any]] = json.loads(row["interfaces"] or "[]")
    interfaces = (
        Interface(one["url"], one.get("protocolBinding", ""), one.get("protocolVersion", ""))
        for one in stated
    )
    return Addresses(row["host"], tuple(interfaces))
