"""The SQL of the store, the same text for SQLite and PostgreSQL.

Parameters are $1, $2 …; {now} is the store's clock, {columns} the columns of an entry, {ended} whether the process
of the owner has ended, {stall} how long its work outlasts the lease otherwise.
Every transition is one conditional UPDATE, so that of several processes exactly one performs it.
"""

from collections.abc import Sequence
from typing import Any

from .entry import Entry, Payment, State

SCHEMA = (
    """CREATE TABLE IF NOT EXISTS hansa_paid_store (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        store_id TEXT NOT NULL
    )""",
    """CREATE TABLE IF NOT EXISTS hansa_paid_call (
        token_hash TEXT PRIMARY KEY,
        state TEXT NOT NULL CHECK (state IN ('claimed', 'running', 'answered', 'lost')),
        owner TEXT NOT NULL,
        lease_until DOUBLE PRECISION NOT NULL,
        use_id TEXT NOT NULL,
        fingerprint TEXT NOT NULL,
        facts TEXT,
        sealed_token {bytes},
        answer {bytes},
        payment TEXT NOT NULL CHECK (payment IN
            ('none', 'reported', 'held', 'capture', 'release', 'captured', 'released', 'uncollectable')),
        capture_amount TEXT,
        settlement_tx_id TEXT,
        created_at DOUBLE PRECISION NOT NULL,
        try_at DOUBLE PRECISION NOT NULL DEFAULT 0,
        CHECK ((state = 'answered') = (answer IS NOT NULL))
    )""",
    """CREATE INDEX IF NOT EXISTS hansa_paid_call_due ON hansa_paid_call (try_at)
        WHERE payment IN ('capture', 'release')""",
    "CREATE INDEX IF NOT EXISTS hansa_paid_call_running ON hansa_paid_call (lease_until) WHERE state = 'running'",
    "CREATE INDEX IF NOT EXISTS hansa_paid_call_age ON hansa_paid_call (created_at)",
    """CREATE TABLE IF NOT EXISTS hansa_paid_receipt (
        token_id TEXT PRIMARY KEY,
        receipt TEXT NOT NULL,
        created_at DOUBLE PRECISION NOT NULL
    )""",
    "CREATE INDEX IF NOT EXISTS hansa_paid_receipt_age ON hansa_paid_receipt (created_at)",
)

NAME_STORE = "INSERT INTO hansa_paid_store (one, store_id) VALUES (1, $1) ON CONFLICT (one) DO NOTHING"
STORE_NAME = "SELECT store_id FROM hansa_paid_store"

COLUMNS = """token_hash, state, owner, lease_until - {now}, use_id, fingerprint, facts, sealed_token, answer,
    payment, capture_amount, settlement_tx_id"""

INSERT = """INSERT INTO hansa_paid_call
        (token_hash, state, owner, lease_until, use_id, fingerprint, payment, created_at)
    VALUES ($1, 'claimed', $2, {now} + $3, $4, $5, 'none', {now})
    ON CONFLICT (token_hash) DO NOTHING
    RETURNING {columns}"""

# The use_id stays: the issuer may already know it, and answers first_use for it again.
TAKE_OVER = """UPDATE hansa_paid_call SET owner = $2, lease_until = {now} + $3
    WHERE token_hash = $1 AND state = 'claimed' AND (lease_until < {now} OR {ended})
    RETURNING {columns}"""

GIVE_UP_ALL = """UPDATE hansa_paid_call SET state = 'lost',
    payment = CASE payment WHEN 'held' THEN 'release' ELSE payment END, try_at = {now}
    WHERE state = 'running' AND (lease_until < {now} - {stall} OR {ended})"""

GIVE_UP = GIVE_UP_ALL + " AND token_hash = $1 RETURNING {columns}"

READ = "SELECT {columns} FROM hansa_paid_call WHERE token_hash = $1"

START = """UPDATE hansa_paid_call SET state = 'running', facts = $3, payment = $4, sealed_token = $5
    WHERE token_hash = $1 AND owner = $2
      AND (state = 'running' OR (state = 'claimed' AND lease_until >= {now}))
    RETURNING token_hash"""

RENEW = """UPDATE hansa_paid_call SET lease_until = {now} + $3
    WHERE token_hash = $1 AND owner = $2 AND state IN ('claimed', 'running')
    RETURNING token_hash"""

FINISH = """UPDATE hansa_paid_call
    SET state = 'answered', answer = $3, payment = $4, capture_amount = $5, try_at = {now} + $6
    WHERE token_hash = $1 AND owner = $2 AND state = 'running'
    RETURNING {columns}"""

FINISHED = "SELECT {columns} FROM hansa_paid_call WHERE token_hash = $1 AND owner = $2 AND state = 'answered'"

KEEP_RECEIPT = """INSERT INTO hansa_paid_receipt (token_id, receipt, created_at) VALUES ($1, $2, {now})
    ON CONFLICT (token_id) DO NOTHING"""

RECEIPT = "SELECT receipt FROM hansa_paid_receipt WHERE token_id = $1"

PURGE_RECEIPTS = "DELETE FROM hansa_paid_receipt WHERE created_at < {now} - $1"

WITHDRAW = "DELETE FROM hansa_paid_call WHERE token_hash = $1 AND owner = $2 AND state = 'claimed'"

PAUSE = """UPDATE hansa_paid_call SET lease_until = 0
    WHERE token_hash = $1 AND owner = $2 AND state IN ('claimed', 'running')"""

LOSE = """UPDATE hansa_paid_call
    SET state = 'lost', facts = $3, payment = $4, sealed_token = $5, try_at = {now}
    WHERE token_hash = $1 AND owner = $2 AND state = 'claimed'"""

SETTLE = """UPDATE hansa_paid_call SET payment = $2, settlement_tx_id = $3, sealed_token = NULL
    WHERE token_hash = $1 AND payment IN ('capture', 'release')
    RETURNING {columns}"""

DUE = """UPDATE hansa_paid_call SET try_at = {now} + $2
    WHERE token_hash IN (
        SELECT token_hash FROM hansa_paid_call
        WHERE payment IN ('capture', 'release') AND try_at <= {now}
        ORDER BY try_at LIMIT $1)
      AND try_at <= {now}
    RETURNING {columns}"""

PURGE = """DELETE FROM hansa_paid_call
    WHERE created_at < {now} - $1 AND payment NOT IN ('capture', 'release') AND lease_until < {now}
    RETURNING token_hash"""


def first_entry(rows: Sequence[Sequence[Any]]) -> Entry | None:
    """The entry of the first row, if there is one."""
    return entry_of(rows[0]) if rows else None


def entry_of(row: Sequence[Any]) -> Entry:
    """The entry of a row with the columns above."""
    token_hash, state, owner, lease_left, use_id, fingerprint, facts, sealed_token, answer, *paid = row
    payment, capture_amount, settlement_tx_id = paid
    return Entry(
        token_hash=token_hash,
        state=State(state),
        owner=owner,
        lease_left=float(lease_left),
        use_id=use_id,
        fingerprint=fingerprint,
        facts=facts,
        sealed_token=sealed_token,
        answer=answer,
        payment=Payment(payment),
        capture_amount=capture_amount,
        settlement_tx_id=settlement_tx_id,
    )
