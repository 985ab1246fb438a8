"""A person at a real browser, act by act: from signing up to a dispute."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage

import pyotp
from playwright.async_api import Page, expect

from tests.mail_server import MailServer
from tests.operation.registry_process import until
from tests.registry import PASSWORD, TestAgent, TestRegistry, text_of

LINK = re.compile(r"https?://\S+")
CREDENTIAL = re.compile(r"^HANSA_(CLIENT_ID|CLIENT_SECRET)='([^']+)'$", re.MULTILINE)
DID = re.compile(r"did:hansa:\S+")
REVIEWED_WITHIN = timedelta(days=2)
# A code is taken once: as if all of them had been shown long ago.
CODES_ARE_OF_THE_PAST = "UPDATE people_second_factor SET last_step = 0"


async def confirm(page: Page, label: str, act: str = "") -> None:
    """Open the step that states the effect of an act, and press its button."""
    step = page.locator("details.confirm", has=page.locator("summary", has_text=f"{label}…")).first
    await step.locator("summary").click()
    await expect(step.locator(".effect p").first).to_be_visible()
    await step.get_by_role("button", name=act or label).click()


@dataclass
class PersonAtBrowser:
    """Somebody with a browser and a mailbox; `app` and `agent` are there once they were made.

    Contracts and disputes are those of the agent, or of the organization whose pages stand below `guild`.
    """

    registry: TestRegistry
    mails: MailServer
    page: Page
    name: str
    app: pyotp.TOTP | None = None
    agent: TestAgent | None = None
    guild: str = ""

    @property
    def email(self) -> str:
        return f"{self.name.lower()}@example.org"

    @property
    def base(self) -> str:
        """The address below which the pages of the party are."""
        if self.guild:
            return self.guild
        assert self.agent
        return f"/account/agents/{self.agent.did}"

    async def press(self, button: str, heading: str) -> None:
        """Press a button and wait for the page that it leads to."""
        await self.page.get_by_role("button", name=button, exact=True).click()
        await expect(self.page.get_by_role("heading", level=1)).to_contain_text(heading)

    async def reads(self, notice: str) -> None:
        """The page confirms the act."""
        await expect(self.page.get_by_role("status")).to_have_text(notice)

    async def sign_up(self) -> None:
        page = self.page
        await page.goto("/sign-up")
        await page.get_by_label("Display name").fill(self.name)
        await page.get_by_label("E-mail address").fill(self.email)
        await page.get_by_label("Password", exact=True).fill(PASSWORD)
        await page.get_by_label("I accept the terms").check()
        await page.get_by_label("I am old enough").check()
        await self.press("Sign up", "Save your recovery keys")
        await page.get_by_label("I have saved them").check()
        await self.press("Continue to the login", "Log in")

    async def verify_address(self) -> None:
        """Open the link of the mail that came."""
        await self.page.goto(await self.link_mailed("Confirm your e-mail address"))
        await expect(self.page.get_by_role("heading", level=1)).to_have_text("E-mail address verified")

    async def link_mailed(self, subject: str) -> str:
        """The link in the newest mail with this subject, as soon as it came."""

        def found() -> list[EmailMessage]:
            return [one for one in self.mails.messages_to(self.email) if one["Subject"] == subject]

        await until(found)
        return LINK.search(text_of(found()[-1]))[0]

    async def try_login(self) -> None:
        """Send e-mail address and password."""
        await self.page.goto("/login")
        await self.page.get_by_label("E-mail address").fill(self.email)
        await self.page.get_by_label("Password", exact=True).fill(PASSWORD)
        await self.page.get_by_role("button", name="Log in", exact=True).click()

    async def log_in(self) -> None:
        """With a code, where two-factor login is on."""
        await self.try_login()
        if self.app:
            await self.registry.database.transaction(lambda tx: tx.execute(CODES_ARE_OF_THE_PAST))
            await self.page.get_by_label("Code").fill(self.app.now())
            await self.page.get_by_role("button", name="Log in", exact=True).click()
        await expect(self.page.get_by_role("heading", level=1)).to_have_text("Home")

    async def log_out(self) -> None:
        await self.press("Log out", "Log in")

    async def turn_two_factors_on(self) -> None:
        await self.page.goto("/account/two-factor")
        await self.press("Set up two-factor login", "Set up the app")
        self.app = pyotp.TOTP(await self.page.locator(".secret code").text_content())
        await self.page.get_by_label("Code that the app shows").fill(self.app.now())
        await self.press("Turn two-factor login on", "Two-factor login is on")

    async def create_agent(self, name: str) -> None:
        """By the wizard; its program logs in with the downloaded credentials."""
        page = self.page
        await page.goto("/account/agents/new")
        form = page.locator("form[action='/account/agents/new/from-form']")
        await form.get_by_label("Name", exact=True).fill(name)
        await form.get_by_label("Description").fill(f"{name} writes summaries.")
        await form.get_by_label("Address to call").fill("https://scribe.example.org/a2a")
        await form.get_by_label("Name of its first skill").fill("Summary")
        await form.get_by_label("What this skill does").fill("Writes one summary.")
        await form.get_by_role("button", name="Review the card").click()
        await expect(page.get_by_text("Nothing has been created yet.")).to_be_visible()
        await self.press("Create the agent", "Agent created")
        did = await page.locator("dd.identifier").first.text_content()
        async with page.expect_download() as download:
            await page.get_by_role("link", name="Download .env").click()
        credentials = dict(CREDENTIAL.findall((await (await download.value).path()).read_text()))
        await self.press("Test the credentials", "Test call")
        await expect(page.get_by_role("status")).to_contain_text("200 OK")
        form = {"username": credentials["CLIENT_ID"], "password": credentials["CLIENT_SECRET"]}
        token = await self.registry.post("/auth/agent/token", data=form, headers=self.registry.elsewhere())
        self.agent = TestAgent(self.registry, did, token.json()["access_token"], credentials)

    async def send(self, other: "PersonAtBrowser", amount: str) -> None:
        """Units after a dry run, confirmed by a double click."""
        await self.page.goto(f"{self.base}/wallet/send")
        await self.page.get_by_label("Receiver", exact=True).fill(other.agent.did)
        await self.page.get_by_label("Amount in AVT").fill(amount)
        await self.press("Check", "Confirm the transfer")
        await self.page.get_by_role("button", name=f"Send {amount} AVT").dblclick()
        await self.reads("The units were sent.")

    async def propose(self, other: "PersonAtBrowser", amount: str) -> int:
        """A contract whose amount is held from the acceptance on; its number."""
        page = self.page
        await page.goto(f"{self.base}/contracts/new?provider={other.agent.did}")
        await page.get_by_label("Title").fill("Ten summaries")
        await page.get_by_label("Amount in AVT").fill(amount)
        await page.get_by_label("Terms").fill("Ten summaries in plain words.")
        await page.get_by_label("Acceptance criteria").fill("Ten summaries, each signed.")
        due = datetime.now(UTC) + REVIEWED_WITHIN
        await page.get_by_label("Review due").fill(f"{due:%Y-%m-%dT%H:%M}")
        await page.get_by_label("Hold the amount").check()
        await page.get_by_role("button", name="Propose", exact=True).click()
        await self.reads("The contract is proposed.")
        return int(page.url.partition("?")[0].rpartition("/")[2])

    async def act_on_contract(self, number: int, button: str, notice: str, **fields: str) -> None:
        """Carry out one of the next acts on a contract, with values by the labels of the fields."""
        await self.page.goto(f"{self.base}/contracts/{number}")
        for label, value in fields.items():
            await self.page.get_by_label(label.replace("_", " ")).fill(value)
        if await self.page.locator("summary", has_text=f"{button}…").count():
            await confirm(self.page, button)
        else:
            await self.page.get_by_role("button", name=button, exact=True).click()
        await self.reads(notice)

    async def deliver(self, number: int) -> None:
        fields = {"SHA-256_of_the_work": "a" * 64, "Note": "Ten summaries."}
        await self.act_on_contract(number, "Submit the work", "The work is submitted.", **fields)

    async def file_dispute(self, contract: int) -> int:
        """About a contract, from its page; the number of the dispute."""
        page = self.page
        await page.goto(f"{self.base}/contracts/{contract}")
        await page.get_by_role("link", name="File a dispute about this contract").click()
        await page.get_by_label("Reason").select_option("POOR_QUALITY")
        await page.get_by_label("Description").fill("Only five summaries are signed.")
        await page.get_by_role("button", name="File the dispute").click()
        await self.reads("The dispute is filed.")
        return int(page.url.partition("?")[0].rpartition("/")[2])

    async def add_evidence(self, dispute: int) -> None:
        await self.page.goto(f"{self.base}/disputes/{dispute}")
        await self.page.get_by_label("SHA-256 of the file").fill("b" * 64)
        await self.page.get_by_role("button", name="Add evidence").click()
        await self.reads("The evidence was added.")
