"""Pages of the log and the metrics of an own agent."""

import re

import pytest

from hansa.rooms.operations.metrics.counting import add_settled
from tests.browsing import browser_of
from tests.organizations import found

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
HOSTILE = "<script>alert(1)</script>\u202e\x1b[2J"


@pytest.fixture
def registry(registry_of_file):
    return registry_of_file


@pytest.fixture
async def owner(registry):
    return await registry.developer()


@pytest.fixture
async def agent(owner):
    return await owner.agent()


async def write(agent, *entries):
    path = f"/agents/{agent.did}/logs"
    written = await agent.registry.post(path, json={"entries": list(entries)}, headers=agent.headers)
    assert written.status_code == 201, written.text


def entry(message, level="INFO", **members):
    return {"level": level, "message": message, **members}


async def rows(browser, agent, query=""):
    answer = await browser.open(f"/account/agents/{agent.did}/logs{query}")
    assert answer.status_code == 200, answer.text
    return re.findall(r'class="sentence">(.*?)\n', answer.text)


async def test_the_log_is_filtered_by_level_source_trace_and_text(registry, owner, agent):
    browser = await browser_of(registry, owner)
    await write(agent, entry("Started", trace_id=TRACE), entry("Slow", "WARN"), entry("Down", "ERROR"))
    shown = "".join(await rows(browser, agent))
    assert shown.index("Down") < shown.index("Slow") < shown.index("Started")
    for query, message in (
        ("?level=ERROR", "Down"),
        (f"?trace={TRACE.upper()}", "Started"),
        ("?text=LO", "Slow"),
    ):
        (one,) = await rows(browser, agent, query)
        assert message in one
    assert await rows(browser, agent, "?source=registry") == []
    assert "No entry matches." in browser.text
    for refused in ("?level=LOUD", "?source=x", "?before=x", "?before=-1"):
        assert (await browser.open(f"/account/agents/{agent.did}/logs{refused}")).status_code == 422


async def test_older_entries_stand_on_further_pages_with_the_same_filter(registry, owner, agent):
    browser = await browser_of(registry, owner)
    await write(
        agent, *(entry(f"Entry {number}.", "WARN" if number % 2 else "INFO") for number in range(100))
    )
    await write(agent, entry("Last", "WARN"))
    assert len(await rows(browser, agent, "?level=WARN")) == 50
    (older,) = re.findall(
        r'href="[^"?]*(\?before=[^"]*)"',
        (await browser.open(f"/account/agents/{agent.did}/logs?level=WARN")).text,
    )
    (first,) = await rows(browser, agent, older.replace("&amp;", "&"))
    assert "Entry 1." in first


async def test_a_log_that_is_live_is_read_again_without_a_script(registry, owner, agent):
    browser = await browser_of(registry, owner)
    path = f"/account/agents/{agent.did}/logs"
    assert "refresh" not in (await browser.open(path)).headers
    live = await browser.open(f"{path}?live=true&level=ERROR")
    assert live.headers["refresh"] == "10"
    assert "Stop refreshing" in live.text
    assert "refresh" not in (await browser.open(f"{path}?live=true&before=5")).headers


async def test_entries_of_strangers_are_text(registry, owner, agent):
    browser = await browser_of(registry, owner)
    await write(agent, entry(HOSTILE, log_metadata={HOSTILE: HOSTILE}))
    page = (await browser.open(f"/account/agents/{agent.did}/logs")).text
    assert "<script>alert" not in page
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;") >= 2
    assert "\x1b" not in page
    assert "\u202e" not in page


async def test_metrics_are_figures_and_plots_with_the_table_of_their_values(registry, owner, agent):
    browser = await browser_of(registry, owner)
    path = f"/account/agents/{agent.did}/metrics"
    assert "Nothing to draw" in (await browser.open(path)).text
    await (await registry.agent()).transfer(agent, "1.25")
    await registry.transactions_ended()
    await registry.database.transaction(lambda tx: add_settled(tx, registry.runtime))
    for time_range in ("", "?range=1h", "?range=7d", "?range=30d"):
        page = (await browser.open(path + time_range)).text
        assert "1.25 AVT" in page
        assert 'aria-label="Earned: ' in page
        assert 'aria-label="Values of Earned"' in page
    assert (await browser.open(f"{path}?range=2h")).status_code == 422


async def test_pages_of_another_owners_agent_are_not_found_and_administrators_have_none(registry, agent):
    for reader in (await registry.developer(), await registry.administrator()):
        browser = await browser_of(registry, reader)
        for page in ("logs", "metrics"):
            assert (await browser.open(f"/account/agents/{agent.did}/{page}")).status_code == 404


async def test_a_viewer_of_the_organization_reads_both_pages(registry):
    organization = await found(registry)
    agent = await organization.born()
    browser = await browser_of(registry, await organization.member("viewer"))
    for page in ("logs", "metrics"):
        assert (await browser.open(f"/account/agents/{agent.did}/{page}")).status_code == 200
