"""Every SQL statement about witnesses."""

from collections.abc import Sequence
from datetime import datetime

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.auditor.transparency.notes import frame_of
from hansa_verify import LOG_KEY, ML_DSA_WITNESS_KEY, WITNESS_KEY, VerifierKey, read_verifier_key

from .forks import Seen
from .records import (
    BeforeCosigning,
    Cosigned,
    Fork,
    LogWitness,
    NewCheckpoint,
    PeerLog,
    StoredFork,
    WitnessedLog,
)

_SEALED_KEYS = """
SELECT public_key, sealed_key FROM auditor_witness_key
WHERE sealed_key IS NOT NULL AND (retired_at IS NULL OR retired_at > now() - {days} * interval '1 day')
ORDER BY octet_length(public_key), retired_at DESC NULLS FIRST
"""

_FORGET_KEYS = """
UPDATE auditor_witness_key SET sealed_key = NULL
WHERE sealed_key IS NOT NULL AND retired_at <= clock_timestamp() - $1 * interval '1 day'
"""

_LOG_KEYS = "SELECT log_keys FROM auditor_peer_log WHERE ledger_id = $2"

_BEFORE_COSIGNING = f"""
WITH cosigning AS ({_SEALED_KEYS.format(days="$3")})
SELECT size, root, cosigned_at, ({_LOG_KEYS}) AS log_keys,
  array(SELECT public_key FROM cosigning) AS public_keys, array(SELECT sealed_key FROM cosigning) AS sealed_keys
FROM (SELECT) AS always LEFT JOIN auditor_witnessed_log ON origin = $1
"""  # noqa: S608

# What was judged may have been read by an earlier request: the keys of the log and those that cosign are compared as well.
_AS_JUDGED = f"""
WITH cosigning AS ({_SEALED_KEYS.format(days="$3")}), judged AS (
  SELECT date_trunc('second', clock_timestamp()) AS now WHERE ({_LOG_KEYS}) IS NOT DISTINCT FROM $4::text[]
    AND array(SELECT public_key FROM cosigning) = $5::bytea[])
"""  # noqa: S608

_BEGIN = f"""
{_AS_JUDGED}
INSERT INTO auditor_witnessed_log (origin, size, root, note, cosigned_at) SELECT $1, $6, $7, $8, now FROM judged
ON CONFLICT DO NOTHING RETURNING cosigned_at
"""  # noqa: S608

_MOVE = f"""
{_AS_JUDGED}
UPDATE auditor_witnessed_log SET size = $6, root = $7, note = $8, cosigned_at = judged.now FROM judged
WHERE origin = $1 AND size = $9 AND root = $10 RETURNING cosigned_at
"""  # noqa: S608

_PUBLIC_KEYS = "SELECT public_key FROM auditor_witness_key WHERE retired_at IS NULL"

_WITNESS = f"""
SELECT array({_PUBLIC_KEYS}) AS public_keys, origin, size, root, cosigned_at
FROM (SELECT) AS always LEFT JOIN auditor_witnessed_log ON true ORDER BY origin
"""  # noqa: S608

_KEEP_LINES = r"""
INSERT INTO auditor_log_witness (name, known_size, size, lines, cosigned_at, asked_at)
SELECT name, size, size, string_to_array(lines, E'\n'), to_timestamp(cosigned_at), clock_timestamp()
FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[]) AS answer (name, size, lines, cosigned_at)
ON CONFLICT (name) DO UPDATE SET known_size = excluded.known_size, size = excluded.size, lines = excluded.lines,
  cosigned_at = excluded.cosigned_at, asked_at = excluded.asked_at, trouble = NULL
"""

_KEEP_TROUBLES = """
INSERT INTO auditor_log_witness (name, asked_at, trouble)
SELECT name, clock_timestamp(), trouble FROM unnest($1::text[], $2::text[]) AS answer (name, trouble)
ON CONFLICT (name) DO UPDATE SET asked_at = excluded.asked_at, trouble = excluded.trouble
"""


_KEEP_PEER_LOG = """
INSERT INTO auditor_peer_log (ledger_id, log_keys, witness_keys) VALUES ($1, $2, $3)
ON CONFLICT (ledger_id) DO UPDATE SET log_keys = excluded.log_keys, witness_keys = excluded.witness_keys,
  read_at = excluded.read_at
WHERE auditor_peer_log.read_at <= $4
"""

_WITHDRAW_LOG_KEYS = """
UPDATE auditor_peer_log SET log_keys = $2, read_at = clock_timestamp() WHERE ledger_id = $1
"""

_NEWLY_READ = """
SELECT ledger_id, witness_keys FROM auditor_peer_log
WHERE read_at > clock_timestamp() - interval '10 minutes' AND log_keys <> '{}'
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
    return [row["public_key"] for row in await tx.fetch(_PUBLIC_KEYS)]


async def sealed_keys(tx: Tx, days: int) -> list[tuple[bytes, bytes]]:
    """Public half and sealed private half of the current keys and of those retired in the last so many days, by kind, the newest first."""
    return [
        (row["public_key"], row["sealed_key"]) for row in await tx.fetch(_SEALED_KEYS.format(days="$1"), days)
    ]


async def retire_keys(tx: Tx) -> None:
    """Retire the current keys. The keys are locked."""
    await tx.execute("UPDATE auditor_witness_key SET retired_at = clock_timestamp() WHERE retired_at IS NULL")


async def add_key(tx: Tx, key: bytes, sealed: bytes) -> None:
    """Begin a key. No other one of its kind is current."""
    await tx.execute("INSERT INTO auditor_witness_key (public_key, sealed_key) VALUES ($1, $2)", key, sealed)


async def was_held(tx: Tx, key: bytes) -> bool:
    """Return whether the witness has or had that key."""
    query = "SELECT EXISTS (SELECT FROM auditor_witness_key WHERE public_key = $1)"
    held: bool = await tx.fetchval(query, key)
    return held


async def forget_retired_keys(tx: Tx, days: int) -> None:
    """Delete the private halves of keys that were retired so many days ago."""
    await tx.execute(_FORGET_KEYS, days)


async def before_cosigning(tx: Tx, origin: str, days: int) -> BeforeCosigning:
    """Return the record by which a checkpoint of a log is judged and cosigned, by one statement."""
    row = await tx.fetchrow(_BEFORE_COSIGNING, origin, frame_of(origin), days)
    assert row is not None
    return BeforeCosigning(
        None if row["size"] is None else WitnessedLog(origin, row["size"], row["root"], row["cosigned_at"]),
        row["log_keys"],
        list(zip(row["public_keys"], row["sealed_keys"], strict=True)),
    )


async def record(tx: Tx, known: BeforeCosigning, new: NewCheckpoint, days: int) -> datetime | None:
    """Record the next checkpoint of a log by one statement; the time, in whole seconds.

    None where the log is no longer at the known one, or other keys sign it or cosign here than those that are known.
    """
    origin, *checkpoint = new
    public_keys = [public_key for public_key, _ in known.sealed_keys]
    judged = (origin, frame_of(origin), days, known.log_key_texts, public_keys)
    at: datetime | None
    if known.log is None:
        at = await tx.fetchval(_BEGIN, *judged, *checkpoint)
    else:
        at = await tx.fetchval(_MOVE, *judged, *checkpoint, known.log.size, known.log.root)
    return at


async def witness(tx: Tx) -> tuple[list[bytes], list[WitnessedLog]]:
    """Return the public halves of the current keys, and the last cosigned checkpoint of each log."""
    rows = await tx.fetch(_WITNESS)
    logs = [
        WitnessedLog(row["origin"], row["size"], row["root"], row["cosigned_at"])
        for row in rows
        if row["origin"]
    ]
    return rows[0]["public_keys"], logs


async def known_sizes(tx: Tx) -> dict[str, int]:
    """The size of the own log that each witness is known to have cosigned, by name; absent for none."""
    rows = await tx.fetch("SELECT name, known_size FROM auditor_log_witness")
    return {row["name"]: row["known_size"] for row in rows}


async def keep_cosignatures(tx: Tx, found: Sequence[Cosigned]) -> None:
    """Record the cosignatures of witnesses; each is named once."""
    rows = [(one.name, one.size, "\n".join(one.lines), one.timestamp) for one in found]
    await tx.execute(_KEEP_LINES, *map(list, zip(*rows, strict=True)))


async def keep_troubles(tx: Tx, found: Sequence[tuple[str, str]]) -> None:
    """Record why witnesses did not cosign: names, each once, with the reason."""
    await tx.execute(_KEEP_TROUBLES, [name for name, _ in found], [reason[:500] for _, reason in found])


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
    texts = await tx.fetchval("SELECT log_keys FROM auditor_peer_log WHERE ledger_id = $1", frame_of(origin))
    return keys_in(origin, texts)


def keys_in(origin: str, texts: Sequence[str] | None) -> list[bytes]:
    """The keys of the log among those that are stored of a peer."""
    keys = [read_verifier_key(text, LOG_KEY) for text in texts or ()]
    return [key.public_key for key in keys if key.name == origin]


async def keep_peer_log(tx: Tx, kept: PeerLog, began: datetime) -> None:
    """Keep the keys of a peer whose reading began then, unless keys were withdrawn or read since."""
    await tx.execute(
        _KEEP_PEER_LOG,
        kept.ledger_id,
        [key.text for key in kept.log_keys],
        [key.text for key in kept.witness_keys],
        began,
    )


async def lock_log_keys(tx: Tx, ledger_id: str | None) -> list[VerifierKey] | None:
    """The keys of the log of a peer, locked; None where they were never read."""
    query = "SELECT log_keys FROM auditor_peer_log WHERE ledger_id = $1 FOR NO KEY UPDATE"
    texts = await tx.fetchval(query, ledger_id)
    return None if texts is None else [read_verifier_key(text, LOG_KEY) for text in texts]


async def withdraw_log_keys(tx: Tx, ledger_id: str | None, left: Sequence[VerifierKey]) -> None:
    """Let no other keys than these sign for the log of a peer, until its keys are read."""
    await tx.execute(_WITHDRAW_LOG_KEYS, ledger_id, [key.text for key in left])


async def roots(tx: Tx) -> dict[str, tuple[int, str]]:
    """Return size and root, in hex, of the last cosigned checkpoint, by origin."""
    rows = await tx.fetch("SELECT origin, size, root FROM auditor_witnessed_log")
    return {row["origin"]: (row["size"], row["root"].hex()) for row in rows}


async def seen(tx: Tx, origin: str) -> Seen | None:
    """The checkpoint of a log that was cosigned last."""
    row = await tx.fetchrow("SELECT size, root, note FROM auditor_witnessed_log WHERE origin = $1", origin)
    return Seen(**row) if row else None


async def keep_fork(tx: Tx, fork: Fork) -> bool:
    """Keep both copies, once; whether they were not kept before."""
    stored = await tx.fetchval(
        _KEEP_FORK, fork.origin, fork.kind, fork.own_note, fork.other_note, fork.other_witness
    )
    return stored is not None


async def forks_found(tx: Tx, most: int) -> list[StoredFork]:
    """The newest forks."""
    rows = await tx.fetch("SELECT * FROM auditor_log_fork ORDER BY id DESC LIMIT $1", most)
    return [
        StoredFork(
            Fork(row["origin"], row["kind"], row["own_note"], row["other_note"], row["other_witness"]),
            row["found_at"],
        )
        for row in rows
    ]
