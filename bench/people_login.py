"""people/login: GET /agents/me, one after the other, alone and while a crowd logs in without a pause."""

import asyncio
import itertools
import time
from dataclasses import dataclass, field

import asyncpg
import httpx2

from bench.figures import Figures, percentile
from bench.http_transfer import prepare_callers, served
from bench.seed import bench_runtime, seed_agents, temporary_directory
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.rooms.people import passwords

CROWD = 100
# An account may log in ten times a minute.
ACCOUNTS = 4_000
SECONDS = 6
PERIODIC_TASKS = 3
READ_PAUSE_SECONDS = 0.005
PASSWORD = "Correct-Horse-7-Battery"
READ = "/api/v1/agents/me"

_ACCOUNTS = """
INSERT INTO people_developer (name, name_as_written, name_in_lower_case, email, password_hash, is_verified, age_confirmed)
SELECT 'Bench ' || n, sha256(convert_to('Bench ' || n, 'UTF8')), sha256(convert_to('bench ' || n, 'UTF8')),
  'bench' || n || '@example.org', $2, true, true FROM generate_series(1, $1::int) n
"""


@dataclass
class Logins:
    """Counts of the crowd."""

    seconds: list[float] = field(default_factory=list)
    refused: int = 0
    other: int = 0


async def run(*, full: bool) -> Figures:
    figures = Figures()
    async with temporary_directory() as directory:
        async with bench_runtime(directory) as runtime:
            dids = await seed_agents(runtime, 1_000)
            await prepare_callers(runtime, dids[:1], directory)
            await _open_accounts(runtime)
        token = (directory / "callers.txt").read_text().split()[0]
        async with served(directory, TRUSTED_PROXIES="127.0.0.1") as service:
            limits = httpx2.Limits(max_connections=CROWD + 1)
            async with httpx2.AsyncClient(base_url=service.url, timeout=60, limits=limits) as http:
                await _measure(http, token, figures, seconds=30 if full else SECONDS)
    return figures


async def _measure(http: httpx2.AsyncClient, token: str, figures: Figures, *, seconds: float) -> None:
    alone, crowded, rates, waits = [], [], [], []
    numbers = itertools.count()
    refused = other = 0
    for _ in range(PERIODIC_TASKS):
        alone.append(await _read_for(http, token, seconds / 2))
        logins, stop = Logins(), asyncio.Event()
        async with asyncio.TaskGroup() as crowd:
            for _ in range(CROWD):
                crowd.create_task(_log_in_until(http, logins, stop, numbers))
            crowded.append(await _read_for(http, token, seconds))
            rates.append(len(logins.seconds) / seconds)
            stop.set()
        waits.append(1000 * percentile(sorted(logins.seconds), 0.99))
        refused, other = refused + logins.refused, other + logins.other
    p99_alone = figures.add(f"p99 of {READ}, alone", "ms", alone)
    p99 = figures.add(f"p99 of {READ}, {CROWD} log in", "ms", crowded)
    figures.add(f"logins, {CROWD} at a time", "/s", rates)
    figures.add("p99 of a login", "ms", waits)
    figures.notes.append(f"p99 of reads: {p99 / p99_alone:.1f} x alone; target 100 ms")
    figures.notes.append(f"logins refused for now (429, 503): {refused}; any other answer: {other}")
    figures.books_are_sound = other == 0


async def _read_for(http: httpx2.AsyncClient, token: str, seconds: float) -> float:
    """The 99th percentile in milliseconds."""
    headers = {"Authorization": f"Bearer {token}"}
    samples, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        started = time.perf_counter()
        answer = await http.get(READ, headers=headers)
        samples.append(1000 * (time.perf_counter() - started))
        assert answer.status_code == 200, answer.text
        await asyncio.sleep(READ_PAUSE_SECONDS)
    return percentile(sorted(samples), 0.99)


async def _log_in_until(
    http: httpx2.AsyncClient, logins: Logins, stop: asyncio.Event, numbers: "itertools.count[int]"
) -> None:
    while not stop.is_set():
        number = next(numbers)
        form = {"username": f"bench{number % ACCOUNTS + 1}@example.org", "password": PASSWORD}
        address = f"203.0.{number // 256 % 256}.{number % 256}"
        started = time.perf_counter()
        answer = await http.post("/api/v1/auth/login", data=form, headers={"X-Forwarded-For": address})
        if answer.status_code == 200:
            logins.seconds.append(time.perf_counter() - started)
        elif answer.status_code in {429, 503}:
            logins.refused += 1
        else:
            logins.other += 1


async def _open_accounts(runtime: Runtime) -> None:
    connection = await asyncpg.connect(runtime.database.dsn)
    await connection.execute(_ACCOUNTS, ACCOUNTS, await passwords.hashed(PASSWORD))
    await connection.close()
