"""http/attack: POST /teg/transfer beside a thousand bad connections of one kind at a time, kind by kind.

Each kind is measured twice beside a quiet run of its own, close in time. The bad connections come from a process and an address
of their own, and one that ends is followed by another at once.

1. The share of its capacity that the service keeps. An attacker is elsewhere; here it is on the same cores. So the attackers run
   with the least priority, and transfers arrive at a fixed rate, half of the capacity of the service: that leaves the attackers as much
   processor time as they ask for. The time that the service and its database use beyond the quiet run for as many transfers is the cost of the
   crowd, from its first connection on. One event loop serves, so the share of one core that is left is the share of the
   capacity. This is the figure with the bound; the share of the offered transfers that were answered stands beside it.
2. As many transfers as 64 connections without a pause reach, beside attackers of the same priority: transfers kept, and the same
   divided by the share of the machine's processor time that the attackers did not use themselves.
"""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from urllib.parse import urlsplit

from bench.figures import Figures
from bench.http_overload import allow_connections
from bench.http_transfer import CONNECTIONS, PAYERS, Service, prepare_callers, served
from bench.process_cpu import used_alone, used_by
from bench.seed import bench_runtime, seed_agents, sound_between, temporary_directory
from bench.wrk import Driven, drive, is_missing
from tests.hostile.bad_connections import KINDS, Kind, play

AT_ONCE = 1000
SOURCES = ("127.0.0.2", "127.0.0.3")
"""One for each measurement of a kind: an address may still be blocked by the one before."""
SHARE_OF_CAPACITY = 0.5
PACED_THREADS = 64
QUIET_BEFORE_SECONDS = 1
SECONDS = 6
SECONDS_FULL = 40
WARM_SECONDS = 3
ACCOUNTS = 10_000
MEMORY_MAX_MIB = 600
RATIO_MIN = 0.8
RECOVERY_SECONDS = 30
CORES = os.cpu_count() or 1
LEAST_PRIORITY = 19


@dataclass
class Attacked:
    """Outcomes of the kinds, one item for each."""

    done: int = 0
    capacity_kept: list[float] = field(default_factory=list)
    offered_kept: list[float] = field(default_factory=list)
    memory_mib: list[float] = field(default_factory=list)
    kept: list[float] = field(default_factory=list)
    kept_of_the_left: list[float] = field(default_factory=list)
    cost: list[float] = field(default_factory=list)
    """Processor time of the service for one transfer, of that in the quiet run."""
    p99_ms: list[float] = field(default_factory=list)
    recovered_ms: list[float] = field(default_factory=list)


async def run(*, full: bool, kinds: list[int] | None = None, seconds: int | None = None) -> Figures:
    """`kinds` are positions in KINDS: all of them where none are given. `seconds` is the length of each measurement."""
    figures = Figures()
    if is_missing(figures):
        return figures
    allow_connections()
    chosen = list(range(len(KINDS))) if kinds is None else kinds
    async with temporary_directory() as directory:
        async with bench_runtime(directory) as runtime:
            dids = await seed_agents(runtime, ACCOUNTS)
            callers = await prepare_callers(runtime, dids[:PAYERS], directory)
        async with served(
            directory, TRUSTED_PROXIES="127.0.0.1", RATE_LIMIT_READS="off", LOG_LEVEL="error"
        ) as service:
            measuring = Measuring(service, callers, seconds or (SECONDS_FULL if full else SECONDS), figures)
            attacked = await measuring.all(chosen)
        async with bench_runtime(directory) as runtime:
            figures.books_are_sound = await sound_between(
                runtime, attacked.done, attacked.done + CONNECTIONS * (4 * len(chosen) + 1)
            )
    _report(attacked, figures)
    return figures


@dataclass
class Attackers:
    """The process of a crowd; `begun` is how many connections it began, once it has ended."""

    pid: int
    begun: int = 0


@dataclass
class Paced:
    """Outcome of transfers at a fixed rate, and the processor time used meanwhile."""

    transfers: int
    per_second: float
    p99_ms: float
    seconds: float
    service_seconds: float
    database_seconds: float
    attackers_seconds: float
    bad_connections: int = 0


class Measuring:
    """Transfers with and without an attack, on one service."""

    def __init__(self, service: Service, callers: Path, seconds: int, figures: Figures) -> None:
        self._service = service
        self._callers = callers
        self._seconds = seconds
        self._figures = figures
        self._attacked = Attacked(memory_mib=[service.resident_mib()])

    async def all(self, chosen: list[int]) -> Attacked:
        """Measure these kinds one after the other."""
        await self._transfers("warm", WARM_SECONDS)
        for number in chosen:
            await self._one(number)
        return self._attacked

    async def _one(self, number: int) -> None:
        capacity = await self._without_a_pause(number)
        await self._at_a_fixed_rate(number, SHARE_OF_CAPACITY * capacity)

    async def _without_a_pause(self, number: int) -> float:
        """Note the share of the transfers that is kept. Return the number a second without an attack."""
        quiet, quiet_cost, _ = await self._measured(f"quiet{number}", self._service.pid)
        async with self._attack(number, SOURCES[0]) as attackers:
            driven, cost, theirs = await self._measured(f"attacked{number}", attackers.pid)
        recovered_ms = await _until_answered(self._service.url)
        if not _rate(quiet):
            self._figures.notes.append(f"{KINDS[number].name}: no transfers in the quiet run before it")
        kept = _rate(driven) / _rate(quiet) if _rate(quiet) else 0.0
        left = 1 - min(theirs / (CORES * driven.seconds), 0.99)
        one = self._attacked
        one.kept.append(kept)
        one.kept_of_the_left.append(kept / left)
        one.cost.append(cost / quiet_cost if quiet_cost else 0.0)
        one.p99_ms.append(driven.p99_ms)
        one.recovered_ms.append(recovered_ms)
        self._figures.notes.append(
            f"{number:>2} {KINDS[number].name:<38} kept {kept:.2f}, of the processor left {kept / left:.2f},"
            f" processor time of a transfer x {one.cost[-1]:.2f}, attackers used {1 - left:.0%} of {CORES} cores,"
            f" p99 {driven.p99_ms:,.0f} ms, answered {recovered_ms:,.0f} ms after the end"
        )
        return _rate(quiet)

    async def _at_a_fixed_rate(self, number: int, per_second: float) -> None:
        """Note the cost of the crowd to the service, and the share of these transfers that is kept beside it."""
        if not per_second:
            return
        quiet = await self._paced(f"quiet-paced{number}", per_second)
        attacked = await self._paced(f"attacked-paced{number}", per_second, number)
        same = attacked.transfers / max(1, quiet.transfers)
        service, database = (
            (with_crowd - same * without) / attacked.seconds
            for with_crowd, without in (
                (attacked.service_seconds, quiet.service_seconds),
                (attacked.database_seconds, quiet.database_seconds),
            )
        )
        offered_kept = attacked.per_second / quiet.per_second if quiet.per_second else 0.0
        self._attacked.capacity_kept.append(1 - max(0.0, service, database))
        self._attacked.offered_kept.append(offered_kept)
        self._figures.notes.append(
            f"{number:>2} {'':<38} costs the service {service:.1%} of a core, the database {database:.1%};"
            f" of {per_second:,.0f} transfers/s {offered_kept:.2f} kept, p99 {attacked.p99_ms:,.0f} ms ({quiet.p99_ms:,.0f} without);"
            f" {attacked.bad_connections / attacked.seconds:,.0f} bad connections/s,"
            f" attackers used {attacked.attackers_seconds / attacked.seconds:.0%} of a core"
        )

    async def _paced(self, name: str, per_second: float, number: int | None = None) -> "Paced":
        """Transfers at this rate, beside an attack of this kind that begins a moment later, if any."""
        pid, begun = self._service.pid, perf_counter()
        service, family = used_alone(pid), used_by(pid)
        driving = asyncio.create_task(
            drive(
                "paced.lua", self._service.url, "transfer", self._callers, 1000 * PACED_THREADS / per_second,
                name, connections=PACED_THREADS, seconds=self._seconds, threads=PACED_THREADS,
            )
        )  # fmt: skip
        if number is None:
            paced = self._so_far(await driving, begun, service, family)
        else:
            await asyncio.sleep(QUIET_BEFORE_SECONDS)
            async with self._attack(number, SOURCES[1], priority=LEAST_PRIORITY) as attackers:
                if driving.done():
                    self._figures.notes.append(
                        f"{KINDS[number].name}: the attackers began too late; the machine is busy"
                    )
                paced = self._so_far(await driving, begun, service, family, attackers)
            paced.bad_connections = attackers.begun
        self._attacked.done += paced.transfers
        return paced

    def _so_far(
        self,
        driven: Driven,
        begun: float,
        service: float,
        family: float,
        attackers: "Attackers | None" = None,
    ) -> "Paced":
        """`begun` by the clock, `service` and `family` by the processor time of the service and its family then."""
        used = used_alone(self._service.pid) - service
        return Paced(
            transfers=driven.answered - driven.refused,
            per_second=_rate(driven),
            p99_ms=driven.p99_ms,
            seconds=perf_counter() - begun,
            service_seconds=used,
            database_seconds=used_by(self._service.pid) - family - used,
            attackers_seconds=used_alone(attackers.pid) if attackers is not None else 0.0,
        )

    @asynccontextmanager
    async def _attack(self, number: int, source: str, *, priority: int = 0) -> AsyncIterator["Attackers"]:
        """A thousand connections of a kind meanwhile, and the memory of the service beside them."""
        process = await asyncio.create_subprocess_exec(
            *(
                sys.executable,
                "-m",
                "bench.http_attack",
                self._service.url,
                str(number),
                source,
                str(priority),
            ),
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None
        await process.stdout.readline()
        attackers = Attackers(process.pid)
        watching = asyncio.create_task(_watch(self._service, self._attacked.memory_mib))
        try:
            yield attackers
        finally:
            watching.cancel()
            process.terminate()
            attackers.begun = int(await process.stdout.readline() or 0)
            await process.wait()

    async def _measured(self, name: str, other: int) -> tuple[Driven, float, float]:
        """Return the outcome of the transfers; the service's processor seconds for each; those of the process `other`."""
        before, before_of_other = used_alone(self._service.pid), used_alone(other)
        driven = await self._transfers(name, self._seconds)
        ours = used_alone(self._service.pid) - before
        done = driven.answered - driven.refused
        return driven, ours / done if done else 0.0, used_alone(other) - before_of_other

    async def _transfers(self, name: str, seconds: int) -> Driven:
        driven = await drive(
            "transfer.lua", self._service.url, self._callers, name, connections=CONNECTIONS, seconds=seconds
        )
        self._attacked.done += driven.answered - driven.refused
        return driven


def _rate(driven: Driven) -> float:
    return (driven.answered - driven.refused) / driven.seconds


def _report(attacked: Attacked, figures: Figures) -> None:
    figures.add(f"capacity kept beside {AT_ONCE:,} bad connections", "of 1", attacked.capacity_kept)
    figures.add(f"transfers kept at {SHARE_OF_CAPACITY} of the capacity", "of 1", attacked.offered_kept)
    figures.add("transfers kept without a pause, of the processor left", "of 1", attacked.kept_of_the_left)
    figures.add("transfers kept without a pause", "of 1", attacked.kept)
    figures.add("p99 of transfers under attack", "ms", attacked.p99_ms)
    figures.add("an answer on a new connection after the end", "ms", attacked.recovered_ms)
    below = sum(ratio < RATIO_MIN for ratio in attacked.capacity_kept)
    figures.notes.append(
        f"{below} of {len(attacked.capacity_kept)} kinds keep less than {RATIO_MIN} of the capacity"
    )
    figures.notes.append(
        f"memory of the service: at most {max(attacked.memory_mib):.0f} MiB, bound {MEMORY_MAX_MIB}"
    )


async def _watch(service: Service, memory: list[float]) -> None:
    while True:
        memory.append(service.resident_mib())
        await asyncio.sleep(0.2)


async def _until_answered(url: str) -> float:
    """Milliseconds until GET /livez on a connection of its own is answered; the bound where it is not."""
    place = urlsplit(url)
    started = perf_counter()
    try:
        async with asyncio.timeout(RECOVERY_SECONDS):
            reader, writer = await asyncio.open_connection(place.hostname, place.port)
            writer.write(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            await reader.read()
            writer.close()
    except TimeoutError:
        return RECOVERY_SECONDS * 1000.0
    return (perf_counter() - started) * 1000


async def attack(kind: Kind, address: tuple[str, int], source: str) -> None:
    """Keep so many connections of this kind until terminated; one that ends is followed by another.

    Prints a line once all of them have begun, and at the end how many there were.
    """
    begun = 0
    over = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)

    async def one() -> None:
        nonlocal begun
        while True:
            begun += 1
            try:
                await play(kind, address, source)
            except OSError:
                await asyncio.sleep(0.1)

    playing = [asyncio.create_task(one()) for _ in range(AT_ONCE)]
    while begun < AT_ONCE:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    print("attacking", flush=True)
    await over.wait()
    print(begun, flush=True)
    # A thousand connections are ended faster by the end of their process.
    os._exit(0 if not any(task.done() for task in playing) else 1)


if __name__ == "__main__":
    allow_connections()
    url, number, source, priority = sys.argv[1:]
    os.nice(int(priority))
    host, _, port = url.removeprefix("http://").partition(":")
    asyncio.run(attack(KINDS[int(number)], (host, int(port)), source))
