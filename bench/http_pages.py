"""http/pages: first byte and compressed size of pages, and transfers beside 200 pages of agents a second against transfers alone.

The size of a page is what a browser without a cache receives: the page, its styles, scripts and pictures, compressed. The API reference is
left out.
"""

import asyncio
import gzip
import http.client
import re
import time
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

from bench.card_seed import did_of, home_of, load_cards
from bench.figures import Figures
from bench.http_transfer import PAYERS, prepare_callers, served
from bench.seed import bench_runtime, seed_agents, sound_between, temporary_directory
from bench.wrk import drive, is_missing

ACCOUNTS = 10_000
CARDS = 10_000
LOADS = 40
FIRST_BYTE_MAX_MS = 50
BYTES_MAX = 150_000
TRANSFER_CONNECTIONS = 8
# Eight connections that rest 40 ms after each page ask for 200 a second at most.
PAGE_CONNECTIONS, PAUSE_MS = 8, 40
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
            await runtime.database.act(lambda tx: tx.execute(_WITHOUT_MIRRORS))
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
            least, most = await _beside(
                service.url, callers, paths, figures, SECONDS_FULL if full else SECONDS
            )
        async with bench_runtime(directory) as runtime:
            figures.books_are_sound = await sound_between(runtime, least, most)
    return figures


def load_pages(url: str, paths: list[str], figures: Figures) -> None:
    """Load each page as a browser does, again and again; note its first byte and what it weighs."""
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


async def _beside(url: str, callers: Path, paths: Path, figures: Figures, seconds: int) -> tuple[int, int]:
    """How many transfers were carried out, at least and at most."""
    least, most = 0, 0

    async def transfers(name: str) -> tuple[float, float]:
        nonlocal least, most
        driven = await drive(
            "transfer.lua", url, callers, name, connections=TRANSFER_CONNECTIONS, seconds=seconds
        )
        least += driven.answered - driven.refused
        most += driven.answered + TRANSFER_CONNECTIONS
        return driven.per_second, driven.p99_ms

    alone, beside, pages = [], [], []
    await transfers("warm")
    for number in range(PERIODIC_TASKS):
        alone.append(await transfers(f"alone{number}"))
        reading = asyncio.create_task(
            drive(
                *("pages.lua", url, paths, PAUSE_MS),
                connections=PAGE_CONNECTIONS,
                seconds=seconds + 2,
                threads=1,
            )
        )
        await asyncio.sleep(1)
        beside.append(await transfers(f"beside{number}"))
        read = await reading
        if read.refused:
            figures.faults.append(f"{read.refused} of {read.answered} pages were refused or not answered")
        pages.append(read.per_second)
    figures.add("pages of agents beside the transfers", "/s", pages)
    for name, measured in (("alone", alone), ("beside the pages", beside)):
        figures.add(
            f"POST /teg/transfer {name}, {TRANSFER_CONNECTIONS} connections",
            "/s",
            [one[0] for one in measured],
        )
        figures.add(f"p99 of transfers {name}", "ms", [one[1] for one in measured])
    ratio = median(one[1] for one in beside) / median(one[1] for one in alone)
    figures.notes.append(
        f"p99 of transfers beside the pages is {ratio:.2f} x that of transfers alone, target 1.1"
    )
    return least, most
