"""catalogue/availability: counting a probe, closing a day over all agents, and answering 90 days of one with their proofs."""

from time import perf_counter

import asyncpg

from bench.figures import Figures
from bench.seed import WITHOUT_TIMEOUT, bench_runtime, temporary_directory
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.rooms import auditor
from hansa.rooms.catalogue.availability.closing import close_oldest_day
from hansa.rooms.catalogue.availability.reading import availability_of
from hansa.rooms.catalogue.availability.schemas import AvailabilityOut
from hansa.rooms.catalogue.availability.store import add_probe

SMALL, LARGE = 2_000, 100_000
DAYS, DAYS_IN_FULL = 5, 3
PROBES = 2_000
READS = 20
MIB, MILLISECONDS = 1024 * 1024, 1000

_CARD = """
INSERT INTO catalogue_card (uuid, did, developer_id, human_readable_id, name, description, card_data, card_bytes, host,
  is_stub, settlement_currency, trust_domain, name_text, description_text, tags_text, skills_text)
VALUES (gen_random_uuid(), $1, 1, 'bench/a', 'a', '', '{"name": "a", "humanReadableId": "bench/a"}', 40, 'http://a.bench.local', true, 'AVT', 'hansa.local', 'a', '', '', '')
"""
_SEED = """
INSERT INTO catalogue_probe_day (day, did, counts)
SELECT (now() AT TIME ZONE 'UTC')::date - $2::int - 1, 'did:hansa:hansa.local:' || n,
  (SELECT array_agg((ARRAY[4, 3, 1, 0, 0, 0])[1 + (m - 1) % 6]::smallint ORDER BY m) FROM generate_series(1, 144) m)
FROM generate_series(0, $1::int - 1) n
"""
DID = "did:hansa:hansa.local:7"


async def run(*, full: bool) -> Figures:
    figures = Figures()
    agents, days = (LARGE, DAYS_IN_FULL) if full else (SMALL, DAYS)
    async with temporary_directory() as directory, bench_runtime(directory) as runtime:
        connection = await asyncpg.connect(runtime.database.dsn, server_settings=WITHOUT_TIMEOUT)
        await connection.execute(_CARD, DID)
        closings = []
        for number in range(days, 0, -1):
            await connection.execute(_SEED, agents, number)
            began = perf_counter()
            await runtime.database.transaction(lambda tx: close_oldest_day(tx, runtime))
            closings.append(perf_counter() - began)
        figures.add(f"closing a day of {agents:,} agents", "s", closings)
        await auditor.run_cycle(runtime)
        await connection.execute("VACUUM FULL catalogue_probe_day")
        for table in ("catalogue_probe_day", "catalogue_availability_day"):
            size = await connection.fetchval("SELECT pg_total_relation_size($1::regclass)", table)
            figures.add(f"{table}, a day", "MiB", [size / MIB / days])
        figures.add("counting a probe, one after the other", "ms", [await _count_probes(runtime)])
        figures.add(
            f"answering {days} measured days with proofs", "ms", await _answer(runtime, days, figures)
        )
        leaves = await connection.fetchval(
            "SELECT count(*) FROM auditor_log_leaf WHERE kind = 'availability'"
        )
        figures.books_are_sound &= leaves == days
        await connection.close()
    return figures


async def _count_probes(runtime: Runtime) -> float:
    began = perf_counter()
    for number in range(PROBES):
        await runtime.database.transaction(
            lambda tx, number=number: add_probe(tx, f"did:hansa:hansa.local:{number % 500}", 1)  # type: ignore[misc]
        )
    return (perf_counter() - began) * MILLISECONDS / PROBES


async def _answer(runtime: Runtime, days: int, figures: Figures) -> list[float]:
    times = []
    for _ in range(READS):
        began = perf_counter()
        found = await runtime.database.read(lambda tx: availability_of(tx, runtime, DID))
        answer = AvailabilityOut.of(found, runtime.settings.ledger_id)
        times.append((perf_counter() - began) * MILLISECONDS)
        figures.books_are_sound &= answer.measured_days == days
    return times
