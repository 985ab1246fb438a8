"""Every SQL statement of the book.

Locks: holds in id order, then agents' accounts, then the registry's own, by `lock_accounts` or inside the engine; the fee
collector last. So all transactions take locks in one order. A suspension locks its accounts in the order of their ids too: a
transfer that is being decided comes before it, or sees it.
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias

import asyncpg
import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web import idempotency
from hansa.foundation.values.money import Minor

from .book import Book
from .rules import Account, fees_over_time

_LOCK = """
SELECT id, did, status = 'active' AS is_active, liquid FROM ledger_account WHERE did = ANY($1) AND unit = ''
ORDER BY kind = 'system', id FOR NO KEY UPDATE
"""
_APPLY = "SELECT * FROM ledger_apply($1, $2, $3, $4, $5, $6, $7)"
_APPLY_EXTENDED = "SELECT * FROM ledger_apply_extended($1, $2, $3, $4, $5, $6, $7)"
BALANCES = """
SELECT did AS account, 'liquid' AS bucket, liquid AS balance FROM ledger_account WHERE liquid <> 0
UNION ALL SELECT did, 'staked', staked FROM ledger_account WHERE staked <> 0
UNION ALL SELECT did, 'escrow', escrow FROM ledger_account WHERE escrow <> 0
UNION ALL SELECT did, 'transit', transit FROM ledger_account WHERE transit <> 0
"""
"""A relation to join: what every bucket of every account holds, empty ones left out."""

_SET_STATUS = """
WITH accounts AS (
  SELECT id FROM ledger_account WHERE did = ANY($1) AND kind = 'agent' ORDER BY id FOR NO KEY UPDATE
)
UPDATE ledger_account SET status = $2 FROM accounts WHERE ledger_account.id = accounts.id RETURNING did
"""


ACCOUNTS = "SELECT id, did AS account FROM ledger_account"
"""A relation to join: every account."""
OWED = """
SELECT id, did AS account, least(liquid::numeric + staked + escrow, 9223372036854775807)::bigint AS balance
FROM ledger_account WHERE liquid <> 0 OR staked <> 0 OR escrow <> 0
"""
"""A relation to join: what each account holds that circulates, at most what a bigint has; accounts without it are left out."""
WRITTEN_TRANSACTIONS = "SELECT id AS tx_id FROM ledger_transaction"
"""A relation to join: the ids of all transactions."""
# Both name the types as the index of the references does, whose few rows they read.
_IS_REFERENCE_USED = """
SELECT EXISTS (
  SELECT FROM ledger_transaction WHERE tx_type IN ('issue', 'destroy', 'correction') AND tx_type = $1 AND ref = $2
)
"""
_SUM_SUPPLY = """
SELECT coalesce(sum(CASE tx_type WHEN 'issue' THEN amount ELSE -amount END), 0)::bigint FROM ledger_transaction
WHERE tx_type IN ('issue', 'destroy')
"""
_PAYMENT = """
SELECT payer.did AS payer, payee.did AS payee, t.amount, t.fee, t.recorded_at
FROM ledger_transaction t JOIN ledger_account payer ON payer.id = t.payer_id JOIN ledger_account payee ON payee.id = t.payee_id
WHERE t.id = $1 AND t.tx_type IN ('transfer', 'capture') AND payer.kind = 'agent' AND payee.kind = 'agent'
"""
_REFERENCED = """
SELECT id AS tx_id, ref, amount FROM ledger_transaction
WHERE id > $2 AND tx_type IN ('transfer', 'capture') AND ref ^@ $1
"""
_PAYMENT_ABROAD = """
SELECT payer.did AS payer, c.counterparty AS payee, c.amount, 0::bigint AS fee, c.decided_at AS recorded_at, c.transfer_id
FROM ledger_transaction t JOIN ledger_crossing c
  ON c.transit_id = t.payee_id AND c.direction IN ('out', 'swap_out') AND c.transfer_id = t.ref::uuid
JOIN ledger_account payer ON payer.id = c.agent_id
WHERE t.id = $1 AND t.tx_type = 'out' AND c.state = 'committed' AND c.counterparty IS NOT NULL
"""
ReferencedAct: TypeAlias = Literal["issue", "destroy", "correction"]
"""The types of transactions that are made once for each reference."""
_OPEN_SYSTEM = (
    "INSERT INTO ledger_account (did, kind) SELECT unnest($1::text[]), $2 ON CONFLICT (did, unit) DO NOTHING"
)
_CLOSE = """
UPDATE ledger_account SET status = 'suspended', closed_at = coalesce(closed_at, now())
WHERE did = $1 AND kind = 'agent' AND liquid = 0 AND staked = 0 AND escrow = 0 RETURNING 1
"""


async def lock_accounts(tx: Tx, dids: Sequence[str]) -> dict[str, Account]:
    """Lock the accounts in id order until the transaction ends; unknown DIDs are absent from the answer."""
    return {row["did"]: Account(**row) for row in await tx.fetch(_LOCK, list(dids))}


async def apply(
    tx: Tx, book: Book, orders: Sequence[bytes], *, extended: bool, dry: bool
) -> list[asyncpg.Record]:
    """Decide and write orders, each in JSON as `orders.Order` encodes it, in one statement; a row for each, in order."""
    return await tx.fetch(
        _APPLY_EXTENDED if extended else _APPLY,
        book.frame,
        book.currency,
        book.fee_collector,
        book.governed.derived(fees_over_time),
        (b"[" + b",".join(orders) + b"]").decode(),
        idempotency.WINDOW_HOURS,
        dry,
    )


async def collectors_of(tx: Tx, book: Book) -> list[str]:
    """The DIDs of the accounts that collect fees, the named one first."""
    dids: list[str] = await tx.fetchval("SELECT ledger_collectors($1)", book.fee_collector)
    return dids


async def open_accounts(tx: Tx, dids: Sequence[str], *, kind: str) -> None:
    """Open the accounts that do not exist yet."""
    await tx.execute(_OPEN_SYSTEM, list(dids), kind)


async def open_account(tx: Tx, did: str) -> None:
    """Open one agent's account; a second for the same DID is a unique violation."""
    await tx.execute("INSERT INTO ledger_account (did, kind) VALUES ($1, 'agent')", did)


async def is_reference_used(tx: Tx, act: ReferencedAct, ref: str) -> bool:
    """Return whether a transaction of this type was made under this reference."""
    is_used: bool = await tx.fetchval(_IS_REFERENCE_USED, act, ref)
    return is_used


async def referenced(tx: Tx, prefix: str, after_tx: int) -> list[asyncpg.Record]:
    """Transaction, reference and amount of the payments above a transaction whose reference begins so."""
    rows: list[asyncpg.Record] = await tx.fetch(_REFERENCED, prefix, after_tx)
    return rows


async def payment(tx: Tx, tx_id: int) -> asyncpg.Record | None:
    """Return the payer, the payee and the amounts of this transaction, or None."""
    return await tx.fetchrow(_PAYMENT, tx_id)


async def payment_abroad(tx: Tx, tx_id: int) -> asyncpg.Record | None:
    """Return a committed transfer to an agent of another registry by its transaction, or None."""
    return await tx.fetchrow(_PAYMENT_ABROAD, tx_id)


async def sum_supply(tx: Tx) -> Minor:
    """Return the supply: all units ever issued minus those destroyed."""
    return Minor(await tx.fetchval(_SUM_SUPPLY))


async def buckets_of(tx: Tx, did: str) -> tuple[Minor, Minor, Minor] | None:
    """The liquid balance, the staked one and escrow, or None for an unknown DID."""
    row = await tx.fetchrow(
        "SELECT liquid, staked, escrow FROM ledger_account WHERE did = $1 AND unit = ''", did
    )
    return (Minor(row["liquid"]), Minor(row["staked"]), Minor(row["escrow"])) if row else None


async def buckets_of_each(tx: Tx, dids: Sequence[str]) -> dict[str, tuple[Minor, Minor, Minor]]:
    """The same three balances of several accounts, by DID, in one statement; an unknown DID is absent."""
    rows = await tx.fetch(
        "SELECT did, liquid, staked, escrow FROM ledger_account WHERE did = ANY ($1) AND unit = ''", dids
    )
    return {row["did"]: (Minor(row["liquid"]), Minor(row["staked"]), Minor(row["escrow"])) for row in rows}


async def sum_balances(tx: Tx) -> tuple[Minor, int]:
    """The sum of all balances, exact whatever somebody wrote into them, and the number of agents' accounts."""
    row = await tx.fetchrow(
        "SELECT coalesce(sum(liquid) + sum(staked) + sum(escrow), 0) AS total, count(*) FILTER (WHERE kind = 'agent') AS agents"
        " FROM ledger_account"
    )
    assert row is not None
    return Minor(int(row["total"])), row["agents"]


async def newest_transaction(tx: Tx) -> int:
    """The highest id of a transaction, 0 without any."""
    newest: int = await tx.fetchval("SELECT coalesce(max(id), 0) FROM ledger_transaction")
    return newest


async def close_if_empty(tx: Tx, did: str) -> bool:
    """Return whether the account was empty and takes no part in transfers any more; a transfer that comes first is waited for."""
    return await tx.fetchval(_CLOSE, did) is not None


class TreasuryGrant(msgspec.Struct, frozen=True):
    """A grant by an administrator; `amount` in minor units."""

    id: int
    payee: str
    amount: int


async def note_treasury_grant(tx: Tx, payee: str, amount: Minor) -> None:
    """Write a grant by an administrator, under the lock of the treasury: ids follow the order of the commits."""
    await tx.execute("INSERT INTO ledger_treasury_grant (payee, amount) VALUES ($1, $2)", payee, amount)


async def treasury_grants_after(tx: Tx, after: int, most: int) -> list[TreasuryGrant]:
    """Grants by administrators behind this id, in order."""
    statement = "SELECT id, payee, amount FROM ledger_treasury_grant WHERE id > $1 ORDER BY id LIMIT $2"
    return [TreasuryGrant(**row) for row in await tx.fetch(statement, after, most)]


async def suspend_accounts(tx: Tx, dids: Sequence[str]) -> set[str]:
    """Let these agents' accounts take part in no transfer; returns whose accounts there are."""
    return await _set_status(tx, dids, "suspended")


async def reinstate_accounts(tx: Tx, dids: Sequence[str]) -> set[str]:
    """Let these agents' accounts pay and be paid again; returns whose accounts there are."""
    return await _set_status(tx, dids, "active")


async def is_active(tx: Tx, did: str) -> bool:
    """Return whether an account is there and active."""
    found: bool = await tx.fetchval(
        "SELECT EXISTS (SELECT FROM ledger_account WHERE did = $1 AND unit = '' AND status = 'active')", did
    )
    return found


async def _set_status(tx: Tx, dids: Sequence[str], status: str) -> set[str]:
    return {row["did"] for row in await tx.fetch(_SET_STATUS, list(dids), status)}
