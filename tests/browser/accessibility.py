"""What a page must be for everyone: judged by axe-core, which the browser runs, and no wider than the window."""

from importlib import resources

from playwright.async_api import Page

AXE = resources.files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
WIDTH = "document.documentElement.scrollWidth"
# A finding with what it found: the rule, the element, and why.
RUN = """async () => {
  const { violations } = await axe.run(document, { resultTypes: ["violations"] });
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id} ${target.join(" ")}: ${failureSummary}`));
}"""


async def violations_of(page: Page) -> list[str]:
    """Each violation with the element in question."""
    # Evaluated, not added to the page, whose policy admits no script from elsewhere.
    await page.evaluate(AXE)
    found: list[str] = await page.evaluate(RUN)
    return found


async def objections(page: Page) -> list[str]:
    """Every violation that axe finds on the page as it is shown, and whether the page is too wide."""
    found = await violations_of(page)
    width, window = await page.evaluate(WIDTH), (page.viewport_size or {})["width"]
    return [*found, *([f"{width} pixels wide"] if width > window else [])]
