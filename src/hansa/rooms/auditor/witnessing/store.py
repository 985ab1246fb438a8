"""Every SQL statement about witnesses."""

from collections.abc import Sequence

from hansa.foundation.plumbing.database import Tx
from hansa_verify import LOG_KEY, ML_DSA_WITNESS_KEY, WITNESS_KEY, read_verifier_key

from .forks import Seen
from .records import Fork, KeptFork, LogWitness, NewCheckpoint, PeerLog, WitnessedLog

_SEALED_KEYS = """
SELECT public_key, sealed_key FROM auditor_witness_key
WHERE sealed_key IS NOT NULL AND (retired_at IS NULL OR retired_at > now() - $1 * interval '1 day')
ORDER BY octet_length(public_key), retired_at DESC NULLS FIRST
"""

_FORGET_KEYS = """
UPDATE auditor_witness_key SET sealed_key = NULL
WHERE sealed_key IS NOT NULL AND retired_at <= clock_timestamp() - $1 * interval '1 day'
"""

_BEGIN = """
INSERT INTO auditor_witnessed_log (origin, size, root, note, cosigned_at) VALUES ($1, $2, $3, $4, to_timestamp($5))
ON CONFLICT DO NOTHING
"""

_MOVE = """
UPDATE auditor_witnessed_log SET size = $2, root = $3, note = $4, cosigned_at = to_timestamp($5)
WHERE origin = $1 AND size = $6
"""

_KEEP_LINES = """
INSERT INTO auditor_log_witness (name, known_size, size, lines, cosigned_at, asked_at)
VALUES ($1, $2, $2, $3, to_timestamp($4), clock_timestamp())
ON CONFLICT (name) DO UPDATE SET known_size = excluded.known_size, size = excluded.size, lines = excluded.lines,
  cosigned_at = excluded.cosigned_at, asked_at = excluded.asked_at, trouble = NULL
"""

_KEEP_TROUBLE = """
INSERT INTO auditor_log_witness (name, asked_at, trouble) VALUES ($1, clock_timestamp(), $2)
ON CONFLICT (name) DO UPDATE SET asked_at = excluded.asked_at, trouble = excluded.trouble
"""


_KEEP_PEER_LOG = """
INSERT INTO auditor_peer_log (ledger_id, log_keys, witness_keys) VALUES ($1, $2, $3)
ON CONFLICT (ledger_id) DO UPDATE SET log_keys = excluded.log_keys, witness_keys = excluded.witness_keys,
  read_at = excluded.read_at
"""

_NEWLY_READ = """
SELECT ledger_id, witness_keys FROM auditor_peer_log WHERE read_at > clock_timestamp() - interval '10 minutes'
"""

_KEEP_FORK = """
INSERT INTO auditor_log_fork (origin, kind, own_note, other_note, other_witness) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT DO NOTHING RETURNING 1
"""


async def lock_keys(tx: Tx) -> None:
    """Let no other transaction begin or retire a key of the witness until this one ends."""
    await tx.execute("LOCK TABLE auditor_witness_key IN SHARE ROW EXCLUSIVE MODE")


async def public_keys(tx: Tx) -> list[bytes]:
    """The public halves of the current keys, one of each kind."""
    query = "SELECT public_key FROM auditor_witness_key WHERE retired_at IS NULL"
    return [row["public_key"] for row in await tx.fetch(query)]


async def sealed_keys(tx: Tx, days: int) -> list[tuple[bytes, bytes]]:
    """Public half and sealed private half of the current keys and of those retired in the last so many days, by kind, the newest first."""
    return [(row["public_key"], row["sealed_key"]) for row in await tx.fetch(_SEALED_KEYS, days)]


async def retire_keys(tx: Tx) -> None:
    """Retire the current keys. The keys are locked."""
    await tx.execute("UPDATE auditor_witness_key SET retired_at = clock_timestamp() WHERE retired_at IS NULL")


async def add_key(tx: Tx, key: bytes, sealed: bytes) -> None:
    """Begin a key. No other one of its kind is current."""
    await tx.execute("INSERT INTO auditor_witness_key (public_key, sealed_key) VALUES ($1, $2)", key, sealed)


async def was_held(tx: Tx, key: bytes) -> bool:
    """Whether the witness has or had that key."""
    query = "SELECT EXISTS (SELECT FROM auditor_witness_key WHERE public_key = $1)"
    held: bool = await tx.fetchval(query, key)
    return held


async def forget_retired_keys(tx: Tx, days: int) -> None:
    """Delete the private halves of keys that were retired so many days ago."""
    await tx.execute(_FORGET_KEYS, days)


async def lock_log(tx: Tx, origin: str) -> WitnessedLog | None:
    """What was cosigned last of a log; locked until the transaction ends."""
    row = await tx.fetchrow(
        "SELECT origin, size, root, cosigned_at FROM auditor_witnessed_log WHERE origin = $1 FOR UPDATE",
        origin,
    )
    return WitnessedLog(**row) if row else None


async def begin_log(tx: Tx, new: NewCheckpoint) -> bool:
    """Record the first checkpoint of a log; False when there is one."""
    return await tx.execute(_BEGIN, *new) == "INSERT 0 1"


async def move_log(tx: Tx, known_size: int, new: NewCheckpoint) -> None:
    """Record the next checkpoint of a log, which is locked."""
    moved = await tx.execute(_MOVE, *new, known_size)
    assert moved == "UPDATE 1", "the log is locked"


async def witnessed_logs(tx: Tx) -> list[WitnessedLog]:
    """What was cosigned last of each log."""
    rows = await tx.fetch("SELECT origin, size, root, cosigned_at FROM auditor_witnessed_log ORDER BY origin")
    return [WitnessedLog(**row) for row in rows]


async def epoch_seconds(tx: Tx) -> int:
    """The database's clock."""
    seconds: int = await tx.fetchval("SELECT extract(epoch FROM clock_timestamp())::bigint")
    return seconds


async def known_size(tx: Tx, name: str) -> int:
    """The size of the own log that a witness is known to have cosigned, 0 for none."""
    size: int | None = await tx.fetchval("SELECT known_size FROM auditor_log_witness WHERE name = $1", name)
    return size or 0


async def keep_cosignatures(tx: Tx, name: str, size: int, lines: Sequence[str], timestamp: int) -> None:
    """Record what a witness cosigned, with a line of each of its keys that did."""
    await tx.execute(_KEEP_LINES, name, size, lines, timestamp)


async def keep_trouble(tx: Tx, name: str, trouble: str) -> None:
    """Record why a witness did not cosign."""
    await tx.execute(_KEEP_TROUBLE, name, trouble[:500])


async def log_witnesses(tx: Tx) -> dict[str, LogWitness]:
    """The witnesses that were asked, by name."""
    rows = await tx.fetch("SELECT name, size, lines, cosigned_at, asked_at, trouble FROM auditor_log_witness")
    return {row["name"]: LogWitness(**row) for row in rows}


async def peer_logs(tx: Tx) -> list[PeerLog]:
    """The keys of the logs of peers, by ledger id."""
    rows = await tx.fetch("SELECT ledger_id, log_keys, witness_keys FROM auditor_peer_log ORDER BY ledger_id")
    return [
        PeerLog(
            row["ledger_id"],
            [read_verifier_key(text, LOG_KEY) for text in row["log_keys"]],
            [read_verifier_key(text, WITNESS_KEY, ML_DSA_WITNESS_KEY) for text in row["witness_keys"]],
        )
        for row in rows
    ]


async def newly_read(tx: Tx) -> dict[str, list[str]]:
    """The peers whose keys were read within the last ten minutes, by ledger id: each with the keys of its witness."""
    return {row["ledger_id"]: row["witness_keys"] for row in await tx.fetch(_NEWLY_READ)}


async def keys_of_peer_log(tx: Tx, origin: str) -> list[bytes]:
    """The keys with which the log of a peer signs; none where no peer has this log."""
    return [key.public_key for one in await peer_logs(tx) for key in one.log_keys if key.name == origin]


async def keep_peer_log(tx: Tx, kept: PeerLog) -> None:
    """Keep the keys of a peer as they are now."""
    await tx.execute(
        _KEEP_PEER_LOG,
        kept.ledger_id,
        [key.text for key in kept.log_keys],
        [key.text for key in kept.witness_keys],
    )


async def roots(tx: Tx) -> dict[str, tuple[int, str]]:
    """Size and root, in hex, of what was cosigned last, by origin."""
    rows = await tx.fetch("SELECT origin, size, root FROM auditor_witnessed_log")
    return {row["origin"]: (row["size"], row["root"].hex()) for row in rows}


async def seen(tx: Tx, origin: str) -> Seen | None:
    """The checkpoint of a log that was cosigned last."""
    row = await tx.fetchrow("SELECT size, root, note FROM auditor_witnessed_log WHERE origin = $1", origin)
    return Seen(**row) if row else None


async def keep_fork(tx: Tx, fork: Fork) -> bool:
    """Keep both copies, once; whether they were not kept before."""
    kept = await tx.fetchval(
        _KEEP_FORK, fork.origin, fork.kind, fork.own_note, fork.other_note, fork.other_witness
    )
    return kept is not None


async def forks_found(tx: Tx, most: int) -> list[KeptFork]:
    """The newest forks."""
    rows = await tx.fetch("SELECT * FROM auditor_log_fork ORDER BY id DESC LIMIT $1", most)
    return [
        KeptFork(
            Fork(row["origin"], row["kind"], row["own_note"], row["other_note"], row["other_witness"]),
            row["found_at"],
        )
        for row in rows
    ]
