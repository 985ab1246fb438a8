"""http/attack: POST /teg/transfer beside a thousand bad connections of one kind at a time, kind by kind.

Each kind is measured beside a quiet run of its own, close in time. The bad connections come from a process and an address
of their own; both runs share the cores of one machine, and the attackers' work there is not the service's. So two ratios:

- transfers kept: those under attack, of those in the quiet run;
- transfers kept of the processor left: the same, divided by the share of the machine's processor time that the attackers
  did not use themselves. This is the figure with the bound: a service that stalls or works for the attackers loses in it.
"""

import asyncio
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from time import perf_counter
from urllib.parse import urlsplit

from bench.figures import Figures
from bench.http_overload import allow_connections
from bench.http_transfer import CONNECTIONS, PAYERS, Service, prepare_callers, served
from bench.seed import bench_runtime, seed_agents, sound_between, temporary_directory
from bench.wrk import Driven, drive, is_missing
from tests.hostile.bad_connections import KINDS, Kind, play

AT_ONCE = 1000
SOURCE = "127.0.0.2"
SECONDS = 6
SECONDS_FULL = 40
WARM_SECONDS = 3
ACCOUNTS = 10_000
MEMORY_MAX_MIB = 600
RATIO_MIN = 0.8
RECOVERY_SECONDS = 30
CORES = os.cpu_count() or 1
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass
class Attacked:
    """What the kinds did, one item for each."""

    done: int = 0
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
                runtime, attacked.done, attacked.done + CONNECTIONS * (2 * len(chosen) + 1)
            )
    _report(attacked, figures)
    return figures


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
        quiet, quiet_cost, _ = await self._measured(f"quiet{number}", self._service.pid)
        attack = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "bench.http_attack", self._service.url, str(number)),
            stdout=asyncio.subprocess.PIPE,
        )
        assert attack.stdout is not None
        await attack.stdout.readline()
        watching = asyncio.create_task(_watch(self._service, self._attacked.memory_mib))
        driven, cost, theirs = await self._measured(f"attacked{number}", attack.pid)
        watching.cancel()
        attack.terminate()
        await attack.wait()
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

    async def _measured(self, name: str, other: int) -> tuple[Driven, float, float]:
        """What came of the transfers; the service's processor seconds for each; those of the process `other`."""
        before, before_of_other = _processor_seconds(self._service.pid), _processor_seconds(other)
        driven = await self._transfers(name, self._seconds)
        ours = _processor_seconds(self._service.pid) - before
        done = driven.answered - driven.refused
        return driven, ours / done if done else 0.0, _processor_seconds(other) - before_of_other

    async def _transfers(self, name: str, seconds: int) -> Driven:
        driven = await drive(
            "transfer.lua", self._service.url, self._callers, name, connections=CONNECTIONS, seconds=seconds
        )
        self._attacked.done += driven.answered - driven.refused
        return driven


def _rate(driven: Driven) -> float:
    return (driven.answered - driven.refused) / driven.seconds


def _processor_seconds(pid: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND


def _report(attacked: Attacked, figures: Figures) -> None:
    figures.add(
        f"transfers kept beside {AT_ONCE:,}, of the processor left", "of 1", attacked.kept_of_the_left
    )
    figures.add("transfers kept", "of 1", attacked.kept)
    figures.add("p99 of transfers under attack", "ms", attacked.p99_ms)
    figures.add("an answer on a new connection after the end", "ms", attacked.recovered_ms)
    below = sum(ratio < RATIO_MIN for ratio in attacked.kept_of_the_left)
    figures.notes.append(
        f"of the processor left, a median of {median(attacked.kept_of_the_left):.2f} is kept;"
        f" {below} of {len(attacked.kept)} kinds below {RATIO_MIN}"
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


async def attack(kind: Kind, address: tuple[str, int]) -> None:
    """Keep so many connections of this kind until terminated; one that ends is followed by another."""
    begun = 0

    async def one() -> None:
        nonlocal begun
        while True:
            begun += 1
            try:
                await play(kind, address, SOURCE)
            except OSError:
                await asyncio.sleep(0.1)

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(one())
        while begun < AT_ONCE:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        print("attacking", flush=True)


if __name__ == "__main__":
    allow_connections()
    host, _, port = sys.argv[1].removeprefix("http://").partition(":")
    asyncio.run(attack(KINDS[int(sys.argv[2])], (host, int(port))))
