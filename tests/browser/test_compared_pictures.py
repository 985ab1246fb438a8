"""The page of the design and twelve others have the appearance that is recorded; `make compared-pictures` records it anew."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Browser

from tests.browser.compared_pictures import COMPARED, RECORDED_WITH, Picture, picture_of, share_max
from tests.browser.conftest import OpenPage
from tests.browser.readers import visits_of
from tests.console_pages import ADMINISTRATOR, ANYONE, OWNER, furnish
from tests.doors.served import served
from tests.hostile.well_formed import EVERYTHING_ON, Stage
from tests.registry import StartRegistry, TestRegistry

IS_RECORDED_ANEW = bool(os.environ.get("HANSA_COMPARED_PICTURES"))
VIEWS = {
    "desk": ({"width": 1280, "height": 896}, "light"),
    "telephone": ({"width": 392, "height": 840}, "dark"),
}


def pages_compared(stage: Stage) -> list[tuple[str, str, str]]:
    """Name, reader and address of each page."""
    own = f"/account/agents/{stage.agent.did}"
    return [
        ("design", ANYONE, "/design"),
        ("front", ANYONE, "/"),
        ("catalogue", ANYONE, "/catalogue"),
        ("agent", ANYONE, f"/agents/{stage.payee.did}"),
        ("events", ANYONE, "/events"),
        ("operation", ANYONE, "/docs/operations/transfer_units"),
        ("guide", ANYONE, "/guides/webhooks"),
        ("account", OWNER, "/account"),
        ("wallet", OWNER, f"{own}/wallet"),
        ("send", OWNER, f"{own}/wallet/send"),
        ("contracts", OWNER, f"{own}/contracts"),
        ("overview", ADMINISTRATOR, "/administration"),
        ("peers", ADMINISTRATOR, "/administration/peers"),
    ]


@pytest.fixture
async def registry(start_registry: StartRegistry) -> AsyncIterator[TestRegistry]:
    async with served(start_registry, **EVERYTHING_ON) as registry:
        yield registry


@pytest.fixture
async def stage(registry: TestRegistry) -> Stage:
    return await furnish(registry)


async def test_the_design_and_twelve_pages_look_as_they_are_recorded(
    stage: Stage, visit: OpenPage, browser: Browser, tmp_path: Path
):
    visits, blank = await visits_of(stage, visit), await browser.new_page()
    others = {}
    if IS_RECORDED_ANEW:
        RECORDED_WITH.write_text(f"{browser.version}\n")
    for name, reader, address in pages_compared(stage):
        page = visits[reader].page
        for view, (size, scheme) in VIEWS.items():
            await page.set_viewport_size(size)
            await page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            await page.goto(address)
            await page.wait_for_load_state("networkidle")
            picture, screenshot = await picture_of(page, blank, is_whole=name == "design")
            file = COMPARED / f"{name}-{view}.png"
            if IS_RECORDED_ANEW:
                picture.write(file)
            share = picture.share_of_others(Picture.read(file))
            if share > share_max(browser.version):
                (tmp_path / file.name).write_bytes(screenshot)
                others[file.name] = f"{share:.2%} of it differs: {tmp_path / file.name}"
    await blank.close()
    assert others == {}, "The appearance changed. If it is intended: make compared-pictures, and review them."
