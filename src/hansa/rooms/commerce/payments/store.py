"""The SQL of payment tokens.

Locks: whoever ends a token locks its row first, then what its caller's budget counts, then the ledger. A status changes by
a conditional UPDATE only, so that of several acts at once one succeeds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import asyncpg

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.values.money import Minor

from .errors import QuoteUsed
from .rules import SETTLING_SECONDS, UNUSED_MAX, Status, Token

# One token for each firm quote.
QUOTE_KEY = "commerce_payment_token_quote"

COLUMNS = """
t.id, t.caller, t.payee, t.amount, t.status, t.capture_by, t.is_reserved, t.hold_id, t.fixed_fee, t.contract_id, t.resource,
t.request_digest, t.is_counted, t.capability_id, t.use_id, t.task_id, t.capture_amount, t.tx_id, t.fee,
t.counts, t.reason, t.created_at, t.expires_at, t.ended_at
"""

_NOW_EXPIRED = "clock_timestamp() > t.expires_at AS is_expired"

_FIND = f"SELECT {COLUMNS}, {_NOW_EXPIRED} FROM commerce_payment_token t"  # noqa: S608

# Which of the caller's slots is taken is decided by the unique key: a rival that took it first leaves no row here.
_INSERT = f"""
INSERT INTO commerce_payment_token AS t (id, token_sha256, caller, payee, amount, slot, capture_by, is_reserved, fixed_fee,
  quote_id, contract_id, resource, request_digest, is_counted, capability_id, expires_at)
SELECT $1, $2, $3, $4, $5, free.slot, $6, $7, $8, $9, $10, $11, $12, $13, $14, now() + make_interval(secs => $15)
FROM (
  SELECT n AS slot FROM generate_series(1, {UNUSED_MAX}) n
  WHERE NOT EXISTS (SELECT FROM commerce_payment_token o WHERE o.caller = $3 AND o.slot = n AND o.status = 'authorized')
  ORDER BY random() LIMIT 1
) free
ON CONFLICT (caller, slot) WHERE status = 'authorized' DO NOTHING
RETURNING {COLUMNS}, false AS is_expired
"""  # noqa: S608

_COUNT_UNUSED = "SELECT count(*) FROM commerce_payment_token WHERE caller = $1 AND status = 'authorized'"

_BEGIN = f"""
UPDATE commerce_payment_token t SET status = 'settling', settling_at = clock_timestamp(), task_id = $3, capture_amount = $4
WHERE t.token_sha256 = $1 AND CASE t.capture_by WHEN 'payee' THEN t.payee ELSE t.caller END = $2
  AND t.status IN ('authorized', 'consumed') AND clock_timestamp() <= t.expires_at
  AND ($4::bigint IS NULL OR t.capture_by = 'payee' AND $4 BETWEEN 1 AND t.amount)
RETURNING {COLUMNS}, false AS is_expired
"""  # noqa: S608

_BEGIN_OF = f"""
UPDATE commerce_payment_token t SET status = 'settling', settling_at = clock_timestamp(), task_id = $2
WHERE t.id = $1 AND t.status IN ('authorized', 'consumed') AND clock_timestamp() <= t.expires_at
RETURNING {COLUMNS}, false AS is_expired
"""  # noqa: S608

_END = f"""
UPDATE commerce_payment_token t SET status = $2, ended_at = clock_timestamp(), reason = $3
WHERE t.id = $1 AND t.status IN ('authorized', 'consumed', 'settling') RETURNING {COLUMNS}, {_NOW_EXPIRED}
"""  # noqa: S608

_SETTLED = f"""
UPDATE commerce_payment_token t SET status = 'settled', ended_at = clock_timestamp(), tx_id = $2, fee = $3,
  counts = commerce_counts(t.caller, t.payee), settling_at = coalesce(t.settling_at, clock_timestamp())
WHERE t.id = $1 AND t.status IN ('authorized', 'consumed', 'settling') RETURNING {COLUMNS}, {_NOW_EXPIRED}
"""  # noqa: S608

_OVERDUE = f"clock_timestamp() > t.settling_at + make_interval(secs => {SETTLING_SECONDS})"

_DUE = """
SELECT id FROM commerce_payment_token
WHERE status IN ('authorized', 'consumed') AND expires_at < clock_timestamp() ORDER BY expires_at LIMIT $1
"""

_PLAIN_DUE = """
UPDATE commerce_payment_token t SET status = 'expired', ended_at = clock_timestamp()
WHERE t.status IN ('authorized', 'consumed') AND NOT t.is_reserved AND NOT t.is_counted AND t.capability_id IS NULL
  AND t.id IN (
    SELECT id FROM commerce_payment_token
    WHERE status IN ('authorized', 'consumed') AND expires_at < clock_timestamp() AND ($1::text IS NULL OR caller = $1)
    ORDER BY id LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED)
RETURNING 1
"""

_LISTED = f"""
{_FIND} WHERE t.{{role}} = $1 AND ($2::text IS NULL OR t.status = $2) ORDER BY t.created_at DESC, t.id DESC LIMIT $3
"""


@dataclass(frozen=True)
class NewToken:
    """A token about to be written."""

    id: UUID
    token_sha256: bytes
    caller: str
    payee: str
    amount: Minor
    capture_by: str
    is_reserved: bool
    fixed_fee: Minor | None
    quote_id: UUID | None
    contract_id: int | None
    resource: str | None
    request_digest: str | None
    is_counted: bool
    capability_id: UUID | None
    ttl_seconds: int


@dataclass(frozen=True)
class Verified:
    """A token after a verification; `is_first` where this one consumed it."""

    token: Token | None
    is_first: bool


async def insert(tx: Tx, new: NewToken) -> Token | None:
    """Write a token into a free slot of its caller; None when there is none, or a rival took it.

    Raises: QuoteUsed, after which the transaction can only be undone.
    """
    try:
        row = await tx.fetchrow(
            _INSERT,
            new.id,
            new.token_sha256,
            new.caller,
            new.payee,
            new.amount,
            new.capture_by,
            new.is_reserved,
            new.fixed_fee,
            new.quote_id,
            new.contract_id,
            new.resource,
            new.request_digest,
            new.is_counted,
            new.capability_id,
            float(new.ttl_seconds),
        )
    except asyncpg.UniqueViolationError as taken:
        if taken.constraint_name != QUOTE_KEY:
            raise
        raise QuoteUsed from None
    return _token(row)


async def count_unused(tx: Tx, caller: str) -> int:
    """How many unused tokens a caller has."""
    counted: int = await tx.fetchval(_COUNT_UNUSED, caller)
    return counted


async def write_hold(tx: Tx, token_id: UUID, hold_id: int) -> None:
    """Note the hold of a reserved token."""
    await tx.execute("UPDATE commerce_payment_token SET hold_id = $2 WHERE id = $1", token_id, hold_id)


async def find(tx: Tx, token_id: UUID) -> Token | None:
    """A token by its id."""
    return _token(await tx.fetchrow(f"{_FIND} WHERE t.id = $1", token_id))


async def was_used(tx: Tx, token_id: UUID) -> bool:
    """Whether a service has used a token."""
    used: bool = await tx.fetchval(
        "SELECT consumed_at IS NOT NULL FROM commerce_payment_token WHERE id = $1", token_id
    )
    return used


async def token_of_payment(tx: Tx, tx_id: int) -> Token | None:
    """The token that this transaction paid."""
    return _token(await tx.fetchrow(f"{_FIND} WHERE t.tx_id = $1", tx_id))


async def find_by_hash(tx: Tx, token_sha256: bytes) -> Token | None:
    """The token with this hash."""
    return _token(await tx.fetchrow(f"{_FIND} WHERE t.token_sha256 = $1", token_sha256))


async def lock(tx: Tx, token_id: UUID) -> Token | None:
    """As `find`, locked until the transaction ends."""
    await tx.fetchval("SELECT 1 FROM commerce_payment_token WHERE id = $1 FOR NO KEY UPDATE", token_id)
    # A statement of its own after the lock: the clock is read when nobody else can change the token any more.
    return await find(tx, token_id)


async def lock_by_hash(tx: Tx, token_sha256: bytes) -> Token | None:
    """The token with this hash, locked until the transaction ends."""
    await tx.fetchval(
        "SELECT 1 FROM commerce_payment_token WHERE token_sha256 = $1 FOR NO KEY UPDATE", token_sha256
    )
    return _token(await tx.fetchrow(f"{_FIND} WHERE t.token_sha256 = $1", token_sha256))


async def verify(
    tx: Tx, hashes: Sequence[bytes], targets: Sequence[str | None], use_ids: Sequence[str | None]
) -> list[Verified]:
    """Verify many tokens in one statement, which consumes those that are used for the first time."""
    rows = await tx.fetch(
        f"SELECT {COLUMNS}, v.is_expired, v.is_first FROM commerce_verify($1, $2, $3)"  # noqa: S608
        " WITH ORDINALITY AS v (t, is_first, is_expired, place) CROSS JOIN LATERAL (SELECT (v.t).*) t ORDER BY v.place",
        hashes,
        targets,
        use_ids,
    )
    return [Verified(_verified(row), row["is_first"]) for row in rows]


async def begin_settlement(
    tx: Tx, token_sha256: bytes, settler: str, task_id: str | None, capture_amount: Minor | None
) -> Token | None:
    """Let a token settle that this agent may settle and that is open and not expired; None: it is not so."""
    return _token(await tx.fetchrow(_BEGIN, token_sha256, settler, task_id, capture_amount))


async def begin_settlement_of(tx: Tx, token_id: UUID, task_id: str | None) -> Token | None:
    """Let a locked token settle; None when it has expired or ended."""
    return _token(await tx.fetchrow(_BEGIN_OF, token_id, task_id))


async def is_overdue(tx: Tx, token_id: UUID) -> bool:
    """Whether a settling token has had its time; read after its lock."""
    overdue: bool = await tx.fetchval(
        f"SELECT {_OVERDUE} FROM commerce_payment_token t WHERE id = $1",  # noqa: S608
        token_id,
    )
    return overdue


async def now(tx: Tx) -> datetime:
    """The time by the clock of the database."""
    moment: datetime = await tx.fetchval("SELECT now()")
    return moment


async def end(tx: Tx, token_id: UUID, status: Status, reason: str | None = None) -> Token:
    """End a locked token without a payment."""
    ended = _token(await tx.fetchrow(_END, token_id, status, reason))
    assert ended is not None, "a locked token was open"
    return ended


async def write_settled(tx: Tx, token_id: UUID, tx_id: int, fee: Minor) -> Token:
    """End a locked token with its payment, and judge whether it counts."""
    settled = _token(await tx.fetchrow(_SETTLED, token_id, tx_id, fee))
    assert settled is not None, "a locked token was open"
    return settled


async def expire_plain(tx: Tx, caller: str | None, limit: int) -> int:
    """Expire tokens that reserve and count nothing, those of one caller or of all; returns how many."""
    return len(await tx.fetch(_PLAIN_DUE, caller, limit))


async def due(tx: Tx, limit: int) -> list[UUID]:
    """Open tokens past their expiry."""
    return [row["id"] for row in await tx.fetch(_DUE, limit)]


async def settling(tx: Tx, older_than_seconds: float, limit: int) -> list[UUID]:
    """Tokens that have been settling for so long, the oldest first."""
    rows = await tx.fetch(
        "SELECT id FROM commerce_payment_token WHERE status = 'settling'"
        " AND settling_at <= clock_timestamp() - make_interval(secs => $1) ORDER BY settling_at LIMIT $2",
        older_than_seconds,
        limit,
    )
    return [row["id"] for row in rows]


async def listed(tx: Tx, did: str, *, is_payee: bool, status: str | None, limit: int) -> Sequence[Token]:
    """The tokens that an agent authorized, or those where it is the payee, newest first."""
    query = _LISTED.format(role="payee" if is_payee else "caller")
    return [Token(**row) for row in await tx.fetch(query, did, status, limit)]


def _verified(row: asyncpg.Record) -> Token | None:
    members = dict(row)
    del members["is_first"]
    return None if members["id"] is None else Token(**members)


def _token(row: asyncpg.Record | None) -> Token | None:
    return None if row is None else Token(**row)
