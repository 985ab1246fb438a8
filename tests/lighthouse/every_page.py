"""Every page of the console as each reader opens it, loaded cold as a slow telephone does: its bytes, and the time until it is interactive.

Lighthouse takes half a minute for a page; this takes two seconds. The browser itself is slowed down, through its DevTools protocol. A page is
interactive once it is painted, its scripts have run and the last long task has ended. On a busy machine a page may be late by
chance: it is judged by the quickest of several loads.
"""

import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from playwright.async_api import Page, async_playwright

from hansa.foundation.plumbing.storage.embedded import EmbeddedPostgres
from tests.browser import chromium
from tests.browser.conftest import Visit
from tests.browser.readers import visits_of
from tests.console_pages import furnish, pages_of
from tests.doors.served import served
from tests.hostile.well_formed import EVERYTHING_ON
from tests.registry import TestRegistry, care_for_no_crash, open_registry
from tests.unknown_paths import unknown_paths

BYTES_MAX, INTERACTIVE_MAX_SECONDS = 120_000, 1.5
LOADS_MAX = 3
TELEPHONE = {"width": 390, "height": 844}
SLOW_NETWORK = {
    "offline": False,
    "latency": 150,
    "downloadThroughput": 1_600_000 / 8,
    "uploadThroughput": 750_000 / 8,
}
TIMES_SLOWER = 4
PATIENCE_MILLISECONDS = 120_000
# Nothing was received and no task was long for so long: the page has come to rest.
QUIET_MILLISECONDS = 700
NOTED = """
window.longTasks = [];
new PerformanceObserver(list => longTasks.push(...list.getEntries())).observe({ type: "longtask", buffered: true });
"""
MEASURED = """async quiet => {
  const ends = () => [
    performance.getEntriesByType("navigation")[0].loadEventEnd,
    ...performance.getEntriesByType("resource").map(entry => entry.responseEnd),
    ...longTasks.map(task => task.startTime + task.duration),
  ];
  for (let left = 1; left > 0; left = Math.max(...ends()) + quiet - performance.now())
    await new Promise(done => setTimeout(done, left));
  const [page] = performance.getEntriesByType("navigation");
  const [paint] = performance.getEntriesByName("first-contentful-paint");
  const received = [page, ...performance.getEntriesByType("resource")].reduce((sum, entry) => sum + entry.encodedBodySize, 0);
  const tasks = longTasks.map(task => task.startTime + task.duration);
  return {
    received,
    paint: paint.startTime / 1000,
    interactive: Math.max(paint.startTime, page.domContentLoadedEventEnd, ...tasks) / 1000,
  };
}"""


class Load(msgspec.Struct, frozen=True):
    """One load of a page: bytes of it and of its files, and seconds since it was asked for."""

    received: int
    paint: float
    interactive: float

    def faults(self) -> list[str]:
        """What exceeds its bound."""
        found = [] if self.received <= BYTES_MAX else [f"{self.received} bytes"]
        if self.interactive > INTERACTIVE_MAX_SECONDS:
            found.append(f"interactive {self.interactive:.2f} s")
        return found


async def judge_every_page() -> list[str]:
    """Load every page, print its figures, and return those beyond their bound."""
    over, worst = [], Load(0, 0, 0)
    async with AsyncExitStack() as stack:
        registry = await stack.enter_async_context(own_registry())
        stage = await furnish(registry)
        visits = await visits_of(stage, await stack.enter_async_context(own_browser(registry)))
        for visit in visits.values():
            await slow_down(visit.page)
        async for one, _ in pages_of(stage):
            load = await best_load(visits[one.reader].page, one.address)
            print(
                f"{one.operation}: {load.received} bytes, first paint {load.paint:.2f} s, interactive {load.interactive:.2f} s",
                flush=True,
            )
            over += [f"{one.operation}: {fault}" for fault in load.faults()]
            worst = Load(*map(max, msgspec.structs.astuple(worst), msgspec.structs.astuple(load)))
    print(
        f"worst: {worst.received} bytes, first paint {worst.paint:.2f} s, interactive {worst.interactive:.2f} s"
    )
    return over


async def best_load(page: Page, address: str) -> Load:
    """The first load within the bounds, or the quickest of all."""
    loads = []
    for _ in range(LOADS_MAX):
        await page.goto(address)
        loads.append(msgspec.convert(await page.evaluate(MEASURED, QUIET_MILLISECONDS), Load))
        if not loads[-1].faults():
            return loads[-1]
    return min(loads, key=lambda load: load.interactive)


async def slow_down(page: Page) -> None:
    """Let the page be loaded by a slow telephone, without the files that it had before."""
    await page.set_viewport_size(TELEPHONE)
    await page.add_init_script(NOTED)
    protocol = await page.context.new_cdp_session(page)
    await protocol.send("Network.enable")
    await protocol.send("Network.setCacheDisabled", {"cacheDisabled": True})
    await protocol.send("Network.emulateNetworkConditions", SLOW_NETWORK)
    await protocol.send("Emulation.setCPUThrottlingRate", {"rate": TIMES_SLOWER})


@asynccontextmanager
async def own_registry() -> AsyncIterator[TestRegistry]:
    """A registry with a database of its own, which answers at a port."""
    async with AsyncExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hansa-pages-")))
        server = EmbeddedPostgres(directory / "database")
        dsn = await server.start()
        stack.push_async_callback(server.stop)
        await care_for_no_crash(dsn)
        stack.enter_context(unknown_paths())

        async def start_registry(**settings: Any) -> TestRegistry:
            opened = open_registry(dsn, directory / "data", **settings)
            return await stack.enter_async_context(opened)

        yield await stack.enter_async_context(served(start_registry, **EVERYTHING_ON, rate_limit_reads="off"))


@asynccontextmanager
async def own_browser(registry: TestRegistry) -> AsyncIterator[Any]:
    """Opens paths of the registry, each in a context of its own."""
    async with async_playwright() as playwright:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = await playwright.chromium.launch(executable_path=chromium.get(), args=arguments)

        async def open_page(path: str) -> Visit:
            context = await browser.new_context(base_url=registry.settings.base_url)
            context.set_default_timeout(PATIENCE_MILLISECONDS)
            page = await context.new_page()
            await page.goto(path)
            return Visit(page)

        yield open_page
        await browser.close()


if __name__ == "__main__":
    sys.exit("\n".join(asyncio.run(judge_every_page())) or 0)
