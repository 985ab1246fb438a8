"""auditor/cycle: an audit from zero and the cycles after it, over a history of transfers, one row each, written set by set."""

import time

import asyncpg

from bench.figures import Figures
from bench.seed import WITHOUT_TIMEOUT, bench_runtime, seed_agents, sound_between, temporary_directory
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.rooms import auditor
from hansa.rooms.auditor import AuditVerdict

CYCLES = 5
TAIL = 1_000
CHUNK = 50_000

# Rounds of transfers between neighbours, $1 of them, each moving one minor unit on and the last of a ring back again:
# every transaction and the one row of its events are there, and every balance ends where it was.
_HISTORY = """
WITH pair AS (
  SELECT n, 'did:hansa:hansa.local:bench-' || (n / 2 * 2 % $2) AS a,
    'did:hansa:hansa.local:bench-' || (n / 2 * 2 % $2 + 1) AS b
  FROM generate_series(0, $1 - 1) n
), party AS (
  SELECT CASE n % 2 WHEN 0 THEN a ELSE b END AS payer, CASE n % 2 WHEN 0 THEN b ELSE a END AS payee,
    nextval('ledger_transaction_id_seq') AS tx_id FROM pair
), written AS (
  INSERT INTO ledger_transaction (id, tx_type, payer_id, payee_id, amount) OVERRIDING SYSTEM VALUE
  SELECT p.tx_id, 'transfer', s.id, r.id, 1 FROM party p
  JOIN ledger_account s ON s.did = p.payer JOIN ledger_account r ON r.did = p.payee
)
INSERT INTO journal_event (event_type, aggregate_id, aggregate_type, source_service, terms, admitted,
  tx_id, tx_type, payee, amount, fee, payer_after, payee_after)
SELECT 'LedgerBalanceChanged', p.payer, 'ledger_transaction', 'ledger', t.id, 7,
  p.tx_id, 'transfer', p.payee, 1, 0, 0, 0
FROM party p CROSS JOIN journal_transfer_terms t
"""


_TERMS = """
INSERT INTO journal_transfer_terms (frame, currency, collector) VALUES ('hansa.local', 'AVT', 'did:hansa:hansa.local:bench-0')
"""


async def run(*, full: bool) -> Figures:
    figures = Figures()
    accounts, events = (100_000, 10_000_000) if full else (10_000, 100_000)
    async with temporary_directory() as directory, bench_runtime(directory) as runtime:
        await seed_agents(runtime, accounts)
        await runtime.database.transaction(lambda tx: tx.execute(_TERMS))
        await _add_history(runtime, events, accounts)
        await _measure(runtime, events + accounts, accounts, figures)
        figures.books_are_sound &= await sound_between(runtime, events, events + 2 * CYCLES * TAIL)
    return figures


async def _measure(runtime: Runtime, events: int, accounts: int, figures: Figures) -> None:
    seconds, verdict = await _timed(runtime, from_zero=True)
    figures.books_are_sound &= verdict.status == "OK"
    figures.add(f"from zero, {events:,} transfers", "s", [seconds])
    figures.notes.append(
        f"from zero, 10,000,000 transfers in proportion: {seconds * 10_000_000 / events:.0f} s"
    )
    # The first cycle after an audit from zero compares all transactions once more.
    await _timed(runtime)
    cycles, reads = [], []
    for _ in range(CYCLES):
        await _add_history(runtime, TAIL, accounts)
        started = time.perf_counter()
        await auditor.watch_supply(runtime.database)
        reads.append((time.perf_counter() - started) * 1000)
        seconds, verdict = await _timed(runtime)
        figures.books_are_sound &= verdict.status == "OK"
        cycles.append(seconds)
    figures.add(f"cycle, {TAIL:,} transfers since the last, {accounts:,} accounts", "s", cycles)
    figures.add(f"public reading, {TAIL:,} transfers beyond the checkpoint", "ms", reads)


async def _timed(runtime: Runtime, *, from_zero: bool = False) -> tuple[float, AuditVerdict]:
    started = time.perf_counter()
    audit = auditor.audit_from_zero if from_zero else auditor.audit
    verdict = await runtime.database.transaction(audit, one_snapshot=True)
    return time.perf_counter() - started, verdict


async def _add_history(runtime: Runtime, events: int, accounts: int) -> None:
    connection = await asyncpg.connect(runtime.database.dsn, server_settings=WITHOUT_TIMEOUT)
    for first in range(0, events, CHUNK):
        await connection.execute(_HISTORY, min(CHUNK, events - first), accounts, timeout=300)
    if events > CHUNK:
        await connection.execute("VACUUM ANALYZE", timeout=600)
    await connection.close()
