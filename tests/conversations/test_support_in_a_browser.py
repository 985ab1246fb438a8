"""Tickets and reports in a browser: of their authors, of administrators of the support, of anybody."""

import html

import pytest

from tests.browsing import BrowserOf, browser_of
from tests.registry import TestDeveloper, TestRegistry
from tests.support import TICKETS, ask, opened, report

PAGE, ADMIN = "/account/support", "/administration/support"
HOSTILE = "<script>alert(1)</script> \"' onload=x {{ 7 * 7 }} [x](https://evil.example/)"


@pytest.fixture
def registry(registry_of_file: TestRegistry) -> TestRegistry:
    return registry_of_file


@pytest.fixture
async def author(registry: TestRegistry) -> TestDeveloper:
    return await registry.developer()


@pytest.fixture
async def browser(registry: TestRegistry, author: TestDeveloper) -> BrowserOf:
    return await browser_of(registry, author)


@pytest.fixture
async def desk(registry: TestRegistry) -> BrowserOf:
    """A browser of an administrator of the support."""
    return await browser_of(registry, await registry.administrator("admin_support"))


def path_of(ticket: dict, root: str = PAGE) -> str:
    return f"{root}/{ticket['id']}"


async def test_a_ticket_is_opened_answered_and_closed_by_forms(registry, author, browser, desk):
    agent = await author.agent()
    await browser.open(f"{PAGE}/new?category=agent&agent={agent.did}")
    page = await browser.send(PAGE, subject="No health check", body="First line\nSecond line")
    assert (page.status_code, "The ticket is open." in page.text) == (200, True), page.text
    address = page.url.path
    (ticket,) = (await ask(author, "GET", TICKETS)).json()["tickets"]
    assert (address, ticket["agent_did"], ticket["category"]) == (path_of(ticket), agent.did, "agent")
    await desk.open(path_of(ticket, ADMIN))
    answered = await desk.send(f"{path_of(ticket, ADMIN)}/messages", body="Fixed?", internal="false")
    assert "The answer is sent." in answered.text
    noted = await desk.send(f"{path_of(ticket, ADMIN)}/messages", body="A nuisance", internal="true")
    assert "The note is stored." in noted.text
    await browser.open(address)
    assert "Fixed?" in browser.text
    assert "nuisance" not in browser.text
    assert "Administrator" not in browser.text.partition("<main")[2]
    sent = await browser.send(f"{address}/messages", body="It works.")
    assert "The message is sent." in sent.text
    closed = await browser.send(f"{address}/close")
    assert "The ticket is closed." in closed.text
    again = await browser.send(f"{address}/reopen")
    assert "The ticket is open again." in again.text


async def test_a_form_that_is_sent_twice_opens_one_ticket(author, browser):
    await browser.open(f"{PAGE}/new")
    fields = {"category": "other", "subject": "Twice", "body": "Once"}
    form = browser.form(PAGE)
    pairs = [pair for pair in form.fields if pair[0] not in fields]
    first = await browser.post(PAGE, pairs, **fields)
    second = await browser.post(PAGE, pairs, **fields)
    assert first.url == second.url
    assert len((await ask(author, "GET", TICKETS)).json()["tickets"]) == 1


async def test_a_form_that_is_refused_keeps_its_texts_and_names_the_field(browser):
    await browser.open(f"{PAGE}/new")
    refused = await browser.send(
        PAGE,
        category="other",
        subject="Kept subject",
        body="Kept body",
        related_type="contract",
        related_id="5",
    )
    assert refused.status_code == 404
    assert "The account has no part" in refused.text
    assert "Kept subject" in refused.text
    assert "Kept body" in refused.text
    short = await browser.send(PAGE, subject="ab")
    assert short.status_code == 422
    assert 'id="subject-trouble"' in short.text


async def test_the_support_changes_a_ticket_by_the_fields_that_are_chosen_alone(registry, author):
    staff = await registry.administrator("admin_support")
    desk = await browser_of(registry, staff)
    ticket = await opened(author)
    await desk.open(path_of(ticket, ADMIN))
    number = (await ask(staff, "GET", "/auth/profile")).json()["id"]
    change = f"{path_of(ticket, ADMIN)}/change"
    changed = await desk.send(change, assignee=str(number), priority="high")
    assert "The ticket is changed." in changed.text
    await desk.send(change, status="resolved")
    case = (await ask(staff, "GET", f"/admin/support/tickets/{ticket['id']}")).json()
    assert (case["status"], case["priority"], case["assignee"]["developer_id"]) == (
        "resolved",
        "high",
        number,
    )
    await desk.send(change, assignee="none")
    case = (await ask(staff, "GET", f"/admin/support/tickets/{ticket['id']}")).json()
    assert (case["status"], case["priority"], case["assignee"]) == ("resolved", "high", None)
    wrong = await desk.send(change, assignee="1000000")
    assert wrong.status_code == 404


async def test_lists_are_filtered_in_the_address(registry, author, browser, desk):
    await opened(author, subject="Needle one")
    await opened(author, subject="Needle two", category="security")
    await browser.open(f"{PAGE}?q=needle&status=open")
    assert browser.text.count("Needle") == 2
    await browser.open(f"{PAGE}?q=needle&status=closed")
    assert "No tickets." in browser.text
    await desk.open(f"{ADMIN}?q=needle&category=security&assignee=none")
    assert "Needle two" in desk.text
    assert "Needle one" not in desk.text
    assert (await desk.open(f"{ADMIN}?assignee=me")).status_code == 422


async def test_the_page_of_an_agent_leads_to_a_report_which_needs_no_login(registry, author, desk):
    agent = await author.agent()
    anybody = BrowserOf(registry)
    await anybody.open(f"/agents/{agent.did}")
    assert "Report this agent" in anybody.text
    await anybody.open(f"/report?agent={agent.did}")
    done = await anybody.send("/report", reason="Impersonation", body="It uses our name.", email="")
    assert (done.status_code, "The report is stored." in done.text) == (200, True), done.text
    await desk.open(f"{ADMIN}?category=abuse&q={agent.did}")
    assert "Impersonation" in desk.text
    await anybody.open("/report?agent=did:hansa:nobody")
    refused = await anybody.send("/report", reason="Kept reason", body="x")
    assert refused.status_code == 404
    assert "Kept reason" in refused.text


async def test_the_form_and_the_api_share_the_limit_of_an_address(registry, author):
    agent = await author.agent()
    for _ in range(5):
        assert (await report(registry, agent.did, address="203.0.113.9")).status_code == 202
    anybody = BrowserOf(registry)
    await anybody.open(f"/report?agent={agent.did}")
    form = anybody.form("/report")
    body = [pair for pair in form.fields if pair[0] not in {"reason", "body"}]
    body += [("reason", "Again"), ("body", "Once more")]
    answer = await anybody.http.post(
        "/report",
        data=dict(body),
        headers={
            "Origin": registry.settings.base_url,
            "Sec-Fetch-Site": "same-origin",
            "X-Forwarded-For": "203.0.113.9",
        },
    )
    assert answer.status_code == 429


async def test_hostile_texts_are_plain_text_on_every_page(registry, author, browser, desk):
    agent = await author.agent()
    ticket = await opened(author, subject=HOSTILE, body=HOSTILE)
    await ask(author, "POST", f"{TICKETS}/{ticket['id']}/messages", {"body": HOSTILE})
    await report(registry, agent.did, reason=HOSTILE, body=HOSTILE)
    await desk.open(path_of(ticket, ADMIN))
    await desk.send(f"{path_of(ticket, ADMIN)}/messages", body=HOSTILE, internal="true")
    pages = [(browser, PAGE), (browser, path_of(ticket)), (desk, ADMIN), (desk, path_of(ticket, ADMIN))]
    for reader, path in pages:
        await reader.open(path)
        assert "<script>alert" not in reader.text
        assert html.escape("<script>alert(1)</script>") in reader.text
        assert 'href="https://evil.example' not in reader.text
        assert "{{ 7 * 7 }}" in reader.text


async def test_a_suspended_person_writes_a_ticket(registry, author, browser):
    enforcer = await registry.administrator("admin_enforcement")
    number = (await ask(author, "GET", "/auth/profile")).json()["id"]
    await ask(enforcer, "POST", f"/admin/developers/{number}/suspend", {"reason": "Fraud"})
    await browser.open(f"{PAGE}/new")
    page = await browser.send(PAGE, category="account", subject="Appeal", body="I am innocent.")
    assert "The ticket is open." in page.text


async def test_a_ticket_of_another_person_has_no_page(registry, browser, desk):
    ticket = await opened(await registry.developer())
    assert (await browser.open(path_of(ticket))).status_code == 404
    assert (await browser.open(path_of(ticket, ADMIN))).status_code == 403
    assert (await desk.open(path_of(ticket, ADMIN))).status_code == 200
