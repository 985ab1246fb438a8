"""The fixture of a bench: a database with many funded agents whose books add up, and the pgbench baseline."""

import asyncio
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import asyncpg

from hansa.doors.startup import open_runtime, prepared_database
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import read_settings
from hansa.foundation.plumbing.storage.embedded.binaries import installed
from hansa.foundation.values.money import UNIT
from hansa.rooms import auditor, ledger

HOLDING_UNITS = 1000
# Statements that prepare a bench have no timeout.
WITHOUT_TIMEOUT = {"statement_timeout": "0"}
LOG_MIB = 768

# The same rows that a grant to each agent writes, set by set.
_SEED = """
WITH opened AS (
  INSERT INTO ledger_account (did, kind, liquid)
  SELECT 'did:hansa:' || $6 || ':bench-' || n, 'agent', $2 FROM generate_series($3::bigint, $3 + $1 - 1) n RETURNING id, did
), paid AS (
  UPDATE ledger_account SET liquid = liquid - $1 * $2 WHERE did = $4 RETURNING id, did, liquid
), numbered AS (
  SELECT o.id, o.did, row_number() OVER (ORDER BY o.id) AS n, nextval('ledger_transaction_id_seq') AS tx_id FROM opened o
), recorded AS (
  INSERT INTO ledger_transaction (id, tx_type, payer_id, payee_id, amount, ref) OVERRIDING SYSTEM VALUE
  SELECT n.tx_id, 'grant', p.id, n.id, $2, 'bench' FROM numbered n, paid p
), posted AS (
  INSERT INTO ledger_posting (tx_id, account_id, bucket, delta, balance_after)
  SELECT n.tx_id, n.id, 'liquid', $2, $2 FROM numbered n
  UNION ALL SELECT n.tx_id, p.id, 'liquid', -$2, p.liquid + ($1 - n.n) * $2 FROM numbered n, paid p
)
INSERT INTO journal_event (event_type, aggregate_id, aggregate_type, data, source_service, idempotency_key)
SELECT 'LedgerBalanceChanged', p.did, 'ledger_transaction', jsonb_build_object(
  'frame', 'hansa.local', 'tx_id', n.tx_id, 'tx_type', 'grant', 'currency', 'AVT', 'fee', '0', 'memo', null,
  'entries', jsonb_build_array(
    jsonb_build_object('account', p.did, 'bucket', 'liquid', 'delta', '-' || $5,
      'balance_after', ((p.liquid + ($1 - n.n) * $2) / 100000000)::text),
    jsonb_build_object('account', n.did, 'bucket', 'liquid', 'delta', $5, 'balance_after', $5))),
  'ledger', 'ledger-tx-hansa.local-' || n.tx_id
FROM numbered n, paid p
"""


@asynccontextmanager
async def bench_runtime(
    directory: Path, genesis_supply: str = "90000000000", **more: object
) -> AsyncIterator[Runtime]:
    """A registry's runtime on an embedded database in `directory`."""
    settings = read_settings(data_dir=directory, genesis_supply=genesis_supply, log_level="warning", **more)
    async with prepared_database(settings) as dsn, open_runtime(settings, dsn) as runtime:
        yield runtime


@asynccontextmanager
async def temporary_directory() -> AsyncIterator[Path]:
    with TemporaryDirectory(prefix="hansa-bench-") as directory:
        yield Path(directory)


async def seed_agents(runtime: Runtime, count: int) -> list[str]:
    """Open `count` funded accounts; returns their DIDs."""
    book, issuer = ledger.Book.of(runtime.settings), runtime.settings.trust_domain
    connection = await asyncpg.connect(runtime.database.dsn, server_settings=WITHOUT_TIMEOUT)
    # As many on a page as there are in the end of those opened one by one.
    await connection.execute("ALTER TABLE ledger_account DISABLE TRIGGER USER, SET (fillfactor = 40)")
    for first in range(0, count, 50_000):
        size = min(50_000, count - first)
        await connection.execute(
            _SEED, size, HOLDING_UNITS * UNIT, first, book.treasury, str(HOLDING_UNITS), issuer, timeout=300
        )
    await connection.execute("ALTER TABLE ledger_account ENABLE TRIGGER USER, SET (fillfactor = 100)")
    await connection.execute("VACUUM ANALYZE", timeout=300)
    await connection.close()
    return [f"did:hansa:{issuer}:bench-{number}" for number in range(count)]


async def sound_between(runtime: Runtime, least: int, most: int) -> bool:
    """Delta zero, and one ledger event for each acknowledged transfer: between `least` and `most` of them."""
    verdict = await runtime.database.read(auditor.audit_supply)
    counted = await runtime.database.query(
        lambda tx: tx.fetchval(
            "SELECT count(*) FROM journal_event"
            " WHERE event_type = 'LedgerBalanceChanged' AND coalesce(tx_type, data ->> 'tx_type') = 'transfer'",
            timeout=120,
        )
    )
    return verdict.is_ok and least <= counted <= most


class Pgbench:
    """The TPC-B-like baseline on the same server: three updates, one select and one insert per transaction."""

    def __init__(self, dsn: str, scale: int = 100) -> None:
        self._dsn = dsn
        self._scale = scale
        self._url = re.sub(r"/hansa(\?|$)", r"/bench_tpcb\1", dsn)

    async def prepare(self) -> None:
        connection = await asyncpg.connect(self._dsn)
        await connection.execute("CREATE DATABASE bench_tpcb")
        await connection.close()
        await self._pgbench("-i", "-q", "-s", str(self._scale))

    async def per_second(self, seconds: int, clients: int = 64) -> float:
        output = await self._pgbench(
            "-n", "-c", str(clients), "-j", "2", "-M", "prepared", "-T", str(seconds)
        )
        found = re.search(r"tps = ([0-9.]+)", output)
        assert found, output
        return float(found[1])

    async def _pgbench(self, *arguments: str) -> str:
        process = await asyncio.create_subprocess_exec(
            str(installed() / "bin" / "pgbench"),
            *arguments,
            self._url,
            env={**os.environ, "PGOPTIONS": "-c statement_timeout=0"},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await process.communicate()
        assert process.returncode == 0, output.decode()
        return output.decode()


async def use_log(runtime: Runtime) -> None:
    """Have the write-ahead log written into files that were used before, as in a registry that has run for a while.

    A new one must make each file first, 16 MiB at a time, and every commit waits for that.
    """
    connection = await asyncpg.connect(runtime.database.dsn, server_settings=WITHOUT_TIMEOUT)
    for _ in range(LOG_MIB):
        await connection.execute("SELECT pg_logical_emit_message(false, 'bench', repeat('-', 1048576))")
    await connection.execute("CHECKPOINT")
    await connection.close()


async def wal_bytes(runtime: Runtime) -> int:
    """The position in the write-ahead log."""
    position = await runtime.database.query(
        lambda tx: tx.fetchval("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint")
    )
    return int(position)


# Pairs of agents send one unit there and back, without a fee, so that every balance ends as it began.
_GROW = """
WITH step AS (
  SELECT t, nextval('ledger_transaction_id_seq') AS tx_id, t % 2 = 1 AS is_there,
    a.id AS a_id, a.did AS a, b.id AS b_id, b.did AS b
  FROM generate_series($4::bigint + 1, $4::bigint + $1) t
  JOIN ledger_account a ON a.did = 'did:hansa:hansa.local:bench-' || 2 * (((t - 1) / 2) % $2)
  JOIN ledger_account b ON b.did = 'did:hansa:hansa.local:bench-' || 2 * (((t - 1) / 2) % $2) + 1
), sent AS (
  SELECT tx_id, CASE WHEN is_there THEN a_id ELSE b_id END AS payer_id, CASE WHEN is_there THEN b_id ELSE a_id END AS payee_id,
    CASE WHEN is_there THEN a ELSE b END AS payer, CASE WHEN is_there THEN b ELSE a END AS payee,
    CASE WHEN is_there THEN $3::bigint - 1 ELSE $3 END AS payer_after, CASE WHEN is_there THEN $3 + 1 ELSE $3 END AS payee_after
  FROM step
), recorded AS (
  INSERT INTO ledger_transaction (id, tx_type, payer_id, payee_id, amount) OVERRIDING SYSTEM VALUE
  SELECT tx_id, 'transfer', payer_id, payee_id, 100000000 FROM sent
), posted AS (
  INSERT INTO ledger_posting (tx_id, account_id, bucket, delta, balance_after)
  SELECT tx_id, payer_id, 'liquid', -100000000, payer_after * 100000000 FROM sent
  UNION ALL SELECT tx_id, payee_id, 'liquid', 100000000, payee_after * 100000000 FROM sent
), numbered AS (
  SELECT *, nextval('journal_event_seq_seq') AS seq, nextval('journal_event_seq_seq') AS next FROM sent
)
INSERT INTO journal_event (seq, event_type, aggregate_id, aggregate_type, source_service, terms, admitted,
  tx_id, tx_type, payee, amount, fee, payer_after, payee_after)
OVERRIDING SYSTEM VALUE
SELECT seq, 'LedgerBalanceChanged', payer, 'ledger_transaction', 'ledger', $5::smallint, 3,
  tx_id, 'transfer', payee, 100000000, 0, payer_after * 100000000, payee_after * 100000000
FROM numbered
"""


async def grow_history(runtime: Runtime, transfers: int, accounts: int) -> None:
    """Write `transfers` past transfers, an even number, two events each, that leave every balance as it is."""
    connection = await asyncpg.connect(runtime.database.dsn, server_settings=WITHOUT_TIMEOUT)
    book = ledger.Book.of(runtime.settings)
    terms = await connection.fetchval(
        "SELECT journal_terms_of($1, $2, $3)", book.frame, book.currency, book.fee_collector
    )
    chunk = 100_000
    for first in range(0, transfers, chunk):
        size = min(chunk, transfers - first)
        await connection.execute(_GROW, size, accounts // 2, HOLDING_UNITS, first, terms, timeout=600)
    await connection.execute("VACUUM ANALYZE", timeout=1200)
    await connection.close()
