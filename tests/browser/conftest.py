"""A real browser. Where there is none, the tests of the pages fail and say so."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from playwright.async_api import Browser, BrowserContext, Page, Request, async_playwright, expect

from hansa.doors.reference_map import empty_app
from hansa.doors.serving.listeners import listen
from tests.browser import chromium
from tests.doors.served import served, serving
from tests.registry import StartRegistry, TestRegistry

# A busy machine is no failure.
PATIENCE_MILLISECONDS = 120_000
expect.set_options(timeout=PATIENCE_MILLISECONDS)

# Hinting rounds the width of glyphs, by rules of the machine: without it a page has the same measures everywhere.
UNHINTED = "--font-render-hinting=none"
# A route for it would be asked about every request, and would turn the browser's cache off.
REACHES_NO_OTHER_HOST = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"


@dataclass
class Visit:
    """Page open in the browser, with its requests to other hosts and its complaints."""

    page: Page
    strangers: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


OpenPage = Callable[..., Awaitable[Visit]]


@pytest.fixture(scope="session")
def browser_path() -> str:
    """The browser to start; a test that needs one fails here where there is none."""
    return found_browser()


def found_browser() -> str:
    """The browser to start. Fails the test that asks where there is none, and says so."""
    try:
        found = chromium.find()
    except chromium.NoBrowser as error:
        pytest.fail(str(error), pytrace=False)
    if found is None:
        pytest.fail(chromium.NONE_FOUND, pytrace=False)
    return found


@pytest.fixture(scope="session")
async def browser(browser_path: str) -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        # The sandbox of the browser does not start for root, and nothing but our own pages is opened.
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        arguments += [REACHES_NO_OTHER_HOST, UNHINTED]
        browser = await playwright.chromium.launch(executable_path=browser_path, args=arguments)
        yield browser
        await browser.close()


@pytest.fixture(scope="session")
async def script_page(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Page]:
    """Page that imports the scripts of a registry, to test the values that they compute. No test changes it."""
    listener = listen("127.0.0.1", 0)
    async with serving(empty_app(tmp_path_factory.mktemp("scripts")), listener, lifespan="off"):
        page = await browser.new_page()
        await page.goto(f"http://127.0.0.1:{listener.getsockname()[1]}/first-steps")
        yield page
        await page.close()


@pytest.fixture
async def registry(start_registry: StartRegistry) -> AsyncIterator[TestRegistry]:
    """A registry that the browser can reach."""
    async with served(start_registry) as registry:
        yield registry


@pytest.fixture
async def visit(browser: Browser, registry: TestRegistry) -> AsyncIterator[OpenPage]:
    """Open a path of the registry in a browser that reaches no other host: `await visit("/docs")`."""
    contexts = []

    async def new_context(**settings: Any) -> BrowserContext:
        context = await browser.new_context(base_url=registry.settings.base_url, **settings)
        contexts.append(context)
        context.set_default_timeout(PATIENCE_MILLISECONDS)
        return context

    async def open_page(path: str, *, clock: bool = False, **settings: Any) -> Visit:
        context = await new_context(**settings)
        opened = Visit(await context.new_page())

        def notice(request: Request) -> None:
            if not request.url.startswith((registry.settings.base_url + "/", "data:")):
                opened.strangers.append(request.url)

        opened.page.on("request", notice)
        opened.page.on("pageerror", lambda failure: opened.complaints.append(str(failure)))
        opened.page.on(
            "console",
            lambda message: opened.complaints.append(message.text) if message.type == "error" else None,
        )
        if clock:
            await opened.page.clock.install()
        await opened.page.goto(path)
        return opened

    yield open_page
    for context in contexts:
        await context.close()
