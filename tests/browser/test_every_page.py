"""Every page of the console, as each reader opens it: accessible by day and by night, at a desk and on a telephone, and light."""

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Page

from tests.browser.accessibility import FAINT_TEXTS, WIDTH, violations_of
from tests.browser.conftest import OpenPage, Visit
from tests.browser.readers import visits_of
from tests.console_pages import ANYONE, furnish, pages_of
from tests.doors.served import served
from tests.hostile.well_formed import EVERYTHING_ON, Stage
from tests.properties.scale import by_tier
from tests.registry import StartRegistry, TestRegistry

DESK, TELEPHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
NARROWEST = {"width": 320, "height": 740}
VIEWS = [(size, scheme) for size in (TELEPHONE, DESK) for scheme in ("light", "dark")]
# A commit has a third of the pages judged by axe, each in one view: that takes most of the time.
JUDGED_EVERY = 3
HEADING_MAX_PIXELS = 120
BYTES_MAX = 120_000
# Addresses of the same routes at which another page stands.
MORE = (
    "/catalogue?q=www&tag=" + "t" * 60,
    "/catalogue?q=staged&sort=newest&pricing=paid",
    "/guides/settings",
    "/set-password#token=x",
)
# Plots are drawn anew in the next frame.
DRAWN_ANEW = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
TOP_OF_HEADING = "document.querySelector('main h1').getBoundingClientRect().top + scrollY"
# Bytes of the page and of each file that it loaded, as they came, from the network or from the cache.
RECEIVED = """performance.getEntries()
  .filter(entry => entry.entryType === "navigation" || entry.entryType === "resource")
  .reduce((sum, entry) => sum + entry.encodedBodySize, 0)"""
# A table on a telephone shows its heads and is not cut, or each cell has a label, or a row has two lines.
UNREADABLE_TABLES = """() => [...document.querySelectorAll("main table")].filter(table => table.checkVisibility()).flatMap(table => {
  const name = table.closest("[aria-label]")?.ariaLabel ?? table.closest("[aria-labelledby]")?.getAttribute("aria-labelledby");
  const holder = table.parentElement;
  if (holder.scrollWidth > holder.clientWidth + 1) return [`${name}: ${holder.scrollWidth} pixels in ${holder.clientWidth}`];
  if (!table.tHead || table.tHead.getBoundingClientRect().right > 0) return [];
  const label = cell => getComputedStyle(cell, "::before").content;
  return [...table.tBodies].flatMap(body => [...body.rows]).filter(row => {
    const bare = [...row.cells].filter(cell => cell.checkVisibility() && ["none", "normal"].includes(label(cell)) && cell.textContent.trim());
    return new Set(bare.map(cell => Math.round(cell.getBoundingClientRect().top / 8))).size > 2;
  }).map(row => `${name}: no label in ${row.innerText.slice(0, 80)}`).slice(0, 1);
})"""
# Tabs stand in one row on a telephone, and the current one is within the part that is seen.
BROKEN_TABS = """() => [...document.querySelectorAll("nav.tabs")].flatMap(row => {
  const rows = new Set([...row.children].map(tab => tab.offsetTop)).size;
  const current = row.querySelector("[aria-current]");
  if (!current) return [`${row.ariaLabel}: no current tab`];
  const seen = row.getBoundingClientRect(), tab = current.getBoundingClientRect();
  const found = rows > 1 ? [`${row.ariaLabel}: ${rows} rows of tabs`] : [];
  return tab.left < seen.left || tab.right > seen.right ? [...found, `${row.ariaLabel}: the current tab is out of sight`] : found;
})"""


@pytest.fixture
async def registry(start_registry: StartRegistry) -> AsyncIterator[TestRegistry]:
    async with served(start_registry, **EVERYTHING_ON, rate_limit_reads="off") as registry:
        yield registry


@pytest.fixture
async def stage(registry: TestRegistry) -> Stage:
    return await furnish(registry)


@pytest.mark.parametrize("half", [0, 1])
async def test_every_page_is_accessible_light_and_readable_on_a_telephone(
    stage: Stage, visit: OpenPage, half: int
):
    visits = await visits_of(stage, visit)
    found: dict[str, list[str]] = {}
    number = 0
    async for one, _ in pages_of(stage):
        if number % 2 == half:
            found[one.address] = await _faults(visits[one.reader], one.address, number // 2)
        number += 1
    for address in MORE[half::2]:
        found[address] = await _faults(visits[ANYONE], address, number)
        number += 1
    assert number > 110
    if faults := [f"{address}: {fault}" for address, faults in found.items() for fault in faults]:
        pytest.fail("\n".join(faults), pytrace=False)


async def _faults(opened: Visit, address: str, number: int) -> list[str]:
    """The faults of one page, which is opened once and then looked at in each size and colour scheme."""
    page = opened.page
    await page.set_viewport_size(TELEPHONE)
    answer = await page.goto(address)
    found = [f"status {answer.status}"] if answer and answer.status != 200 else []
    found += [*opened.strangers, *opened.complaints]
    opened.strangers.clear()
    opened.complaints.clear()
    if (top := await page.evaluate(TOP_OF_HEADING)) > HEADING_MAX_PIXELS:
        found.append(f"the heading begins at {top:.0f} pixels")
    if (received := await page.evaluate(RECEIVED)) > BYTES_MAX:
        found.append(f"{received} bytes")
    found += await page.evaluate(UNREADABLE_TABLES)
    found += await page.evaluate(BROKEN_TABS)
    for turn, (size, scheme) in enumerate(VIEWS):
        await page.set_viewport_size(size)
        await page.emulate_media(color_scheme=scheme)
        await page.evaluate(DRAWN_ANEW)
        is_judged = by_tier(number % (JUDGED_EVERY * len(VIEWS)) == turn * JUDGED_EVERY, True, True)
        faults = await violations_of(page) if is_judged else await page.evaluate(FAINT_TEXTS)
        found += [f"{size['width']} {scheme}: {fault}" for fault in faults]
        found += await _too_wide(page, size["width"])
    await page.set_viewport_size(NARROWEST)
    await page.evaluate(DRAWN_ANEW)
    return found + await _too_wide(page, NARROWEST["width"])


async def _too_wide(page: Page, window: int) -> list[str]:
    width = await page.evaluate(WIDTH)
    return [f"{width} pixels wide in {window}"] if width > window else []
