"""A real browser: the chromium of CHROMIUM or of the PATH. Where there is none these tests are not collected."""

import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from playwright.async_api import Browser, Page, Request, async_playwright, expect

from tests.doors.served import served
from tests.registry import StartRegistry, TestRegistry

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
collect_ignore_glob = [] if CHROMIUM else ["test_*.py"]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if CHROMIUM is None:
        terminalreporter.write_line(
            "not collected: tests/browser (no chromium on the PATH and none in CHROMIUM)"
        )


# A busy machine is no failure.
expect.set_options(timeout=30_000)


@dataclass
class Visit:
    """A page open in the browser, with what it asked of other hosts and what it complained about."""

    page: Page
    strangers: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


OpenPage = Callable[..., Awaitable[Visit]]


@pytest.fixture(scope="session")
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        # The sandbox of the browser does not start for root, and nothing but our own pages is opened.
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        await browser.close()


@pytest.fixture
async def registry(start_registry: StartRegistry) -> AsyncIterator[TestRegistry]:
    """A registry that the browser can reach."""
    async with served(start_registry) as registry:
        yield registry


@pytest.fixture
async def visit(registry: TestRegistry, browser: Browser) -> AsyncIterator[OpenPage]:
    """Open a path of the registry in a browser that reaches no other host: `await visit("/docs")`."""
    contexts = []

    async def open_page(path: str, *, clock: bool = False, **settings: Any) -> Visit:
        context = await browser.new_context(base_url=registry.settings.base_url, **settings)
        contexts.append(context)
        opened = Visit(await context.new_page())

        def notice(request: Request) -> None:
            if not request.url.startswith((registry.settings.base_url + "/", "data:")):
                opened.strangers.append(request.url)

        opened.page.on("request", notice)
        opened.page.on("pageerror", lambda trouble: opened.complaints.append(str(trouble)))
        opened.page.on(
            "console",
            lambda message: opened.complaints.append(message.text) if message.type == "error" else None,
        )
        await context.route(
            lambda url: not url.startswith(registry.settings.base_url + "/"), lambda route: route.abort()
        )
        if clock:
            await opened.page.clock.install()
        await opened.page.goto(path)
        return opened

    yield open_page
    for context in contexts:
        await context.close()
