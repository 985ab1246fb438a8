"""auditor/liabilities: the tree over all accounts from zero, and a cycle after some of them changed; without the other checks."""

import time

from bench.figures import Figures
from bench.seed import bench_runtime, seed_agents, temporary_directory
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import journal, ledger
from hansa.rooms.auditor.liabilities import CachedForest, Origin, commit_liabilities, keep_liabilities

CYCLES = 5

# Units move between neighbours; an event of each transfer names both.
_CHANGE = """
WITH pair AS (
  SELECT 'did:hansa:hansa.local:bench-' || (2 * n) AS a, 'did:hansa:hansa.local:bench-' || (2 * n + 1) AS b,
    nextval('ledger_transaction_id_seq') AS tx_id FROM generate_series(0, $1 / 2 - 1) n
), paid AS (
  UPDATE ledger_account s SET liquid = liquid + CASE WHEN s.did = p.a THEN -1 ELSE 1 END
  FROM pair p WHERE s.did IN (p.a, p.b)
)
INSERT INTO journal_event (event_type, aggregate_id, aggregate_type, source_service, terms, admitted,
  tx_id, tx_type, payee, amount, fee, payer_after, payee_after)
SELECT 'LedgerBalanceChanged', p.a, 'ledger_transaction', 'ledger', t.id, 7,
  p.tx_id, 'transfer', p.b, 1, 0, 0, 0
FROM pair p CROSS JOIN journal_transfer_terms t
"""

_TERMS = """
INSERT INTO journal_transfer_terms (frame, currency, collector) VALUES ('hansa.local', 'AVT', 'did:hansa:hansa.local:bench-0')
"""


async def run(*, full: bool) -> Figures:
    figures = Figures()
    accounts, changed = (1_000_000, 10_000) if full else (100_000, 10_000)
    async with temporary_directory() as directory, bench_runtime(directory) as runtime:
        await seed_agents(runtime, accounts)
        await runtime.database.transaction(lambda tx: tx.execute(_TERMS))
        kept, verdict_id = CachedForest(), 1
        figures.add(f"from zero, {accounts:,} accounts", "s", [await _timed(runtime, kept, verdict_id)])
        seconds = []
        for _ in range(CYCLES):
            await runtime.database.transaction(lambda tx: tx.execute(_CHANGE, changed, timeout=300))
            verdict_id += 1
            seconds.append(await _timed(runtime, kept, verdict_id))
        figures.add(f"a cycle, {changed:,} of {accounts:,} changed", "s", seconds)
        figures.add(
            "a cycle in another process", "s", [await _timed(runtime, CachedForest(), verdict_id + 1)]
        )
    return figures


async def _timed(runtime: Runtime, kept: CachedForest, verdict_id: int) -> float:
    async def commit(tx: Tx) -> float:
        await tx.execute("SET LOCAL statement_timeout = '900s'; SET LOCAL work_mem = '64MB'")
        circulating, _ = await ledger.circulating(tx)
        horizon = await journal.horizon(tx)
        started = time.perf_counter()
        origin = Origin(horizon.as_of_seq, horizon.cluster, journal.FoldedFrom(horizon.oldest_open, 0))
        found = await commit_liabilities(tx, kept, horizon, origin, circulating, from_zero=verdict_id == 1)
        assert found is not None, "the tree adds up to what circulates"
        await keep_liabilities(tx, kept, found, verdict_id)
        return time.perf_counter() - started

    return await runtime.database.transaction(commit, one_snapshot=True)
