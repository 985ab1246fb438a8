"""A person connects a client in a real browser, in both themes: the consent leads back by script, and every page is fit."""

from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from playwright.async_api import expect

from tests.browser.accessibility import objections
from tests.browser.person import confirm
from tests.browser.test_account_in_a_browser import SCREEN, TELEPHONE, require_fit
from tests.browsing import BrowserOf
from tests.connections import ConnectedClient, register, take_access_tokens
from tests.outside import host
from tests.registry import PASSWORD

THEMES = pytest.mark.parametrize("device", [SCREEN, TELEPHONE])


@THEMES
async def test_a_person_connects_a_client_approves_a_payment_and_ends_the_connection(registry, visit, device):
    developer, payee = await registry.developer(), await registry.agent()
    agent = await developer.agent()
    async with host() as callback:
        redirect_uri = f"http://127.0.0.1:{callback.port}/callback"
        client_id = (await register(registry, redirect_uri)).json()["client_id"]
        client = ConnectedClient(registry, developer, BrowserOf(registry), client_id, redirect_uri)
        opened = await visit(client.request(), **device)
        page = opened.page
        await page.get_by_label("E-mail address").fill(developer.email)
        await page.get_by_label("Password", exact=True).fill(PASSWORD)
        await page.get_by_role("button", name="Log in").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Connect a client")
        await require_fit(page)
        await expect(page.get_by_label("mcp:read")).to_be_checked()
        await page.get_by_label("wallet:pay").check()
        await page.get_by_role("button", name="Allow").click()
        await expect(page.get_by_role("alert")).to_be_visible()
        await require_fit(page)
        await page.get_by_label("Agent for which it acts").select_option(agent.did)
        await page.get_by_role("button", name="Allow").click()
        await page.wait_for_url(f"{redirect_uri}?*")
        led_back = {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}
        assert all("referer" not in head.lower() for head in callback.heads)
        assert (await client.exchange(led_back["code"])).status_code == httpx2.codes.OK
        assert [one for one in opened.complaints if "status of 422" not in one] == []

    take_access_tokens(registry)
    asked = await client.transfer(payee, "2", key="int_of_a_browser")
    assert asked.status_code == httpx2.codes.ACCEPTED, asked.text
    await page.goto(f"/account/approvals/{asked.json()['approval_id']}")
    await require_fit(page)
    await confirm(page, "Approve")
    await expect(page.get_by_role("status")).to_contain_text("The payment is approved")
    assert (await client.transfer(payee, "2", key="int_of_a_browser")).status_code == httpx2.codes.OK

    await page.goto("/account/connections")
    await require_fit(page)
    await confirm(page, "End the connection")
    await expect(page.get_by_role("status")).to_contain_text("The connection has ended")
    await require_fit(page)


@THEMES
async def test_a_fault_and_a_refusal_are_pages_whose_link_leads_back(registry, visit, device):
    developer = await registry.developer()
    async with host() as callback:
        redirect_uri = f"http://127.0.0.1:{callback.port}/callback"
        client_id = (await register(registry, redirect_uri)).json()["client_id"]
        client = ConnectedClient(registry, developer, BrowserOf(registry), client_id, redirect_uri)
        opened = await visit(client.request(scope="admin"), **device)
        page = opened.page
        await page.get_by_label("E-mail address").fill(developer.email)
        await page.get_by_label("Password", exact=True).fill(PASSWORD)
        await page.get_by_role("button", name="Log in").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Not connected")
        assert await objections(page) == []
        await page.goto(client.request())
        await page.get_by_role("button", name="Refuse").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Not connected")
        assert callback.heads == []
        await page.get_by_role("link", name="Back to the client").click()
        await page.wait_for_url(f"{redirect_uri}?error=access_denied*")
