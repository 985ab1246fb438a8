"""The SQL of payment tokens.

Locks: a transaction that ends a token locks its row first, then the rows of its caller's budget, then the ledger. A status changes by
a conditional UPDATE only, so that of several acts at once one succeeds.
"""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import asyncpg
import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor
from hansa.rooms import ledger

from .errors import QuoteUsed, TooManyUnusedTokens
from .rules import SETTLING_SECONDS, UNUSED_MAX, CaptureBy, Status, Token

COLUMNS = """
t.id, t.caller, t.payee, t.amount, t.status, t.capture_by, t.is_reserved, t.hold_id, t.fixed_fee, t.contract_id, t.resource,
t.request_digest, t.is_counted, t.capability_id, t.grant_id, t.use_id, t.task_id, t.capture_amount, t.tx_id, t.fee,
t.counts, t.crossed, t.is_bought, t.purchase_budget_id, t.reason, t.created_at, t.expires_at, t.ended_at
"""

_NOW_EXPIRED = "clock_timestamp() > t.expires_at AS is_expired"

_FIND = f"SELECT {COLUMNS}, {_NOW_EXPIRED} FROM commerce_payment_token t"  # noqa: S608

_INSERT = "SELECT * FROM commerce_new_token($1::jsonb)"

_SECONDS_TO_SLOT = """
SELECT ceil(extract(epoch FROM min(expires_at) - clock_timestamp()))::int FROM commerce_payment_token
WHERE caller = $1 AND status = 'authorized' AND slot IS NOT NULL
"""

_SETTLE_TIMES = """
SELECT id, greatest(extract(epoch FROM ended_at - created_at) * 1000, 0)::bigint AS milliseconds
FROM commerce_payment_token WHERE id = ANY ($1) AND status = 'settled'
"""

_FIND_EACH = f"""
SELECT {COLUMNS}, {_NOW_EXPIRED}, t.token_sha256 FROM commerce_payment_token t WHERE t.token_sha256 = ANY($1)
"""  # noqa: S608

_VERIFY = f"""
SELECT {COLUMNS}, v.is_expired, v.is_first, v.caller_status FROM commerce_verify_2($1, $2, $3)
WITH ORDINALITY AS v (t, is_first, is_expired, caller_status, place) CROSS JOIN LATERAL (SELECT (v.t).*) t ORDER BY v.place
"""  # noqa: S608

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

_SECONDS_TO_SETTLE = f"""
SELECT extract(epoch FROM settling_at - clock_timestamp())::float + {SETTLING_SECONDS} FROM commerce_payment_token WHERE id = $1
"""  # noqa: S608

_LISTED = f"""
{_FIND} WHERE t.{{role}} = $1 AND ($2::text IS NULL OR t.status = $2) ORDER BY t.created_at DESC, t.id DESC LIMIT $3
"""

# Two branches, so that each goes by the index of its role.
_COUNT_UNSETTLED = """
SELECT (SELECT count(*) FROM commerce_payment_token WHERE caller = $1 AND status IN ('consumed', 'settling'))
  + (SELECT count(*) FROM commerce_payment_token WHERE payee = $1 AND caller <> $1 AND status IN ('consumed', 'settling'))
"""

# A statement of its own: with a condition that may be absent, a plan for all values would read every token of the agent.
_LISTED_ONE = f"{_FIND} WHERE t.id = $3 AND t.{{role}} = $1 AND ($2::text IS NULL OR t.status = $2)"


class NewToken(msgspec.Struct, frozen=True):
    """A token to be written."""

    id: UUID
    token_sha256: bytes
    caller: str
    payee: str
    amount: Minor
    capture_by: CaptureBy
    is_reserved: bool
    fixed_fee: Minor | None
    quote_id: UUID | None
    contract_id: int | None
    resource: str | None
    request_digest: str | None
    is_counted: bool
    capability_id: UUID | None
    grant_id: UUID | None
    ttl_seconds: int

    def written(self, created_at: datetime, expires_at: datetime) -> Token:
        """The token, once the database has stamped its times."""
        return Token(
            id=self.id,
            caller=self.caller,
            payee=self.payee,
            amount=self.amount,
            status="authorized",
            capture_by=self.capture_by,
            is_reserved=self.is_reserved,
            fixed_fee=self.fixed_fee,
            contract_id=self.contract_id,
            resource=self.resource,
            request_digest=self.request_digest,
            is_counted=self.is_counted,
            capability_id=self.capability_id,
            grant_id=self.grant_id,
            created_at=created_at,
            expires_at=expires_at,
        )


class Verified(msgspec.Struct, frozen=True):
    """A token after a verification; `is_first` where this one consumed it.

    `caller_status` is None unless the caller is an agent of this registry.
    """

    token: Token | None
    is_first: bool
    caller_status: str | None


async def insert(tx: Tx, new: NewToken) -> Token:
    """Write a token into a free slot of its caller. Raises: TooManyUnusedTokens, QuoteUsed."""
    row = await tx.fetchrow(_INSERT, msgspec.json.encode(new).decode())
    assert row is not None
    match row["refusal"]:
        case "SLOTS_TAKEN":
            raise TooManyUnusedTokens(
                f"The caller has {UNUSED_MAX} unused payment tokens; release some, or retry after one has expired.",
                retry_after=await tx.fetchval(_SECONDS_TO_SLOT, new.caller) or 1,
            )
        case "QUOTE_USED":
            raise QuoteUsed
    return new.written(row["created_at"], row["expires_at"])


async def write_hold(tx: Tx, token_id: UUID, hold_id: int) -> None:
    """Note the hold of a reserved token."""
    await tx.execute("UPDATE commerce_payment_token SET hold_id = $2 WHERE id = $1", token_id, hold_id)


async def mark_bought(tx: Tx, token_id: UUID, budget_id: UUID | None) -> None:
    """Note that the registry settles a token, by the answer to its purchase, and the budget that counts it."""
    await tx.execute(
        "UPDATE commerce_payment_token SET is_bought = true, purchase_budget_id = $2 WHERE id = $1",
        token_id,
        budget_id,
    )


async def find(tx: Tx, token_id: UUID) -> Token | None:
    """A token by its id."""
    return _token(await tx.fetchrow(f"{_FIND} WHERE t.id = $1", token_id))


async def find_many(tx: Tx, ids: Sequence[UUID]) -> dict[UUID, Token]:
    """The tokens with these ids."""
    return {row["id"]: Token(**row) for row in await tx.fetch(f"{_FIND} WHERE t.id = ANY($1)", ids)}


async def settle_times(tx: Tx, ids: Sequence[UUID]) -> dict[UUID, int]:
    """Milliseconds from the authorization of those tokens that are settled to their settlement."""
    return {row["id"]: row["milliseconds"] for row in await tx.fetch(_SETTLE_TIMES, ids)}


async def find_by_hashes(tx: Tx, hashes: Sequence[bytes]) -> dict[bytes, Token]:
    """The tokens with these hashes."""
    rows = [dict(row) for row in await tx.fetch(_FIND_EACH, hashes)]
    return {row.pop("token_sha256"): Token(**row) for row in rows}


async def was_used(tx: Tx, token_id: UUID) -> bool:
    """Return whether a service has used a token."""
    used: bool = await tx.fetchval(
        "SELECT consumed_at IS NOT NULL FROM commerce_payment_token WHERE id = $1", token_id
    )
    return used


async def token_of_payment(tx: Tx, tx_id: int) -> Token | None:
    """The token that this transaction paid."""
    return _token(await tx.fetchrow(f"{_FIND} WHERE t.tx_id = $1", tx_id))


async def same_work(tx: Tx, token: Token) -> list[Token]:
    """The other tokens of the same caller that were settled before this one ended, for the same request of a task."""
    rows = await tx.fetch(
        f"{_FIND} WHERE t.caller = $1 AND t.payee = $2 AND t.task_id = $3 AND t.request_digest = $4"
        " AND t.resource IS NOT DISTINCT FROM $5 AND t.status = 'settled' AND (t.ended_at, t.id) < ($6, $7)"
        " ORDER BY t.ended_at",
        token.caller,
        token.payee,
        token.task_id,
        token.request_digest,
        token.resource,
        token.ended_at,
        token.id,
    )
    return [Token(**row) for row in rows]


async def find_by_hash(tx: Tx, token_sha256: bytes) -> Token | None:
    """The token with this hash."""
    return _token(await tx.fetchrow(f"{_FIND} WHERE t.token_sha256 = $1", token_sha256))


async def lock(tx: Tx, token_id: UUID) -> Token | None:
    """Find a token as `find` does, and lock it until the transaction ends."""
    await tx.fetchval("SELECT 1 FROM commerce_payment_token WHERE id = $1 FOR NO KEY UPDATE", token_id)
    # A statement of its own after the lock: the clock is read when no other transaction can change the token.
    return await find(tx, token_id)


async def lock_idle(tx: Tx, token_id: UUID) -> Token | None:
    """Lock a token as `lock` does; None also where another transaction is at work on it."""
    statement = "SELECT 1 FROM commerce_payment_token WHERE id = $1 FOR NO KEY UPDATE SKIP LOCKED"
    return None if await tx.fetchval(statement, token_id) is None else await find(tx, token_id)


async def named(tx: Tx, ids: Sequence[UUID]) -> frozenset[UUID]:
    """Those of the ids that are a token's."""
    rows = await tx.fetch("SELECT id FROM commerce_payment_token WHERE id = ANY ($1)", ids)
    return frozenset(row["id"] for row in rows)


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
    return [_verified(row) for row in await tx.fetch(_VERIFY, hashes, targets, use_ids)]


async def begin_settlement(
    tx: Tx, token_sha256: bytes, settler: str, task_id: str | None, capture_amount: Minor | None
) -> Token | None:
    """Let a token settle that this agent may settle and that is open and not expired; None: it is not so."""
    return _token(await tx.fetchrow(_BEGIN, token_sha256, settler, task_id, capture_amount))


async def begin_settlement_of(tx: Tx, token_id: UUID, task_id: str | None) -> Token | None:
    """Let a locked token settle; None when it has expired or ended."""
    return _token(await tx.fetchrow(_BEGIN_OF, token_id, task_id))


async def seconds_to_settle(tx: Tx, token_id: UUID) -> float:
    """The time that a settling token has left; read after its lock."""
    seconds: float = await tx.fetchval(_SECONDS_TO_SETTLE, token_id)
    return seconds


async def settle_paid_across(tx: Tx, token_id: UUID, tx_id: int, book: ledger.Book) -> None:
    """Settle a locked token, with its event, by the transaction that took its units to another registry."""
    await tx.execute(
        "SELECT commerce_paid_across($1, $2, $3, $4)", token_id, tx_id, book.frame, book.currency
    )


async def end(tx: Tx, token_id: UUID, status: Status, reason: str | None = None) -> Token:
    """End a locked token without a payment."""
    ended = _token(await tx.fetchrow(_END, token_id, status, reason))
    assert ended is not None, "a locked token was open"
    return ended


async def authorized_of(tx: Tx, caller: str) -> list[UUID]:
    """The authorized tokens of a caller, in the order of their ids."""
    rows = await tx.fetch(
        "SELECT id FROM commerce_payment_token WHERE caller = $1 AND status = 'authorized' ORDER BY id",
        caller,
    )
    return [row["id"] for row in rows]


async def count_unsettled(tx: Tx, did: str) -> int:
    """Tokens of the agent that are consumed or settling, as their caller or their payee."""
    count: int = await tx.fetchval(_COUNT_UNSETTLED, did)
    return count


async def listed(tx: Tx, did: str, *, is_payee: bool, status: str | None, limit: int) -> Sequence[Token]:
    """The tokens that an agent authorized, or those where it is the payee, newest first."""
    query = _LISTED.format(role="payee" if is_payee else "caller")
    return [Token(**row) for row in await tx.fetch(query, did, status, limit)]


async def listed_one(
    tx: Tx, did: str, *, is_payee: bool, status: str | None, token_id: UUID
) -> Sequence[Token]:
    """Return the token with this id as `listed` does; found by its primary key."""
    query = _LISTED_ONE.format(role="payee" if is_payee else "caller")
    return [Token(**row) for row in await tx.fetch(query, did, status, token_id)]


def _verified(row: asyncpg.Record) -> Verified:
    members = dict(row)
    is_first, caller_status = members.pop("is_first"), members.pop("caller_status")
    token = None if members["id"] is None else Token(**members)
    return Verified(token, is_first, caller_status)


def _token(row: asyncpg.Record | None) -> Token | None:
    return None if row is None else Token(**row)
