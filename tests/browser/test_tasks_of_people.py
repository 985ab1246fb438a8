"""Tasks of people in a real browser: each ends within its clicks, and nobody types a DID or an id.

The clicks of each task are printed; what a task may take is part of the design of the console.
"""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser.person import confirm
from tests.conversations.test_buying import Service, service
from tests.conversations.test_joining import with_trust_followed
from tests.neighbours.two_registries import Neighbours, neighbours
from tests.registry import PASSWORD, DatabaseFarm, TestAgent, TestDeveloper

__all__ = ["service"]

# Counts clicks and typed characters of identifiers in the pages of one tab.
COUNTED = """
addEventListener("click", () => sessionStorage.setItem("clicks", 1 + Number(sessionStorage.getItem("clicks"))), true);
addEventListener("change", (event) => {
  if (event.target.type === "text" && /^did:|^[0-9a-f]{8}-/.test(event.target.value)) sessionStorage.setItem("typed", event.target.name);
}, true);
"""
SECONDS_MAX = 90


@dataclass
class Tasks:
    """A tab of a person; `task` counts its clicks."""

    page: Page

    @asynccontextmanager
    async def task(self, name: str, clicks: int) -> AsyncIterator[Page]:
        """A task that takes at most so many clicks."""
        await self.page.evaluate("sessionStorage.clear()")
        began = monotonic()
        yield self.page
        made = int(await self.page.evaluate("sessionStorage.getItem('clicks') ?? 0"))
        print(f"{name}: {made} clicks, {monotonic() - began:.1f} s")
        assert made <= clicks, f"{name}: {made} clicks"
        assert monotonic() - began < SECONDS_MAX, name
        assert await self.page.evaluate("sessionStorage.getItem('typed')") is None, f"{name}: an id was typed"

    async def log_in(self, developer: TestDeveloper) -> None:
        await self.page.goto("/login")
        await self.page.get_by_label("E-mail address").fill(developer.email)
        await self.page.get_by_label("Password", exact=True).fill(PASSWORD)
        await self.page.get_by_role("button", name="Log in", exact=True).click()
        await expect(self.page.get_by_role("heading", level=1)).to_have_text("Home")


@pytest.fixture
async def tab(browser: Browser):
    """Open a tab of another person at a registry: `await tab(address, developer)`."""
    contexts = []

    async def opened(address: str, developer: TestDeveloper) -> Tasks:
        context = await browser.new_context(base_url=address, viewport={"width": 1280, "height": 900})
        contexts.append(context)
        await context.add_init_script(COUNTED)
        tasks = Tasks(await context.new_page())
        await tasks.log_in(developer)
        return tasks

    yield opened
    for context in contexts:
        await context.close()


async def find_call_and_dispute(owner: Tasks, seller: TestAgent) -> None:
    async with owner.task("find an agent below a price", 3) as page:
        await page.goto("/")
        await page.get_by_label("Search the catalogue").fill("Service")
        await page.keyboard.press("Enter")
        await page.get_by_label("At most, in AVT").fill("3")
        await page.get_by_role("button", name="Apply").click()
        await page.wait_for_url(re.compile("max_price=3"))
        await expect(page.get_by_role("heading", level=2, name="Service", exact=True)).to_be_visible()
    async with owner.task("pay for a call", 4) as page:
        await page.get_by_role("heading", level=2).get_by_role("link", name="Service", exact=True).click()
        await page.wait_for_url(re.compile("/agents/did:"))
        await page.get_by_role("link", name="Call", exact=True).click()
        await page.get_by_label("Message").fill("good morning")
        await page.get_by_role("button", name=re.compile("Pay .* and call")).click()
        await expect(page.get_by_text("bonjour").first).to_be_visible()
    async with owner.task("file a dispute about the payment", 4) as page:
        await page.get_by_role("link", name="Dispute this payment").click()
        await page.get_by_label("Reason").select_option("POOR_QUALITY")
        await page.get_by_label("Description").fill("That is no translation.")
        await page.get_by_role("button", name="File the dispute").click()
        await expect(page.get_by_role("status")).to_have_text("The dispute is filed.")
    assert seller.did in await page.content()


async def see_money_and_approve(owner: Tasks, payer: TestAgent, payee: TestAgent) -> None:
    async with owner.task("see balance and history, and ask to be paid", 4) as page:
        await page.goto("/account")
        await page.get_by_role("link", name="Wallets").click()
        await page.get_by_role("link", name="Own payer").first.click()
        await expect(page.get_by_role("heading", name="Over time")).to_be_visible()
        await page.get_by_role("link", name="Receive").first.click()
        await expect(page.locator("pre[aria-label='Payment link']")).to_contain_text(
            "/account/send?receiver="
        )
    asked = await payer.transfer(payee, "5")
    assert asked.status_code == 202, asked.text
    async with owner.task("approve a spend request", 4) as page:
        await page.goto("/account")
        await page.get_by_role("link", name="Decide").click()
        await page.get_by_role("link", name="Decide").click()
        await confirm(page, "Approve")
        await expect(page.get_by_role("status")).to_contain_text("The payment is approved")


async def rule_and_suspend(administrator: Tasks) -> None:
    async with administrator.task("rule a dispute after a preview", 8) as page:
        await page.goto("/administration")
        await page.get_by_role("link", name="Disputes").first.click()
        await page.locator("tbody a").first.click()
        await confirm(page, "End the time for evidence")
        await page.get_by_label("Ruling", exact=True).select_option("DISMISSED")
        await page.get_by_label("Note").fill("The answer was delivered.")
        await page.get_by_role("button", name="Preview the ruling").click()
        await expect(page.get_by_text("Nothing is ruled yet.")).to_be_visible()
        await page.get_by_role("button", name="Rule", exact=True).click()
        await expect(page.get_by_role("status")).to_have_text("The ruling is carried out.")
    async with administrator.task("suspend an agent after a preview", 7) as page:
        await page.goto("/administration")
        await page.get_by_role("link", name="Agents", exact=True).first.click()
        await page.get_by_label("DID or name").fill("Service")
        await page.get_by_role("button", name="Search", exact=True).click()
        await page.get_by_label(re.compile("^Select did:")).first.check()
        await page.get_by_label("Reason").fill("For a test.")
        await page.get_by_role("button", name="Preview").click()
        await page.get_by_role("button", name="Suspend", exact=True).click()
        await expect(page.get_by_role("heading", name="Suspend agents: outcome")).to_be_visible()


async def see_that_the_registry_is_honest(reader: Tasks) -> None:
    async with reader.task("see whether the registry is honest", 1) as page:
        await page.goto("/")
        await page.get_by_role("link", name="Proofs", exact=True).click()
        await expect(page.get_by_role("heading", name="Registry card", exact=True).first).to_be_visible()


async def join_a_federation(inviter: Tasks, invited: Tasks, pair: Neighbours) -> None:
    async with inviter.task("invite a registry", 4) as page:
        await page.goto("/administration")
        await page.get_by_role("link", name="Peers", exact=True).first.click()
        await page.get_by_role("link", name="Invite a registry").click()
        await page.get_by_label("Address of the other registry").fill(pair.b.public_url)
        await page.get_by_role("button", name="Make the invitation").click()
        link = await page.locator("pre[aria-label='Link of the invitation']").text_content()
    assert link is not None
    async with invited.task("join a federation by the link of an invitation", 3) as page:
        await page.goto(link.strip())
        await page.get_by_role("button", name="Check the invitation").click()
        await expect(page.get_by_text("✓ Holds").first).to_be_visible()
        await expect(page.get_by_text("✗ Refused")).to_have_count(0)
        await with_trust_followed(pair, accept_invitation(page))
    async with inviter.task("see that it joined", 1) as page:
        await page.get_by_role("link", name="Peers", exact=True).first.click()
        await expect(page.get_by_role("region", name="Peers")).to_contain_text("registry-b")


async def accept_invitation(page: Page) -> None:
    await confirm(page, "Accept", "Accept the invitation of registry-a")
    await expect(page.get_by_role("status")).to_contain_text("both registries are peers")


async def test_two_administrators_join_their_registries_in_the_browser_and_type_no_id(
    database_farm: DatabaseFarm, tmp_path: Path, tab
):
    async with neighbours(database_farm, tmp_path, joined=False) as pair:
        inviter, invited = [
            await tab(one.public_url, await one.registry.administrator("admin_federation"))
            for one in (pair.a, pair.b)
        ]
        await join_a_federation(inviter, invited, pair)
        assert {(await one.peer(other)).status for one, other in ((pair.a, pair.b), (pair.b, pair.a))} == {
            "active"
        }


async def test_each_task_ends_within_its_clicks_and_nobody_types_an_id(service: Service, tab):
    registry, seller = service.payments.registry, service.payments.service
    developer = await registry.developer()
    payer, payee = await developer.agent(name="Own payer"), await registry.agent(name="Payee")
    await registry.indexed()
    async with registry.listening() as place:
        address = f"http://{place}"
        owner = await tab(address, developer)
        await find_call_and_dispute(owner, seller)
        policy = {"spend_policy": {"approval_over": "1"}}
        await registry.http.put(f"/api/v1/agents/{payer.did}/authz", json=policy, headers=developer.headers)
        await see_money_and_approve(owner, payer, payee)
        await rule_and_suspend(await tab(address, await registry.administrator("admin_enforcement")))
        await see_that_the_registry_is_honest(owner)
