"""A browser for each reader of the console: anyone, the owner and the administrator on a stage."""

import re

from playwright.async_api import expect

from tests.browser.conftest import OpenPage, Visit
from tests.console_pages import ADMINISTRATOR, ANYONE, OWNER
from tests.hostile.well_formed import Stage
from tests.registry import PASSWORD, TestDeveloper


async def visits_of(stage: Stage, visit: OpenPage) -> dict[str, Visit]:
    """A visit of each reader; the owner and the administrator are logged in."""
    return {
        ANYONE: await visit("/livez"),
        OWNER: await _logged_in(visit, stage.developer),
        ADMINISTRATOR: await _logged_in(visit, stage.administrator),
    }


async def _logged_in(visit: OpenPage, developer: TestDeveloper) -> Visit:
    opened = await visit("/login")
    page = opened.page
    await page.get_by_label("E-mail address").fill(developer.email)
    await page.get_by_label("Password", exact=True).fill(PASSWORD)
    await page.get_by_role("button", name="Log in", exact=True).click()
    await expect(page).to_have_url(re.compile("/account$"))
    return opened
