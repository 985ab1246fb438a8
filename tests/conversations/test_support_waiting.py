"""Tickets and reports that wait for the support: on the administrators' overview, and in the metrics."""

import html
import re

from hansa.rooms.support import show_waiting
from tests.browsing import browser_of
from tests.registry import TestRegistry
from tests.support import answered, changed, done, opened, report

OLDER = "UPDATE support_move SET moved_at = moved_at - $1 * interval '1 hour'"


async def pass_hours(registry: TestRegistry, hours: int) -> None:
    await registry.database.transaction(lambda tx: tx.execute(OLDER, hours))


async def waiting_in_metrics(registry: TestRegistry) -> dict[str, tuple[float, float]]:
    """The number of open tickets and of open reports, and the hours of the oldest."""
    await show_waiting(registry.runtime)
    text = (await registry.http.get("/metrics")).text
    found = {}
    for kind in ("ticket", "report"):
        number, oldest = (
            float(re.search(rf'^{name}{{kind="{kind}"}} (\S+)$', text, re.MULTILINE)[1])
            for name in ("hansa_support_waiting", "hansa_support_oldest_seconds")
        )
        found[kind] = (number, oldest // 3600)
    return found


async def test_tickets_and_reports_that_are_open_stand_on_the_overview_with_their_age(registry):
    author, staff = await registry.developer(), await registry.administrator("admin_support")
    desk = await browser_of(registry, staff)

    async def shown() -> str:
        await desk.open("/administration")
        return html.unescape(desk.text)

    assert "open, the oldest for" not in await shown()
    assert await waiting_in_metrics(registry) == {"ticket": (0, 0), "report": (0, 0)}
    ticket = await opened(author)
    await report(registry, (await author.agent()).did)
    await pass_hours(registry, 50)
    await opened(author)
    text = await shown()
    assert "2 tickets open, the oldest for 2 d 2 h." in text
    assert "1 report open, the oldest for 2 d 2 h." in text
    assert 'href="/administration/support?status=open"' in text
    assert 'href="/administration/support?status=open&category=abuse"' in text
    assert await waiting_in_metrics(registry) == {"ticket": (2, 50), "report": (1, 50)}
    await answered(staff, ticket)
    assert "1 ticket open, the oldest for 0 h." in await shown()
    await done(author, ticket, "messages", {"body": "It is still so."})
    assert "2 tickets open, the oldest for 0 h." in await shown(), "it waits since its author wrote"
    await changed(staff, ticket, status="resolved")
    assert (await waiting_in_metrics(registry))["ticket"] == (1, 0)


async def test_an_administrator_of_another_area_gets_no_link_to_tickets(registry):
    await opened(await registry.developer())
    other = await browser_of(registry, await registry.administrator("admin_treasury"))
    await other.open("/administration")
    assert "1 ticket open" in other.text
    assert "/administration/support" not in other.text
