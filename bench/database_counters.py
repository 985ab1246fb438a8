"""Counters of the server while a bench runs: log by record and by table, buffers, checkpoints, updates, index scans and processor time."""

import asyncio
from dataclasses import dataclass

import asyncpg

from bench.process_cpu import used_alone

# A session reports what it has counted when it has been idle for so long.
REPORTED_AFTER_SECONDS = 11
SHOWN = 14

_COUNTERS = """
SELECT d.blks_hit, d.blks_read, c.num_timed + c.num_requested AS checkpoints,
  (SELECT sum(idx_scan)::bigint FROM pg_stat_user_tables) AS index_scans,
  a.n_tup_upd AS updates, a.n_tup_hot_upd AS hot_updates
FROM pg_stat_database d CROSS JOIN pg_stat_checkpointer c CROSS JOIN pg_stat_user_tables a
WHERE d.datname = current_database() AND a.relname = 'ledger_account'
"""

_BACKENDS = """
SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'
  AND pid <> pg_backend_pid()
"""

_BY_RECORD = """
SELECT "resource_manager/record_type" AS name, count::bigint AS records, record_size::bigint AS bytes, fpi_size::bigint AS images
FROM pg_get_wal_stats('0/0'::pg_lsn + $1::bigint::numeric, '0/0'::pg_lsn + $2::bigint::numeric, true) WHERE count > 0
"""

_BY_TABLE = """
SELECT coalesce(c.relname, 'other') AS name, count(*) AS records, sum(b.record_length - b.block_fpi_length)::bigint AS bytes,
  sum(b.block_fpi_length)::bigint AS images, count(DISTINCT b.relblocknumber) AS pages
FROM pg_get_wal_block_info('0/0'::pg_lsn + $1::bigint::numeric, '0/0'::pg_lsn + $2::bigint::numeric, false) b
LEFT JOIN pg_class c ON c.relfilenode = b.relfilenode WHERE b.block_id = 0 GROUP BY 1
"""


@dataclass
class Log:
    """Records of the write-ahead log under one name: how many, their bytes without pages, and those of whole pages."""

    records: int = 0
    bytes: int = 0
    images: int = 0
    pages: int = 0


class DatabaseCounters:
    """Counters of one database of which this is the only registry; `dsn` is that of a superuser.

    `before` and `after` stand around each measurement, `begin` and `finish` around all of them.
    """

    def __init__(self, connection: "asyncpg.Connection[asyncpg.Record]") -> None:
        self._connection = connection
        self._acts = 0
        self._cpu = 0.0
        self._used: dict[int, float] = {}
        self._position = 0
        self._counted: dict[str, int] = {}
        self._records: dict[str, Log] = {}
        self._tables: dict[str, Log] = {}

    @classmethod
    async def begin(cls, dsn: str) -> "DatabaseCounters":
        """Connect, and read the counters that sessions report with a delay."""
        connection = await asyncpg.connect(dsn, server_settings={"statement_timeout": "0"})
        await connection.execute("CREATE EXTENSION IF NOT EXISTS pg_walinspect")
        counters = cls(connection)
        counters._counted = await counters._reported()
        return counters

    async def before(self) -> None:
        self._used = await self._used_by_backends()
        self._position = await self._position_now()

    async def after(self, acts: int) -> float:
        """Add the costs of `acts` acts since `before`; return the bytes of log of each."""
        position = await self._position_now()
        used = await self._used_by_backends()
        self._cpu += sum(seconds - self._used.get(pid, 0.0) for pid, seconds in used.items())
        self._acts += acts
        await self._add(self._records, _BY_RECORD, position)
        await self._add(self._tables, _BY_TABLE, position)
        return (position - self._position) / acts

    async def finish(self) -> list[str]:
        """Sentences and tables about one act on average."""
        now = await self._reported()
        await self._connection.close()
        counted = {name: now[name] - self._counted[name] for name in now}
        each = {name: number / self._acts for name, number in counted.items()}
        hot = counted["hot_updates"] / max(counted["updates"], 1)
        images = sum(log.images for log in self._records.values()) / self._acts
        cpu = self._cpu / self._acts * 1e6
        return [
            f"each: {cpu:.0f} us of the server's backends, {images:.0f} bytes of whole pages in the log",
            f"buffers of each: {each['blks_hit']:.1f} found, {each['blks_read']:.2f} read; {each['index_scans']:.1f} index scans",
            f"updates of accounts: {each['updates']:.2f} each, {hot:.1%} HOT; {counted['checkpoints']} checkpoints",
            *self._table("record", self._records),
            *self._table("table or index", self._tables),
        ]

    def _table(self, heading: str, logs: dict[str, Log]) -> list[str]:
        largest = sorted(logs.items(), key=lambda item: -(item[1].bytes + item[1].images))[:SHOWN]
        return [
            f"log of each by {heading}: records, bytes, bytes of whole pages, pages changed",
            *(
                f"  {name:<36} {log.records / self._acts:>7.3f} {log.bytes / self._acts:>7.1f}"
                f" {log.images / self._acts:>7.1f} {log.pages / self._acts:>7.3f}"
                for name, log in largest
            ),
        ]

    async def _add(self, logs: dict[str, Log], statement: str, position: int) -> None:
        for row in await self._connection.fetch(statement, self._position, position, timeout=300):
            log = logs.setdefault(row["name"], Log())
            log.records += row["records"]
            log.bytes += row["bytes"]
            log.images += row["images"]
            log.pages += row.get("pages", 0)

    async def _reported(self) -> dict[str, int]:
        await asyncio.sleep(REPORTED_AFTER_SECONDS)
        row = await self._connection.fetchrow(_COUNTERS)
        assert row is not None
        return dict(row)

    async def _used_by_backends(self) -> dict[int, float]:
        return {row["pid"]: used_alone(row["pid"]) for row in await self._connection.fetch(_BACKENDS)}

    async def _position_now(self) -> int:
        position: int = await self._connection.fetchval(
            "SELECT pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')::bigint"
        )
        return position
