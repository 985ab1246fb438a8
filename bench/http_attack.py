"""http/attack: POST /teg/transfer while a thousand bad connections of one kind at a time do their worst, kind by kind.

Each kind is measured beside a quiet run of its own, close in time; the ratio is that of the two. The bad connections come
from a process and an address of their own.
"""

import asyncio
import sys
from pathlib import Path
from statistics import median

from bench.figures import Figures
from bench.http_overload import allow_connections
from bench.http_transfer import CONNECTIONS, PAYERS, Service, prepare_callers, served
from bench.seed import bench_runtime, seed_agents, sound_between, temporary_directory
from bench.wrk import drive, is_missing
from tests.hostile.bad_connections import KINDS, Kind, play

AT_ONCE = 1000
SOURCE = "127.0.0.2"
SECONDS = 6
SECONDS_FULL = 40
WARM_SECONDS = 3
ACCOUNTS = 10_000
MEMORY_MAX_MIB = 600
RATIO_MIN = 0.8


async def run(*, full: bool) -> Figures:
    figures = Figures()
    if is_missing(figures):
        return figures
    allow_connections()
    seconds = SECONDS_FULL if full else SECONDS
    async with temporary_directory() as directory:
        async with bench_runtime(directory) as runtime:
            dids = await seed_agents(runtime, ACCOUNTS)
            callers = await prepare_callers(runtime, dids[:PAYERS], directory)
        async with served(
            directory, TRUSTED_PROXIES="127.0.0.1", RATE_LIMIT_READS="off", LOG_LEVEL="error"
        ) as service:
            done, memory = await _measure(service, callers, figures, seconds)
        async with bench_runtime(directory) as runtime:
            figures.books_are_sound = await sound_between(
                runtime, done, done + CONNECTIONS * (2 * len(KINDS) + 1)
            )
    figures.notes.append(f"memory of the service: at most {max(memory):.0f} MiB, bound {MEMORY_MAX_MIB}")
    return figures


async def _measure(
    service: Service, callers: Path, figures: Figures, seconds: int
) -> tuple[int, list[float]]:
    done, memory, ratios, p99s = 0, [service.resident_mib()], [], []

    async def transfers(name: str, seconds: int) -> tuple[float, float]:
        nonlocal done
        driven = await drive(
            "transfer.lua", service.url, callers, name, connections=CONNECTIONS, seconds=seconds
        )
        done += driven.answered - driven.refused
        return (driven.answered - driven.refused) / driven.seconds, driven.p99_ms

    await transfers("warm", WARM_SECONDS)
    for number, kind in enumerate(KINDS):
        quiet, _ = await transfers(f"quiet{number}", seconds)
        attack = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "bench.http_attack",
            service.url,
            str(number),
            stdout=asyncio.subprocess.PIPE,
        )
        assert attack.stdout is not None
        await attack.stdout.readline()
        watching = asyncio.create_task(_watch(service, memory))
        attacked, p99 = await transfers(f"attacked{number}", seconds)
        watching.cancel()
        attack.terminate()
        await attack.wait()
        ratios.append(attacked / quiet)
        p99s.append(p99)
        figures.add(f"transfers kept beside {AT_ONCE:,} x {kind.name}", "of 1", [attacked / quiet])
    figures.add("transfers kept, all kinds", "of 1", ratios)
    figures.add("p99 of transfers under attack, all kinds", "ms", p99s)
    below = sum(ratio < RATIO_MIN for ratio in ratios)
    figures.notes.append(
        f"median {median(ratios):.2f} of the transfers kept; {below} of {len(KINDS)} kinds below {RATIO_MIN}"
    )
    return done, memory


async def _watch(service: Service, memory: list[float]) -> None:
    while True:
        memory.append(service.resident_mib())
        await asyncio.sleep(0.2)


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
