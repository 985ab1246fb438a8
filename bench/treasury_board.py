"""treasury/board: pages of the board of work orders, with words, skills and statuses, among 10,000 or 100,000 open orders."""

import random
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import asyncpg

from bench.figures import Figures, percentile
from bench.seed import WITHOUT_TIMEOUT, bench_runtime, temporary_directory
from hansa.foundation.plumbing.storage.database import Database
from hansa.rooms.treasury.work_orders.reading import board
from hansa.rooms.treasury.work_orders.records import BoardFilter
from hansa.rooms.treasury.work_orders.schemas import WorkOrderOut

READS = 300
PAGE = 20
OPEN_OF_ORGANIZATION = 200
# Each order has the word "work", a word in ten "translate", a hundredth "poems", and a word of its own; an organization has 200 orders. The
# specification has about 900 characters.
_ORGANIZATIONS = """
INSERT INTO organizations_organization (id, slug, skeleton, name, treasury_did, visibility, created_by)
SELECT md5('organization ' || n)::uuid, 'bench-' || n, 'bench-' || n, 'Bench ' || n, 'did:hansa:bench:' || n, 'public', 1
FROM generate_series(0, $1 - 1) n
"""
_ORDERS = """
INSERT INTO treasury_work_order (id, organization_id, treasury_did, opened_by, title, spec, acceptance_criteria, amount, skills,
  skill_keys, words, bids_until, expires_at, submit_days, review_days, auto_approve, hold_id)
SELECT md5('order ' || n)::uuid, md5('organization ' || n % $2)::uuid, 'did:hansa:bench:' || n % $2, 1, title, spec, 'Done.', 100000000,
  ARRAY[skill], ARRAY[skill], to_tsvector('simple', title || ' ' || skill || ' ' || spec), now() + interval '1 day',
  now() + interval '15 days', 7, 3, false, n
FROM generate_series(0, $1 - 1) n,
  LATERAL (SELECT concat_ws(' ', 'Work', n, CASE WHEN n % 10 = 0 THEN 'translate' END, CASE WHEN n % 100 = 0 THEN 'poems' END) AS title,
    'skill-' || n % 50 AS skill,
    (SELECT string_agg('text' || (n * 31 + k * 17) % 4000, ' ') FROM generate_series(1, 110) k) AS spec) drawn
"""


async def run(*, full: bool) -> Figures:
    figures = Figures()
    size = 100_000 if full else 10_000
    async with temporary_directory() as directory, bench_runtime(directory) as runtime:
        connection = await asyncpg.connect(runtime.database.dsn, server_settings=WITHOUT_TIMEOUT)
        organizations = size // OPEN_OF_ORGANIZATION
        await connection.execute(_ORGANIZATIONS, organizations, timeout=300)
        await connection.execute(_ORDERS, size, organizations, timeout=600)
        await connection.execute("VACUUM ANALYZE treasury_work_order", timeout=300)
        await connection.close()
        for name, queries in _queries(size).items():
            await _measure(runtime.database, f"{size:,} orders, {name}", queries, figures)
    figures.notes.append("target: p99 of a page 20 ms at 100,000 orders")
    return figures


def _queries(size: int) -> dict[str, Sequence[dict[str, Any]]]:
    lot = random.Random(1)
    return {
        "the newest": [{}],
        "open ones": [{"status": "OPEN"}],
        "the fiftieth page": [{"status": "OPEN", "offset": 49 * PAGE}],
        "a word of each": [{"words": "work"}],
        "a word in ten": [{"words": "translate", "status": "OPEN"}],
        "a word in a hundred": [{"words": "poems"}],
        "a word of one": [{"words": str(lot.randrange(size))} for _ in range(READS)],
        "a skill in fifty": [{"skill": f"skill-{number}"} for number in range(50)],
        "a word and a skill": [{"words": "work text1", "skill": f"skill-{number}"} for number in range(50)],
        "no such word": [{"words": "nowhere"}],
    }


async def _measure(
    database: Database, name: str, queries: Sequence[dict[str, Any]], figures: Figures
) -> None:
    durations, total = [], 0
    for number in range(READS):
        members = {
            "words": None,
            "skill": None,
            "status": None,
            "offset": 0,
            **queries[number % len(queries)],
        }
        wanted = BoardFilter(limit=PAGE, **members)
        began = time.perf_counter()
        found, total, _ = await database.read(partial(board, wanted=wanted))
        for one in found:
            WorkOrderOut.of(one).model_dump_json()
        durations.append((time.perf_counter() - began) * 1000)
        figures.books_are_sound &= len(found) == min(PAGE, max(0, total - wanted.offset))
    for share in (0.5, 0.99):
        figures.add(
            f"{name} ({total:,} counted), p{share * 100:.0f} of a page",
            "ms",
            [percentile(sorted(durations), share)],
        )
