"""A version of an agent's code from its registration to its rollback, and a bundle from its download to the imported agent."""

import pytest
from playwright.async_api import expect

from tests.browser.test_account_in_a_browser import log_in, press, require_fit
from tests.conversations.test_deployments import Stage
from tests.conversations.test_versions import coder, statuses
from tests.doors.served import served
from tests.properties.scale import by_tier
from tests.rooms.catalogue.pulls.agent_host import hosting, said

DESK = {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"}
NARROW = {"viewport": {"width": 360, "height": 780}, "color_scheme": "dark"}
DEVICES = pytest.mark.parametrize("device", by_tier([NARROW], [DESK, NARROW], [DESK, NARROW]))


@pytest.fixture
async def hosts():
    async with hosting() as first, hosting() as second:
        yield first, second


@pytest.fixture
async def registry(start_registry, hosts):
    places = ",".join(one.place for one in hosts)
    async with served(start_registry, outgoing_allow_user_hosts=places) as registry:
        yield registry


@pytest.fixture
async def stage(registry, hosts):
    owner = await registry.developer()
    interface = {"url": hosts[0].url + "/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    made = Stage(registry, hosts, owner, await coder(owner, supportedInterfaces=[interface]))
    for one in hosts:
        made.serve(one)
    return made


async def confirm(page, first, then, notice):
    """Open the second step of an act of one button, and carry it out."""
    await page.locator("summary", has_text=first).first.click()
    await expect(page.locator("details[open] .effect")).to_be_visible()
    await require_fit(page)
    await page.get_by_role("button", name=then, exact=True).click()
    await expect(page.locator("main")).to_contain_text(notice)
    await require_fit(page)


async def deploy(stage, page, version, url):
    await page.get_by_label("Version to deploy").select_option(version)
    await page.get_by_label("Address", exact=False).first.fill(url)
    await press(page, "Continue", "Confirm the deployment")
    await press(page, "Check and deploy", "Versions of the code")
    await expect(page.get_by_text("Stop refreshing")).to_be_visible()
    await stage.check()
    # The page is read again by itself, until the deployment has ended.
    await expect(page.get_by_text("Stop refreshing")).to_be_hidden()


@DEVICES
async def test_a_version_is_registered_deployed_and_rolled_back(visit, stage, device):
    opened = await visit("/", **device)
    page, first, second = opened.page, stage.first.url + "/a2a", stage.second.url + "/a2a"
    await log_in(page, stage.owner.email)
    await page.goto(f"/account/agents/{stage.agent.did}/releases")
    await require_fit(page)
    for version in ("1.0", "2.0"):
        await page.get_by_label("Version", exact=True).fill(version)
        await page.get_by_label("Release notes").fill("Twice as fast. " * 8)
        await press(page, "Register", "Versions of the code")
    await confirm(page, "Activate", "Activate it", "The version is active.")
    assert await statuses(stage.agent) == {"1.0": "draft", "2.0": "active"}
    await deploy(stage, page, "1.0", first)
    await deploy(stage, page, "2.0", second)
    assert await stage.url() == second
    stage.first.raw = said(b"", status=503)
    await confirm(page, "Roll back", "Roll it back", "Nothing was rolled back.")
    stage.first.raw = None
    await confirm(page, "Roll back", "Roll it back", "The deployment before is active again.")
    assert (await stage.url(), await statuses(stage.agent)) == (first, {"1.0": "active", "2.0": "retired"})
    assert (opened.strangers, opened.complaints) == ([], [])


@DEVICES
async def test_a_bundle_is_downloaded_and_an_agent_is_made_of_it(visit, stage, device):
    opened = await visit("/", **device)
    page = opened.page
    await log_in(page, stage.owner.email)
    await page.goto(f"/account/agents/{stage.agent.did}/releases")
    async with page.expect_download() as download:
        await page.get_by_role("button", name="Download the bundle").click()
    text = (await (await download.value).path()).read_text()
    await page.goto("/account/agents")
    await page.get_by_role("link", name="Import an agent").click()
    await require_fit(page)
    await page.get_by_label("Bundle").fill(text.replace("agent.bundle.v1", "agent.bundle.v2"))
    await page.get_by_role("button", name="Check the bundle").click()
    await expect(page.get_by_role("alert")).to_contain_text("The bundle is refused")
    await require_fit(page)
    # A browser notes the status of a refused form.
    assert all("422" in complaint for complaint in opened.complaints)
    opened.complaints.clear()
    await page.get_by_label("Bundle").fill(text)
    await press(page, "Check the bundle", "Confirm the import")
    await press(page, "Create the agent", "Agent imported")
    async with page.expect_download() as download:
        await page.get_by_role("link", name="Download .env").click()
    assert "HANSA_CLIENT_SECRET='hsk_" in (await (await download.value).path()).read_text()
    assert (opened.strangers, opened.complaints) == ([], [])
