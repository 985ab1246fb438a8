"""database/outages: seconds from the moment at which the database writes again until a transfer is answered 200.

Payers transfer without a pause, each order repeated under its key until it is answered. The moment is measured by connections
beside the service that commit a message each PROBE_SECONDS.
"""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from time import perf_counter

import asyncpg
import httpx2

from bench.figures import Figures
from bench.http_transfer import prepare_callers
from bench.seed import bench_runtime, seed_agents, sound_between, temporary_directory
from hansa.doors.startup import open_runtime
from hansa.foundation.plumbing.settings import read_settings
from hansa.foundation.plumbing.storage.embedded import EmbeddedPostgres

COMMAND = Path(sys.executable).with_name("hansa")
PAYERS = 32
"""Twice the connections of the pool."""
ROUNDS, ROUNDS_FULL = 3, 10
PROBE_SECONDS = 0.02
AWAY_SECONDS = 10.0
UNDER_WAY_SECONDS = 1.0
WRITE = "SELECT pg_logical_emit_message(true, 'bench', '')"

Outage = Callable[[EmbeddedPostgres, str, Path], Awaitable[None]]


async def run(*, full: bool) -> Figures:
    figures = Figures()
    async with temporary_directory() as directory:
        async with bench_runtime(directory / "data") as runtime:
            dids = await seed_agents(runtime, 1_000)
            callers = await prepare_callers(runtime, dids[:PAYERS], directory)
        postgres = EmbeddedPostgres(directory / "data")
        dsn = await postgres.start()
        try:
            async with _served(directory, dsn) as url, _paying(url, callers.read_text()) as traffic:
                for kind, outage in OUTAGES.items():
                    waited = [
                        await _measured(traffic, dsn, outage(postgres, dsn, directory / "data"))
                        for _ in range(ROUNDS_FULL if full else ROUNDS)
                    ]
                    figures.add(f"served again after the database: {kind}", "s", waited)
            tracebacks = (directory / "service.log").read_text().count("Traceback")
            figures.notes.append(
                f"{traffic.acknowledged} transfers, {traffic.refused} answers 503; {tracebacks} tracebacks in the log"
            )
            figures.faults += [f"an answer {status}" for status in sorted(traffic.others)]
            settings = read_settings(data_dir=directory / "data")
            async with open_runtime(settings, dsn) as runtime:
                figures.books_are_sound = await sound_between(
                    runtime, traffic.acknowledged, traffic.acknowledged
                )
        finally:
            await postgres.stop()
    return figures


class _Traffic:
    """Payers and the answers to them."""

    def __init__(self) -> None:
        self.acknowledged = self.refused = 0
        self.others: set[int] = set()
        self.served_at = 0.0

    async def pay_on(self, http: httpx2.AsyncClient, token: str, payee: str, ends: asyncio.Event) -> None:
        """Pay until the end; an order that was begun is repeated until it is answered."""
        number = 0
        while not ends.is_set():
            number += 1
            headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": f"order-{number}"}
            body = {"receiver_agent_id": payee, "amount": "0.01"}
            while (status := await _status(http, headers, body)) != 200:
                self.refused += status == 503
                self.others |= {status} - {503, 422}
                await asyncio.sleep(0.1)
            self.acknowledged += 1
            self.served_at = perf_counter()


async def _status(http: httpx2.AsyncClient, headers: dict[str, str], body: dict[str, str]) -> int:
    return (await http.post("/api/v1/teg/transfer", headers=headers, json=body)).status_code


@asynccontextmanager
async def _paying(url: str, callers: str) -> AsyncIterator[_Traffic]:
    lines = [line.split() for line in callers.splitlines()]
    traffic, ends = _Traffic(), asyncio.Event()
    limits = httpx2.Limits(max_connections=PAYERS)
    async with httpx2.AsyncClient(base_url=url, trust_env=False, timeout=120, limits=limits) as http:
        payers = [
            asyncio.create_task(traffic.pay_on(http, token, lines[number - 1][1], ends))
            for number, (token, _) in enumerate(lines)
        ]
        yield traffic
        ends.set()
        await asyncio.gather(*payers)


async def _measured(traffic: _Traffic, dsn: str, outage: Awaitable[None]) -> float:
    """Seconds for which the database wrote and no transfer was answered."""
    await asyncio.sleep(UNDER_WAY_SECONDS)
    await outage
    while not await _writes(dsn):  # noqa: ASYNC110
        await asyncio.sleep(PROBE_SECONDS)
    wrote_at = perf_counter()
    while traffic.served_at < wrote_at:  # noqa: ASYNC110
        await asyncio.sleep(PROBE_SECONDS / 4)
    return traffic.served_at - wrote_at


async def _writes(dsn: str) -> bool:
    try:
        connection = await asyncpg.connect(dsn, timeout=1)
        try:
            await connection.execute(WRITE, timeout=1)
        finally:
            connection.terminate()
    except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
        return False
    return True


@asynccontextmanager
async def _served(directory: Path, dsn: str) -> AsyncIterator[str]:
    """A service on a database that is none of its own."""
    own = directory / "service"
    own.mkdir(mode=0o700)
    (own / "keys").symlink_to(directory / "data" / "keys")
    with (directory / "service.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *(COMMAND, "serve", "--port=0", f"--data-dir={own}"),
            env={**os.environ, "DATABASE_URL": dsn, "GENESIS_SUPPLY": "90000000000"},
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
        )
    assert process.stdout is not None
    try:
        yield (await process.stdout.readline()).decode().removeprefix("ready ").strip()
    finally:
        process.terminate()
        await process.wait()


async def _stopped(postgres: EmbeddedPostgres, _: str, __: Path) -> None:
    await postgres.stop()
    await asyncio.sleep(AWAY_SECONDS)
    await postgres.start()


async def _killed(postgres: EmbeddedPostgres, _: str, directory: Path) -> None:
    os.kill(_postmaster(directory), signal.SIGKILL)
    await asyncio.sleep(AWAY_SECONDS)
    await postgres.stop()
    await postgres.start()


async def _hung(_: EmbeddedPostgres, __: str, directory: Path) -> None:
    processes = _processes(_postmaster(directory))
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGSTOP)
    await asyncio.sleep(AWAY_SECONDS)
    for process in _processes(_postmaster(directory)):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGCONT)


async def _read_only(_: EmbeddedPostgres, dsn: str, __: Path) -> None:
    for value in ("on", "off"):
        connection = await asyncpg.connect(dsn)
        await connection.execute(f"ALTER SYSTEM SET default_transaction_read_only = {value}")
        await connection.execute("SELECT pg_reload_conf()")
        await connection.close()
        if value == "on":
            await asyncio.sleep(AWAY_SECONDS)


def _postmaster(directory: Path) -> int:
    return int((directory / "postgres" / "postmaster.pid").read_text().split("\n", 1)[0])


def _processes(postmaster: int) -> list[int]:
    children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
    return [postmaster, *map(int, children)]


OUTAGES: dict[str, Outage] = {
    "stopped and started": _stopped,
    "killed, and recovered": _killed,
    "hung": _hung,
    "read-only": _read_only,
}
