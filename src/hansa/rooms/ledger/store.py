"""Every SQL statement of the book.

Locks: agents' accounts are locked in id order before anything is decided, by `lock_accounts` or inside the batch; the registry's own
accounts are touched after them, one statement each. So all transactions take locks in one order.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

import asyncpg
import msgspec

from hansa.foundation.plumbing import idempotency
from hansa.foundation.plumbing.database import Tx
from hansa.foundation.words.money import ZERO, Minor

from .book import Book
from .rules import Account, FeePolicy

_READ = """
SELECT id, did, status = 'active' AS is_active, liquid, pace, (extract(epoch FROM now()) / 60)::int AS minute
FROM ledger_account WHERE did = ANY($1) ORDER BY id
"""

_LOCK = f"{_READ} FOR NO KEY UPDATE"

_KEEP_PACE = "UPDATE ledger_account SET pace = $2 WHERE id = $1"

# The sums are checked by the database: liquid >= 0, and postings to zero.
_MOVE = """
UPDATE ledger_account a SET liquid = a.liquid + m.delta FROM unnest($1::text[], $2::bigint[]) AS m (did, delta)
WHERE a.did = m.did RETURNING a.id, a.did, m.delta, a.liquid
"""

_INSERT_TRANSACTION = """
INSERT INTO ledger_transaction (tx_type, payer_id, payee_id, amount, fee, message, ref)
VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id, recorded_at
"""

_INSERT_POSTINGS = """
INSERT INTO ledger_posting (tx_id, account_id, bucket, delta, balance_after)
SELECT $1, p.account_id, 'liquid', p.delta, p.balance_after
FROM unnest($2::bigint[], $3::bigint[], $4::bigint[]) AS p (account_id, delta, balance_after)
"""

_TRANSFER_BATCH = "SELECT * FROM ledger_transfer_batch($1, $2, $3, $4, $5, $6)"

BALANCES = """
SELECT did AS account, 'liquid' AS bucket, liquid AS balance FROM ledger_account WHERE liquid <> 0
UNION ALL SELECT did, 'staked', staked FROM ledger_account WHERE staked <> 0
"""
"""A relation to join: what every bucket of every account holds, empty ones left out."""

WRITTEN_TRANSACTIONS = "SELECT id AS tx_id FROM ledger_transaction"
"""A relation to join: the ids of all transactions."""

# Both name the types as the index of the references does, whose few rows they read.
_IS_REFERENCE_USED = """
SELECT EXISTS (
  SELECT FROM ledger_transaction WHERE tx_type IN ('issue', 'destroy') AND tx_type = $1 AND ref = $2
)
"""

_SUM_SUPPLY = """
SELECT coalesce(sum(CASE tx_type WHEN 'issue' THEN amount ELSE -amount END), 0)::bigint FROM ledger_transaction
WHERE tx_type IN ('issue', 'destroy')
"""

SupplyAct: TypeAlias = Literal["issue", "destroy"]
"""The types of transactions that change how many units there are."""

_OPEN_SYSTEM = (
    "INSERT INTO ledger_account (did, kind) SELECT unnest($1::text[]), $2 ON CONFLICT (did) DO NOTHING"
)


@dataclass(frozen=True)
class Posting:
    """A transaction about to be written; movements are (did, delta) of agents' accounts, then of the registry's own."""

    tx_type: str
    payer_id: int | None
    payee_id: int | None
    amount: Minor
    fee: Minor = ZERO
    message: str | None = None
    ref: str | None = None
    movements: list[tuple[str, int]] = field(default_factory=list)
    own_movements: list[tuple[str, int]] = field(default_factory=list)


@dataclass(frozen=True)
class Posted:
    """A written transaction; entries are (did, delta, balance after)."""

    tx_id: int
    recorded_at: datetime
    entries: list[tuple[str, int, int]]

    def balance_after(self, did: str) -> Minor:
        """What the account holds after this transaction."""
        return next(Minor(after) for account, _, after in self.entries if account == did)


class BatchOrder(msgspec.Struct, frozen=True):
    """One transfer of a batch as the database reads it; `scope` and `digest` of a repeatable request in hex."""

    payer: str
    payee: str
    amount: int
    message: str | None
    scope: str | None
    digest: str | None
    barred: bool


async def lock_accounts(tx: Tx, dids: Sequence[str]) -> dict[str, Account]:
    """Lock the accounts in id order until the transaction ends; unknown DIDs are absent from the answer."""
    return {row["did"]: _account(row) for row in await tx.fetch(_LOCK, list(dids))}


async def read_accounts(tx: Tx, dids: Sequence[str]) -> dict[str, Account]:
    """As `lock_accounts`, without the lock."""
    return {row["did"]: _account(row) for row in await tx.fetch(_READ, list(dids))}


def _account(row: asyncpg.Record) -> Account:
    pace = row["pace"]
    return Account(
        id=row["id"],
        did=row["did"],
        is_active=row["is_active"],
        liquid=Minor(row["liquid"]),
        pace=tuple(zip(pace[0::3], pace[1::3], pace[2::3], strict=True)),
        minute=row["minute"],
    )


async def keep_pace(tx: Tx, account_id: int, pace: Sequence[tuple[int, int, int]]) -> None:
    """Write the pace of a locked account."""
    await tx.execute(_KEEP_PACE, account_id, [value for entry in pace for value in entry])


async def post(tx: Tx, posting: Posting) -> Posted:
    """Write a transaction, its postings and the balances they lead to. Agents' accounts are locked already."""
    moved = []
    for movements in (posting.movements, posting.own_movements):
        if movements:
            moved += await tx.fetch(_MOVE, [did for did, _ in movements], [delta for _, delta in movements])
    written = await tx.fetchrow(
        _INSERT_TRANSACTION,
        posting.tx_type,
        posting.payer_id,
        posting.payee_id,
        posting.amount,
        posting.fee,
        posting.message,
        posting.ref,
    )
    assert written is not None
    assert len(moved) == len(posting.movements) + len(posting.own_movements)
    await tx.execute(
        _INSERT_POSTINGS,
        written["id"],
        [row["id"] for row in moved],
        [row["delta"] for row in moved],
        [row["liquid"] for row in moved],
    )
    # The payer's side first, then the others as they were ordered: that is how a posting is read.
    after = {row["did"]: row["liquid"] for row in moved}
    entries = [(did, delta, after[did]) for did, delta in [*posting.movements, *posting.own_movements]]
    entries.sort(key=lambda entry: entry[1] > 0)
    return Posted(written["id"], written["recorded_at"], entries)


async def transfer_batch(
    tx: Tx, book: Book, policy: FeePolicy, orders: Sequence[bytes]
) -> list[asyncpg.Record]:
    """Decide and write transfers, each a `BatchOrder` in JSON, in one statement; an outcome for each, in order."""
    return await tx.fetch(
        _TRANSFER_BATCH,
        book.frame,
        book.currency,
        book.fee_collector,
        policy.as_integers(),
        (b"[" + b",".join(orders) + b"]").decode(),
        idempotency.WINDOW_HOURS,
    )


async def open_accounts(tx: Tx, dids: Sequence[str], *, kind: str) -> None:
    """Open the accounts that do not exist yet."""
    await tx.execute(_OPEN_SYSTEM, list(dids), kind)


async def open_account(tx: Tx, did: str) -> None:
    """Open one agent's account; a second for the same DID is a unique violation."""
    await tx.execute("INSERT INTO ledger_account (did, kind) VALUES ($1, 'agent')", did)


async def is_reference_used(tx: Tx, act: SupplyAct, ref: str) -> bool:
    """Whether units were issued, or destroyed, under this reference."""
    is_used: bool = await tx.fetchval(_IS_REFERENCE_USED, act, ref)
    return is_used


async def sum_supply(tx: Tx) -> Minor:
    """All units there are: what was ever issued minus what was destroyed."""
    return Minor(await tx.fetchval(_SUM_SUPPLY))


async def buckets_of(tx: Tx, did: str) -> tuple[Minor, Minor] | None:
    """The liquid and the staked balance, or None for an unknown DID."""
    row = await tx.fetchrow("SELECT liquid, staked FROM ledger_account WHERE did = $1", did)
    return (Minor(row["liquid"]), Minor(row["staked"])) if row else None


async def sum_balances(tx: Tx) -> tuple[Minor, int]:
    """The sum of all balances, exact whatever somebody wrote into them, and the number of agents' accounts."""
    row = await tx.fetchrow(
        "SELECT coalesce(sum(liquid) + sum(staked), 0) AS total, count(*) FILTER (WHERE kind = 'agent') AS agents"
        " FROM ledger_account"
    )
    assert row is not None
    return Minor(int(row["total"])), row["agents"]


async def newest_transaction(tx: Tx) -> int:
    """The highest id of a transaction, 0 without any."""
    newest: int = await tx.fetchval("SELECT coalesce(max(id), 0) FROM ledger_transaction")
    return newest
