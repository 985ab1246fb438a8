"""http/pages: first byte and compressed size of pages, and transfers beside 200 pages of agents a second against transfers alone.

Transfers are measured twice beside the pages. With a fixed number of connections they take all of the processor that is there, so that whatever
the pages need is missing to them. At a fixed rate, half of the capacity, both are as an operator has them; the delay of a late one counts from when
it was due. Every page of an agent has been read twice before, which shows the processor time of one that is rendered and of one that is kept.

The size of a page is all that a browser without a cache receives: the page, its styles, scripts and pictures, compressed. The API reference is
left out.
"""

import asyncio
import gzip
import http.client
import re
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

from bench.card_seed import did_of, home_of, load_cards
from bench.figures import Figures
from bench.http_transfer import PAYERS, Service, prepare_callers, served
from bench.process_cpu import used_alone, used_by
from bench.seed import bench_runtime, seed_agents, sound_between, temporary_directory
from bench.wrk import Driven, drive, is_missing

ACCOUNTS = 10_000
CARDS = 10_000
LOADS = 40
FIRST_BYTE_MAX_MS = 50
BYTES_MAX = 150_000
TRANSFER_CONNECTIONS = 8
# Eight connections that rest 40 ms after each page ask for 200 a second at most.
PAGE_CONNECTIONS, PAUSE_MS = 8, 40
# At a fixed rate each connection is a thread of the generator.
PACED_TRANSFER_THREADS, PACED_PAGE_THREADS, PAGES_PER_SECOND = 8, 4, 200
SHARE_OF_CAPACITY = 0.5
SECONDS, SECONDS_FULL = 6, 60
PERIODIC_TASKS = 3
PAGES = (
    "/",
    "/catalogue",
    "/catalogue?q=weather",
    "/events",
    "/supply",
    "/status",
    "/login",
    "/sign-up",
    "/guides",
)
_WITHOUT_MIRRORS = "DELETE FROM catalogue_card WHERE source_registry IS NOT NULL"
MODULE = re.compile(r'from "\./([\w/.-]+\.js)"')
ASSET = re.compile(r'(?:href|src)="(/static/[^"]+|/[^"]+\.svg)"')
BROWSER = {"Accept": "text/html", "Accept-Encoding": "gzip"}


async def run(*, full: bool) -> Figures:
    figures = Figures()
    if is_missing(figures):
        return figures
    async with temporary_directory() as directory:
        async with bench_runtime(directory) as runtime:
            await load_cards(runtime.database.dsn, CARDS)
            # Pages of mirrors are not measured, and their peers do not exist.
            await runtime.database.transaction(lambda tx: tx.execute(_WITHOUT_MIRRORS))
            dids = await seed_agents(runtime, ACCOUNTS)
            callers = await prepare_callers(runtime, dids[:PAYERS], directory)
        own = [number for number in range(CARDS) if home_of(number)[0] is None]
        shown = [f"/agents/{did}" for did in map(did_of, own) if did]
        paths = directory / "paths.txt"
        paths.write_text("".join(f"{path}\n" for path in shown))
        async with served(
            directory, TRUSTED_PROXIES="127.0.0.1", RATE_LIMIT_READS="off", LOG_LEVEL="error"
        ) as service:
            await asyncio.to_thread(load_pages, service.url, [*PAGES, shown[0]], figures)
            for name in ("rendered", "kept"):
                await asyncio.to_thread(read_each, service, shown, name, figures)
            beside = Beside(service.url, callers, paths, figures, SECONDS_FULL if full else SECONDS)
            per_second = await beside.measure_connections()
            await beside.measure_rates(SHARE_OF_CAPACITY * per_second)
        async with bench_runtime(directory) as runtime:
            figures.books_are_sound = await sound_between(runtime, beside.least, beside.most)
    return figures


def load_pages(url: str, paths: list[str], figures: Figures) -> None:
    """Load each page as a browser does, again and again; note its first byte and its size."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc)

    def load(path: str) -> tuple[float, str, int]:
        """Milliseconds to the first byte, the text, and the bytes received."""
        begun = time.perf_counter()
        connection.request("GET", path, headers=BROWSER)
        answer = connection.getresponse()
        waited = 1000 * (time.perf_counter() - begun)
        body = answer.read()
        assert answer.status == 200, (path, answer.status)
        is_packed = answer.headers["Content-Encoding"] == "gzip"
        return (
            waited,
            gzip.decompress(body).decode() if is_packed else body.decode(errors="replace"),
            len(body),
        )

    def received(path: str) -> dict[str, int]:
        """The bytes of a page and of each file that it leads to, modules of modules included."""
        sizes: dict[str, int] = {}
        asked = [path]
        while asked:
            address = asked.pop()
            if address not in sizes:
                _, text, sizes[address] = load(address)
                modules = [f"/static/{name}" for name in MODULE.findall(text)] if ".js" in address else []
                asked += [*modules, *(ASSET.findall(text) if address == path else [])]
        return sizes

    weights: dict[str, int] = {}
    for path in paths:
        name = "/agents/…" if path.startswith("/agents/") else path
        waited = sorted(load(path)[0] for _ in range(LOADS))
        figures.add(f"first byte of {name}", "ms", waited)
        weights[name] = sum(received(path).values())
    heaviest = max(weights, key=lambda name: weights[name])
    figures.notes.append(
        f"the heaviest page is {heaviest} with {weights[heaviest] / 1000:.0f} kB compressed, target {BYTES_MAX // 1000} kB;"
        f" the front page has {weights['/'] / 1000:.0f} kB; target of the first byte {FIRST_BYTE_MAX_MS} ms"
    )


def read_each(service: Service, paths: list[str], name: str, figures: Figures) -> None:
    """Read each page once over one connection; note the processor time of service and database for each of them."""
    connection = http.client.HTTPConnection(urlsplit(service.url).netloc)
    own, all_of_it = used_alone(service.pid), used_by(service.pid)
    for path in paths:
        connection.request("GET", path, headers=BROWSER)
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200, (path, answer.status)
    own, all_of_it = used_alone(service.pid) - own, used_by(service.pid) - all_of_it
    figures.add(f"processor time of a page that is {name}, service", "ms", [1000 * own / len(paths)])
    figures.add(
        f"processor time of a page that is {name}, database", "ms", [1000 * (all_of_it - own) / len(paths)]
    )


@dataclass
class Beside:
    """Transfers alone and beside pages, in turns of `seconds`; `least` and `most`: how many transfers were carried out."""

    url: str
    callers: Path
    paths: Path
    figures: Figures
    seconds: int
    least: int = 0
    most: int = 0

    async def measure_connections(self) -> float:
        """With a fixed number of connections; returns the median of transfers a second alone."""

        async def transfers(name: str) -> Driven:
            return self._counted(
                await drive(
                    *("transfer.lua", self.url, self.callers, name),
                    connections=TRANSFER_CONNECTIONS,
                    seconds=self.seconds,
                ),
                TRANSFER_CONNECTIONS,
            )

        async def pages() -> Driven:
            return await drive(
                *("pages.lua", self.url, self.paths, PAUSE_MS),
                connections=PAGE_CONNECTIONS,
                seconds=self.seconds + 2,
                threads=1,
            )

        await transfers("warm")
        return await self._compare(f"{TRANSFER_CONNECTIONS} connections", transfers, pages)

    async def measure_rates(self, per_second: float) -> None:
        """Transfers at this rate, and pages at theirs."""
        rounds, threads = "paced", PACED_TRANSFER_THREADS
        interval_ms = 1000 * threads / per_second

        async def transfers(name: str) -> Driven:
            return self._counted(
                await self._paced("transfer", self.callers, interval_ms, f"{rounds}-{name}", threads), threads
            )

        async def pages() -> Driven:
            pause_ms = 1000 * PACED_PAGE_THREADS / PAGES_PER_SECOND
            return await self._paced("page", self.paths, pause_ms, rounds, PACED_PAGE_THREADS, longer=2)

        await self._compare(f"{per_second:,.0f} a second wanted", transfers, pages)

    async def _paced(
        self, kind: str, file: Path, interval_ms: float, name: str, threads: int, *, longer: int = 0
    ) -> Driven:
        return await drive(
            *("paced.lua", self.url, kind, file, interval_ms, name),
            connections=threads,
            threads=threads,
            seconds=self.seconds + longer,
        )

    async def _compare(
        self,
        how: str,
        transfers: Callable[[str], Awaitable[Driven]],
        read_pages: Callable[[], Coroutine[None, None, Driven]],
    ) -> float:
        alone, beside, pages = [], [], []
        for number in range(PERIODIC_TASKS):
            alone.append(await transfers(f"alone{number}"))
            reading = asyncio.create_task(read_pages())
            await asyncio.sleep(1)
            beside.append(await transfers(f"beside{number}"))
            pages.append(await reading)
        for read in pages:
            if read.refused:
                self.figures.faults.append(
                    f"{read.refused} of {read.answered} pages were refused or not answered"
                )
        self.figures.add(f"pages of agents beside transfers, {how}", "/s", [one.per_second for one in pages])
        self.figures.add(f"p99 of these pages, {how}", "ms", [one.p99_ms for one in pages])
        for name, measured in (("alone", alone), ("beside the pages", beside)):
            self.figures.add(f"POST /teg/transfer {name}, {how}", "/s", [one.per_second for one in measured])
            self.figures.add(f"p99 of transfers {name}, {how}", "ms", [one.p99_ms for one in measured])
        ratio = median(one.p99_ms for one in beside) / median(one.p99_ms for one in alone)
        self.figures.notes.append(
            f"{how}: p99 of transfers beside the pages is {ratio:.2f} x that of transfers alone, target 1.1"
        )
        return median(one.per_second for one in alone)

    def _counted(self, driven: Driven, connections: int) -> Driven:
        self.least += driven.answered - driven.refused
        self.most += driven.answered + connections
        return driven
