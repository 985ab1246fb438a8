"""restore: a registry with a long history is backed up while its database runs, and restored; both by the commands.

The baseline copies the files of the data directory, which needs the registry stopped and the same version of PostgreSQL.
"""

import asyncio
import os
import sys
import time
from pathlib import Path

import asyncpg

from bench.figures import Figures
from bench.seed import WITHOUT_TIMEOUT, bench_runtime, grow_history, seed_agents, temporary_directory
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.rooms import auditor

ACCOUNTS, ACCOUNTS_FULL = 1_000, 10_000
TRANSFERS, TRANSFERS_FULL = 20_000, 1_000_000
COMMAND = Path(sys.executable).with_name("hansa")
PASSPHRASE = "Bench-Harbour-41-Lantern"

# Every balance, and every event and transaction as it is stored.
_CONTENT = """
SELECT
  (SELECT md5(string_agg(a::text, ',' ORDER BY a.id)) FROM ledger_account a),
  (SELECT sum(hashtextextended(t::text, 0)) FROM ledger_transaction t),
  (SELECT sum(hashtextextended(p::text, 0)) FROM ledger_posting p),
  (SELECT sum(hashtextextended(e::text, 0)) FROM journal_event e)
"""


async def run(*, full: bool) -> Figures:
    figures = Figures()
    accounts = ACCOUNTS_FULL if full else ACCOUNTS
    transfers = TRANSFERS_FULL if full else TRANSFERS
    async with temporary_directory() as directory:
        data, file, copy = directory / "data", directory / "registry.hansa", directory / "copy"
        async with bench_runtime(data) as runtime:
            await seed_agents(runtime, accounts)
            await grow_history(runtime, transfers, accounts)
            content = await _content(runtime)
            backup = await _hansa("db", "backup", str(file), f"--data-dir={data}")
        restore = await _hansa("db", "restore", str(file), f"--data-dir={copy}")
        copied = await _seconds("cp", "-a", str(data), str(directory / "copied"))
        rebased = await _hansa("db", "rebase", f"--data-dir={directory / 'copied'}")
        async with bench_runtime(copy) as runtime:
            figures.books_are_sound &= await _content(runtime) == content
            verdict = await runtime.database.transaction(auditor.audit_from_zero, one_snapshot=True)
            figures.books_are_sound &= (verdict.status, verdict.supply.delta) == ("OK", 0)
        what = f"{transfers:,} transfers, {accounts:,} accounts"
        figures.add(f"hansa db backup, {what}", "s", [backup])
        figures.add(f"hansa db restore, {what}", "s", [restore])
        figures.add("cp -a of the data directory, and sync", "s", [copied])
        figures.add("hansa db rebase of that copy, start and stop of its server included", "s", [rebased])
        figures.add("data directory", "MiB", [_mebibytes(data)])
        figures.add("backup file", "MiB", [_mebibytes(file)])
    figures.notes.append(f"restore: {restore / copied:.1f} x the copy of the files")
    return figures


async def _content(runtime: Runtime) -> tuple[object, ...]:
    connection = await asyncpg.connect(runtime.database.dsn, server_settings=WITHOUT_TIMEOUT)
    try:
        row = await connection.fetchrow(_CONTENT)
        assert row is not None
        return tuple(row)
    finally:
        await connection.close()


async def _hansa(*arguments: str) -> float:
    return await _seconds(str(COMMAND), *arguments, HANSA_KEYS_PASSPHRASE=PASSPHRASE)


async def _seconds(*command: str, **variables: str) -> float:
    """Return the seconds until the command has ended and its output is on the disk."""
    started = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        *command, env={**os.environ, **variables}, stdout=asyncio.subprocess.DEVNULL
    )
    assert await process.wait() == 0, command
    await asyncio.to_thread(os.sync)
    return time.perf_counter() - started


def _mebibytes(path: Path) -> float:
    files = [path] if path.is_file() else [one for one in path.rglob("*") if one.is_file()]
    return sum(one.stat().st_size for one in files) / 1024**2
