"""Accessibility of a page: judged by axe-core, which the browser runs, and no wider than the window."""

from importlib import resources

from playwright.async_api import Page

from tests.properties.scale import by_tier

AXE = resources.files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
WIDTH = "document.documentElement.scrollWidth"
# A finding with what it found: the rule, the element, and why.
RUN = """async rules => {
  const { violations } = await axe.run(document, { resultTypes: ["violations"], rules });
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id} ${target.join(" ")}: ${failureSummary}`));
}"""
# Its rule of contrast takes most of the time and asks for less than FAINT_TEXTS does, but looks at what is drawn.
RULES = by_tier({"color-contrast": {"enabled": False}}, {}, {})
# Every text with the contrast against its background, as WCAG 2 computes it; only what is too low returns.
FAINT_TEXTS = """() => {
  const parts = color => color.match(/[0-9.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b]
    .map(v => v / 255)
    .map(v => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const background = element => {
    for (let at = element; at; at = at.parentElement) {
      const color = parts(getComputedStyle(at).backgroundColor);
      if (color.length === 3 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  const contrast = element => {
    const [a, b] = [light(parts(getComputedStyle(element).color)), light(background(element))];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  };
  return [...document.querySelectorAll("body *")]
    .filter(e => !e.closest(":disabled"))
    .filter(e => [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()) && e.checkVisibility())
    .filter(e => contrast(e) < 4.5)
    .map(e => `${contrast(e).toFixed(2)} ${e.tagName} ${e.textContent.trim().slice(0, 40)}`);
}"""


async def violations_of(page: Page) -> list[str]:
    """Each violation with the element in question."""
    # Evaluated, not added to the page, whose policy admits no script from elsewhere.
    await page.evaluate(AXE)
    found: list[str] = await page.evaluate(RUN, RULES)
    return found + await page.evaluate(FAINT_TEXTS)


async def objections(page: Page) -> list[str]:
    """Every violation that axe finds, texts too faint to read, and the width of a page that is too wide."""
    found = await violations_of(page)
    width, window = await page.evaluate(WIDTH), (page.viewport_size or {})["width"]
    return [*found, *([f"{width} pixels wide"] if width > window else [])]
