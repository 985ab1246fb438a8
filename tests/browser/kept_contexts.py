"""Contexts of the browser that tests have one after the other: one costs half a second of CPU, which is most of a short test.

A context goes from test to test without what it stored: no cookie, no storage, nothing kept of an answer. Contexts that a test
has at one time are different ones.
"""

import json
from typing import Any

from playwright.async_api import Browser, BrowserContext, Error

KEPT_MAX = 4


class KeptContexts:
    """Those that no test has now, by their settings."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._free: list[tuple[str, BrowserContext]] = []

    async def take(self, **settings: Any) -> BrowserContext:
        """A context with these settings in which nobody has been, as far as a page can find out."""
        key = _key(settings)
        for place, (settings_of_free, context) in enumerate(self._free):
            if settings_of_free == key:
                del self._free[place]
                return context
        return await self._browser.new_context(**settings)

    async def give_back(self, context: BrowserContext, **settings: Any) -> None:
        """Let a later test have it; one that cannot be emptied is closed, as is the one that was free longest."""
        try:
            await _empty(context, settings["base_url"])
        except Error:
            await context.close()
            return
        self._free.append((_key(settings), context))
        if len(self._free) > KEPT_MAX:
            _, longest_free = self._free.pop(0)
            await longest_free.close()


def _key(settings: dict[str, Any]) -> str:
    return json.dumps(settings, sort_keys=True)


async def _empty(context: BrowserContext, origin: str) -> None:
    """Close the pages, and forget what the origin stored and what the browser keeps of answers."""
    await context.set_offline(offline=False)
    page = await context.new_page()
    session = await context.new_cdp_session(page)
    await session.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"})
    await session.send("Network.clearBrowserCache")
    await context.clear_cookies()
    for open_page in context.pages:
        await open_page.close()
