"""The supply page, whose terms add up, and the status page."""

import re
from decimal import Decimal

from hansa.doors.console.plots import Plot
from hansa.foundation.plumbing.process.write_probe import WriteProbe
from hansa.foundation.values.errors import Unavailable
from hansa.rooms import auditor, journal
from hansa.rooms.journal.volume import add_settled_volume
from tests.doors.pages_read import ReadPage
from tests.registry import TestRegistry

JSON = {"Accept": "application/json"}


async def audited(registry: TestRegistry) -> None:
    await registry.database.transaction(auditor.audit, one_snapshot=True)


async def test_the_terms_of_the_supply_page_add_up_to_the_last_digit(registry: TestRegistry):
    payer, payee = await registry.agent(), await registry.agent()
    await payer.transfer(payee, "3.00000007")
    terms = (await registry.http.get("/supply.json")).json()["terms"]
    amounts = {name: Decimal(text) for name, text in terms.items()}
    assert amounts["issued"] - amounts["destroyed"] + amounts["transit_net"] == amounts["net_supply"]
    assert amounts["net_supply"] - amounts["circulating"] == amounts["delta"] == 0
    page = (await registry.http.get("/supply")).text
    cells = [
        Decimal(cell.replace("\u202f", ""))
        for cell in re.findall(r'<td class="number">(?:<strong>)?([0-9.\u202f-]+)', page)
    ]
    issued, destroyed, transit, net, circulating, delta = cells[:6]
    assert issued - destroyed + transit == net
    assert net - circulating == delta == 0


async def test_the_supply_page_plots_supply_agents_and_volume_over_time(registry: TestRegistry):
    await audited(registry)
    payer, payee = await registry.agent(), await registry.agent()
    await payer.transfer(payee, "12.5")
    await payer.transfer(payee, "7.5")
    await audited(registry)
    await registry.transactions_ended()
    await registry.database.transaction(add_settled_volume)
    found = (await registry.http.get("/supply", headers=JSON)).json()
    assert [point["agent_count"] for point in found["history"]] == [0, 2]
    [day] = found["volume"]
    # The grants of the genesis are no payments.
    assert (day["payments"], day["amount"]) == (2, "20")
    page = ReadPage((await registry.http.get("/supply")).text)
    assert page.elements.count("figure") == 4
    assert re.findall(r'<(?:path|rect|circle) class="(line|bar)"', page.html) == [
        "line",
        "line",
        "bar",
        "bar",
    ]
    assert page.inline == []


async def test_the_volume_counts_each_payment_once_however_often_it_is_brought_up_to_date(registry):
    payer, payee = await registry.agent(), await registry.agent()
    volumes = []
    for _ in range(3):
        await payer.transfer(payee, "1")
        await registry.transactions_ended()
        for _ in range(2):
            await registry.database.transaction(add_settled_volume)
        [day] = await registry.database.read(lambda tx: journal.volume_by_day(tx, 10))
        volumes.append((day.payments, day.amount))
    assert volumes == [(1, 100_000_000), (2, 200_000_000), (3, 300_000_000)]


async def test_the_status_page_shows_each_component(registry: TestRegistry):
    await audited(registry)
    answer = await registry.http.get("/status.json")
    assert answer.status_code == 200
    states = {component["name"]: component["state"] for component in answer.json()["components"]}
    assert (states["database"], states["ledger"], states["auditor"]) == ("ok", "ok", "degraded")
    page = ReadPage((await registry.http.get("/status", headers={"Accept": "text/html"})).text)
    assert "Working, with warnings" in page.html
    assert page.elements.count("svg") >= len(states)
    assert page.inline == []


async def test_the_status_page_says_so_when_the_database_cannot_write(registry, monkeypatch):
    async def refuse(_: WriteProbe) -> None:
        raise Unavailable("The database does not accept writes at the moment.")

    monkeypatch.setattr(WriteProbe, "require", refuse)
    answer = await registry.http.get("/status", headers={"Accept": "text/html"})
    assert answer.status_code == 503
    assert "Not working" in answer.text
    assert (await registry.http.get("/status.json")).json()["state"] == "failed"


async def test_a_failing_job_is_a_warning_on_the_status_page(registry: TestRegistry):
    registry.runtime.jobs.failed("mail: send", ConnectionError("secret host"))
    answer = await registry.http.get("/status.json")
    assert answer.status_code == 200
    states = {component["name"]: component["state"] for component in answer.json()["components"]}
    assert states["jobs"] == "degraded"
    assert "secret host" not in answer.text
    assert "mail: send" not in answer.text


def test_a_plot_of_one_value_or_of_zeros_is_drawn():
    for values in ([0], [0, 0], [5], [1, 2, 3]):
        points = [(f"day {number}", value) for number, value in enumerate(values)]
        shown = [str(value) for value in values]
        for positions in (None, [float(number) for number in range(len(values))]):
            drawn = Plot("Agents", points, shown, positions).svg
            assert "nan" not in drawn
            assert f"highest {max(values)}" in drawn
