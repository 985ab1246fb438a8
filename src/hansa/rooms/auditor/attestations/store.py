"""Every SQL statement about attestations and the keys that sign them.

Whoever appends locks the row of the chain, and reads the head in the statement that locks it: at READ COMMITTED the row
that was waited for is read anew. Times are of the clock, and always after the record before.
"""

import json
from datetime import datetime

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor

from .records import Attestation, AuditorKey, Chain, Reading

_COLUMNS = "id, frame, ts, kind, payload, digest, prev_hash, signature, kid"
_KEY_COLUMNS = "kid, public_key, valid_from, retired_at, retired_at_id, retired_at_size"

_LOCK = """
SELECT frame, head_id, head_digest, audited_ts, audit_row_id, native_baseline, transit_baseline,
  greatest(clock_timestamp(), head_ts + interval '1 microsecond') AS ts
FROM auditor_chain WHERE frame = $1 FOR UPDATE
"""

_APPEND = f"""
INSERT INTO auditor_attestation ({_COLUMNS}, audit_row_id) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
"""  # noqa: S608

_MOVE_HEAD = """
UPDATE auditor_chain SET head_id = $2, head_digest = $3, head_ts = $4,
  audited_ts = CASE WHEN $5::bigint IS NULL THEN audited_ts ELSE $4 END, audit_row_id = coalesce($5, audit_row_id)
WHERE frame = $1 AND head_id = $2 - 1
"""

_NEWEST_READING = """
SELECT id, as_of_seq, issued, destroyed, transit, circulating, delta, status, checks, typed_issued - typed_destroyed AS typed_net,
  liabilities_root, liabilities_accounts
FROM auditor_verdict ORDER BY id DESC LIMIT 1
"""

_LIST = f"""
SELECT {_COLUMNS} FROM auditor_attestation WHERE frame = $1 AND id < $2 ORDER BY id DESC LIMIT $3
"""  # noqa: S608

_HEAD = f"SELECT {_COLUMNS} FROM auditor_attestation WHERE frame = $1 ORDER BY id DESC LIMIT 1"  # noqa: S608

_HEAD_NOW = f"""
SELECT head.*, clock_timestamp() AS now FROM (VALUES (true)) one LEFT JOIN LATERAL ({_HEAD}) head ON true
"""  # noqa: S608

_NEWEST_AUDIT = f"""
SELECT {_COLUMNS} FROM auditor_attestation
WHERE audit_row_id = (SELECT max(audit_row_id) FROM auditor_attestation WHERE frame = $1) AND frame = $1
"""  # noqa: S608

_FIND = f"SELECT {_COLUMNS} FROM auditor_attestation WHERE id = $1"  # noqa: S608

_OF_LIABILITIES = f"""
SELECT {_COLUMNS} FROM auditor_attestation WHERE audit_row_id = (SELECT verdict_id FROM auditor_liability_tree)
"""  # noqa: S608

_RETIRE = """
UPDATE auditor_key SET retired_at = greatest(clock_timestamp(), valid_from + interval '1 microsecond'), retired_at_id = $1,
  retired_at_size = $2
WHERE retired_at IS NULL
"""

_KEYS = f"SELECT {_KEY_COLUMNS} FROM auditor_key ORDER BY valid_from DESC, kid"  # noqa: S608

_SEALED_RETIRED = """
SELECT sealed_key FROM auditor_key
WHERE retired_at > now() - $1 * interval '1 day' AND sealed_key IS NOT NULL ORDER BY retired_at DESC
"""

_ADD_KEY = f"""
INSERT INTO auditor_key (kid, public_key, sealed_key, valid_from) VALUES ($1, $2, $3, clock_timestamp())
RETURNING {_KEY_COLUMNS}
"""  # noqa: S608

_FORGET = """
UPDATE auditor_key SET sealed_key = NULL WHERE retired_at < now() - $1 * interval '1 day' AND sealed_key IS NOT NULL
"""

# Ids are smaller than this one.
ID_END = 2**63 - 1


async def open_chain(tx: Tx, frame: str) -> None:
    """Let the frame have a chain; nothing where it has one."""
    await tx.execute("INSERT INTO auditor_chain (frame) VALUES ($1) ON CONFLICT DO NOTHING", frame)


async def lock_chain(tx: Tx, frame: str) -> Chain:
    """The head of the frame's chain, locked until the transaction ends."""
    row = await tx.fetchrow(_LOCK, frame)
    assert row is not None, "a chain is opened before anything is appended"
    return Chain(**row)


async def append(tx: Tx, record: Attestation, audit_row_id: int | None) -> None:
    """Write the record and let it be the head. The chain is locked."""
    await tx.execute(
        _APPEND,
        record.id,
        record.frame,
        record.ts,
        record.kind,
        record.payload,
        record.digest,
        record.prev_hash,
        record.signature,
        record.kid,
        audit_row_id,
    )
    moved = await tx.execute(_MOVE_HEAD, record.frame, record.id, record.digest, record.ts, audit_row_id)
    assert moved == "UPDATE 1", "the chain is locked"


async def keep_native_baseline(tx: Tx, frame: str, baseline: Minor | None) -> None:
    """Set or remove the native baseline. The chain is locked."""
    await tx.execute("UPDATE auditor_chain SET native_baseline = $2 WHERE frame = $1", frame, baseline)


async def keep_transit_baseline(tx: Tx, frame: str, baseline: Minor) -> None:
    """Set the transit baseline. The chain is locked."""
    await tx.execute("UPDATE auditor_chain SET transit_baseline = $2 WHERE frame = $1", frame, baseline)


async def newest_reading(tx: Tx) -> Reading | None:
    """Return the reading of the newest audit cycle, or None before the first."""
    row = await tx.fetchrow(_NEWEST_READING)
    if row is None:
        return None
    amounts = ("issued", "destroyed", "transit", "circulating", "delta")
    return Reading(
        audit_row_id=row["id"],
        as_of_seq=row["as_of_seq"],
        **{name: Minor(int(row[name])) for name in amounts},
        typed_net=None if row["typed_net"] is None else Minor(int(row["typed_net"])),
        live_status=row["status"],
        checks=json.loads(row["checks"]),
        liabilities_root=row["liabilities_root"],
        liabilities_accounts=row["liabilities_accounts"],
    )


async def next_audit_row_id(tx: Tx) -> int:
    """A number for a cycle without a verdict; no verdict gets it."""
    number: int = await tx.fetchval("SELECT nextval(pg_get_serial_sequence('auditor_verdict', 'id'))")
    return number


async def list_records(tx: Tx, frame: str, before_id: int | None, limit: int) -> list[Attestation]:
    """The newest records, or those before an id."""
    rows = await tx.fetch(_LIST, frame, ID_END if before_id is None else before_id, limit)
    return [Attestation(**row) for row in rows]


async def head(tx: Tx, frame: str) -> Attestation | None:
    """The newest record of the chain."""
    row = await tx.fetchrow(_HEAD, frame)
    return Attestation(**row) if row else None


async def head_now(tx: Tx, frame: str) -> tuple[Attestation | None, datetime]:
    """The newest record of the chain, and the time of the database."""
    row = await tx.fetchrow(_HEAD_NOW, frame)
    assert row is not None
    members = dict(row)
    now: datetime = members.pop("now")
    return None if members["id"] is None else Attestation(**members), now


async def newest_audit(tx: Tx, frame: str) -> Attestation | None:
    """The newest record of an audit cycle."""
    row = await tx.fetchrow(_NEWEST_AUDIT, frame)
    return Attestation(**row) if row else None


async def find(tx: Tx, attestation_id: int) -> Attestation | None:
    """One record."""
    row = await tx.fetchrow(_FIND, attestation_id)
    return Attestation(**row) if row else None


async def find_of_liabilities(tx: Tx) -> Attestation | None:
    """The record of the audit cycle with the stored tree of liabilities."""
    row = await tx.fetchrow(_OF_LIABILITIES)
    return Attestation(**row) if row else None


async def sealed_current_key(tx: Tx) -> tuple[str, bytes] | None:
    """The id of the current key and its sealed private half."""
    row = await tx.fetchrow("SELECT kid, sealed_key FROM auditor_key WHERE retired_at IS NULL")
    return (row["kid"], row["sealed_key"]) if row else None


async def sealed_retired_keys(tx: Tx, days: int) -> list[bytes]:
    """The sealed private halves of keys retired in the last so many days, the newest first."""
    rows = await tx.fetch(_SEALED_RETIRED, days)
    return [row["sealed_key"] for row in rows]


async def retire_current_key(tx: Tx, head_id: int, log_size: int) -> None:
    """Retire the current key, if there is one, after the record `head_id`. The chain and the log are locked."""
    await tx.execute(_RETIRE, head_id, log_size)


async def add_key(tx: Tx, kid: str, public_key: bytes, sealed: bytes) -> AuditorKey:
    """Begin a key. No other one is current."""
    row = await tx.fetchrow(_ADD_KEY, kid, public_key, sealed)
    assert row is not None
    return AuditorKey(**row)


async def was_held(tx: Tx, kid: str) -> bool:
    """Return whether the auditor has or had that key."""
    held: bool = await tx.fetchval("SELECT EXISTS (SELECT FROM auditor_key WHERE kid = $1)", kid)
    return held


async def all_keys(tx: Tx) -> list[AuditorKey]:
    """Every key there ever was, the newest first."""
    return [AuditorKey(**row) for row in await tx.fetch(_KEYS)]


async def forget_retired_keys(tx: Tx, days: int) -> None:
    """Delete the private halves of keys that were retired so many days ago."""
    await tx.execute(_FORGET, days)
