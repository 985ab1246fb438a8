"""What a page must be for everybody: judged by axe-core, which the browser runs, and no wider than the window."""

from importlib import resources

from playwright.async_api import Page

AXE = resources.files("axe_playwright_python").joinpath("axe.min.js").read_text()
WIDTH = "document.documentElement.scrollWidth"
# A finding with what it found: the rule, the element, and why.
RUN = """async () => {
  const { violations } = await axe.run(document, { resultTypes: ["violations"] });
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id} ${target.join(" ")}: ${failureSummary}`));
}"""


async def objections(page: Page) -> list[str]:
    """Every violation that axe finds on the page as it is shown, and whether the page is too wide."""
    await page.evaluate(AXE)
    found = await page.evaluate(RUN)
    width, window = await page.evaluate(WIDTH), (page.viewport_size or {})["width"]
    return [*found, *([f"{width} pixels wide"] if width > window else [])]
