"""Takes the pictures of the README anew: `make pictures`. The registry in them is one that `hansa demo` has filled."""

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.async_api import Browser, Page, async_playwright

from tests.browser import chromium

PICTURES = Path(__file__).parents[2] / "docs/pictures"
DESK = {"width": 1120, "height": 860}
TELEPHONE = {"width": 390, "height": 844}
HANSA = [sys.executable, "-m", "hansa.doors.operate"]
BYTES_MAX = 200_000


@dataclass(frozen=True)
class Picture:
    """One picture: of which page, how large, in which light."""

    name: str
    path: str
    size: dict[str, int]
    scheme: str = "light"


PICTURES_TAKEN = (
    Picture("front", "/", DESK),
    Picture("catalogue", "/catalogue", DESK),
    Picture("catalogue-found", "/catalogue?q=invoice", DESK, "dark"),
    Picture("catalogue-phone", "/catalogue", TELEPHONE, "dark"),
    Picture("agent", "agent", DESK),
    Picture("agent-signed", "agent#signed-title", DESK, "dark"),
    Picture("agent-phone", "agent", TELEPHONE),
    Picture("docs", "/docs/try", DESK),
)


async def take_all(address: str) -> None:
    """Every picture of the registry there, over those of last time."""
    async with async_playwright() as playwright:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = await playwright.chromium.launch(executable_path=chromium.get(), args=arguments)
        for picture in PICTURES_TAKEN:
            await take(browser, address, picture)
        await browser.close()


async def take(browser: Browser, address: str, picture: Picture) -> None:
    """One picture, once the page has settled."""
    context = await browser.new_context(
        base_url=address, viewport=picture.size, color_scheme=picture.scheme, reduced_motion="reduce"
    )
    page = await context.new_page()
    await open_page(page, picture.path)
    await page.wait_for_load_state("networkidle")
    file = PICTURES / f"{picture.name}.png"
    await page.screenshot(path=file)
    await context.close()
    print(f"{file.name}: {file.stat().st_size} bytes")
    assert file.stat().st_size < BYTES_MAX


async def open_page(page: Page, path: str) -> None:
    """Open a path; `agent` is the first agent that the catalogue shows, and signatures are checked first."""
    if not path.startswith("agent"):
        await page.goto(path)
        return
    await page.goto("/catalogue?q=lingua")
    await page.locator(".agents h2 a").first.click()
    if "#" in path:
        await page.get_by_role("button", name="Verify signature").click()
        await page.locator("[data-findings] dt").first.wait_for()
        await page.locator("#" + path.partition("#")[2]).evaluate(
            "it => it.scrollIntoView({block: 'center'})"
        )


@contextmanager
def filled_registry() -> Iterator[str]:
    """A registry in a temporary directory after a demo."""
    with tempfile.TemporaryDirectory(prefix="hansa-pictures-") as directory:
        serving = subprocess.Popen(
            [*HANSA, "serve", "--port=0", f"--data-dir={directory}"],
            stdout=subprocess.PIPE,
            env={**os.environ, "LOG_LEVEL": "warning"},
            text=True,
        )
        try:
            assert serving.stdout is not None
            address = serving.stdout.readline().removeprefix("ready ").strip()
            subprocess.run([*HANSA, "demo", address], check=True, stdout=subprocess.DEVNULL)
            yield address
        finally:
            serving.terminate()
            serving.wait()


if __name__ == "__main__":
    with filled_registry() as own_address:
        asyncio.run(take_all(own_address))
