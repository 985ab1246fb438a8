"""What axe finds wrong with a page that is open in the browser."""

from importlib.resources import files

from playwright.async_api import Page

SCRIPT = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
_RUN = """async () => (await axe.run(document, { resultTypes: ["violations"] })).violations
  .flatMap(found => found.nodes.map(node => `${found.id}: ${node.html.slice(0, 160)}`))"""


async def violations_of(page: Page) -> list[str]:
    """Each violation with the element in question."""
    # Evaluated, not added to the page, whose policy lets in no script from elsewhere.
    await page.evaluate(SCRIPT)
    found: list[str] = await page.evaluate(_RUN)
    return found
