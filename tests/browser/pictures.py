"""Takes the pictures of the README and of the guides anew: `make pictures`. The registry in them is one that `hansa demo` has filled."""

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from urllib.parse import urlencode

import httpx2
from playwright.async_api import Browser, Page, async_playwright

from hansa.doors.console.style_sheets import STATIC
from hansa_client import AsyncRegistry
from hansa_client.records.treasury import TreasuryBudget, TreasuryRules
from hansa_client.records.work_orders import NewWorkOrder
from tests.browser import chromium
from tests.connections import REDIRECT, pkce
from tests.registry import PASSWORD, card_of

PICTURES = Path(__file__).parents[2] / "docs/pictures"
OF_GUIDES = STATIC / "guides"
PERSON = "ada@example.org"
DESK = {"width": 1120, "height": 860}
LONG = {"width": 1120, "height": 1440}
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
    folder: Path = PICTURES


CONSENT = "consent"
"""Place of the page on which a person allows a client."""
GUILD = "/account/organizations/lighthouse"
RELEASES = "releases"
"""Place of the versions and deployments of her agent."""

PICTURES_TAKEN = (
    Picture("front", "/", DESK),
    Picture("catalogue", "/catalogue", DESK),
    Picture("catalogue-found", "/catalogue?q=invoice", DESK, "dark"),
    Picture("catalogue-phone", "/catalogue", TELEPHONE, "dark"),
    Picture("agent", "agent", DESK),
    Picture("agent-signed", "agent#signed-title", DESK, "dark"),
    Picture("agent-phone", "agent", TELEPHONE),
    Picture("docs", "/docs/operations/transfer_units", DESK),
    Picture("connect", "/connect", DESK, folder=OF_GUIDES),
    Picture("consent", CONSENT, LONG, folder=OF_GUIDES),
    Picture("treasury", f"{GUILD}/treasury", {"width": 1120, "height": 1180}, folder=OF_GUIDES),
    Picture("releases", RELEASES, {"width": 1120, "height": 760}, folder=OF_GUIDES),
    Picture("work", f"{GUILD}/work", {"width": 1120, "height": 600}, folder=OF_GUIDES),
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
    if picture.path == CONSENT:
        await open_consent(page, address)
    elif picture.path.startswith(GUILD):
        await open_own(page, picture.path)
    elif picture.path == RELEASES:
        await open_own(page, "/account/agents")
        await page.get_by_role("link", name="Shopper").click()
        await page.goto(f"{page.url}/releases")
    else:
        await open_page(page, picture.path)
    await page.wait_for_load_state("networkidle")
    file = picture.folder / f"{picture.name}.png"
    await page.screenshot(path=file)
    await context.close()
    print(f"{file.name}: {file.stat().st_size} bytes")
    assert file.stat().st_size < BYTES_MAX


async def join(address: str) -> None:
    """Register a person with an agent and an organization."""
    async with AsyncRegistry(address) as registry:
        await registry.accounts.register("Ada", PERSON, PASSWORD, accept_terms=True, is_of_age=True)
        await registry.accounts.login(PERSON, PASSWORD)
        made = await registry.agents.create(card=card_of(name="Shopper"))
        await _release(registry, made.agent_did)
        guild = await registry.organizations.found("lighthouse", "Lighthouse", visibility="public")
        async with AsyncRegistry(address, agent=made.credentials) as paying:
            await paying.transfers.transfer(guild.treasury_did, 60)
        team = await registry.organizations.create_team("lighthouse", "crew", "operate")
        await registry.organizations.add_to_team("lighthouse", "crew", (await registry.accounts.profile()).id)
        treasury = registry.treasury("lighthouse")
        budget = await treasury.create_budget("Translations", 20, "month", team_id=team.id)
        assert isinstance(budget, TreasuryBudget)
        await treasury.pay(made.agent_did, 8, budget_id=budget.budget_id)
        await treasury.replace_rules(TreasuryRules(per_day_max=Decimal(50)))
        for title, amount in (("Translate the manual", 12), ("Check the harbour charts", 9)):
            await registry.work_orders.open("lighthouse", _order(title, amount))


async def _release(registry: AsyncRegistry, did: str) -> None:
    """Two versions of the code, and a deployment to a host that is not there."""
    for version, notes in (("2.0.0", "Compares prices of three sellers."), ("2.1.0", "Twice as fast.")):
        made = await registry.releases.register(version, did, commit_hash="9e01d6c1f7", release_notes=notes)
        if version == "2.0.0":
            await registry.releases.activate(made.version_id, did)
    asked = await registry.releases.deploy(made.version_id, did, note="New machine")
    while not asked.has_ended:
        await asyncio.sleep(0.5)
        asked = await registry.releases.deployment(asked.deployment_id, did)


def _order(title: str, amount: int) -> NewWorkOrder:
    return NewWorkOrder(
        title=title,
        spec=f"{title}, as agreed.",
        acceptance_criteria="Nothing is missing.",
        amount=Decimal(amount),
        bids_until=datetime.now(UTC) + timedelta(days=10),
        submit_days=7,
        review_days=7,
        skills=("translation",),
    )


async def open_own(page: Page, path: str) -> None:
    """Log in as the person of the consent, and open a page of hers."""
    await page.goto("/login")
    await page.get_by_label("E-mail address").fill(PERSON)
    await page.get_by_label("Password", exact=True).fill(PASSWORD)
    await page.get_by_role("button", name="Log in", exact=True).click()
    await page.wait_for_url("**/account**")
    await page.goto(path)


async def open_consent(page: Page, address: str) -> None:
    """Log in at the request of a client, and choose what it may do. The person is new, so no other picture shows her agent."""
    await join(address)
    async with httpx2.AsyncClient(base_url=address, trust_env=False) as http:
        client = {"redirect_uris": [REDIRECT], "client_name": "Claude Code"}
        registered = (await http.post("/oauth/register", json=client)).json()
    request = {
        "response_type": "code",
        "client_id": registered["client_id"],
        "redirect_uri": REDIRECT,
        "code_challenge": pkce()[1],
        "code_challenge_method": "S256",
        "state": "1",
        "scope": "mcp:read wallet:read wallet:pay",
        "resource": f"{address}/mcp",
    }
    await page.goto(f"/oauth/authorize?{urlencode(request)}")
    await page.get_by_label("E-mail address").fill(PERSON)
    await page.get_by_label("Password", exact=True).fill(PASSWORD)
    await page.get_by_role("button", name="Log in").click()
    await page.get_by_label("wallet:pay").check()
    await page.get_by_label("Agent for which it acts").select_option(index=1)


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
