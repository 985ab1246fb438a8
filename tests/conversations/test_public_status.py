"""Status for anybody, health of the stack, and incidents of administrators (Specification 8, public pages and feeds)."""

from typing import Any
from uuid import uuid4
from xml.etree import ElementTree as ET

import httpx2
import pytest

from hansa.foundation.plumbing.process.write_probe import WriteProbe
from hansa.foundation.values.errors import Unavailable
from hansa.rooms import auditor, status
from hansa.rooms.status.measuring import MEASURE, measure
from hansa.rooms.status.store import forget_days
from tests.browsing import browser_of
from tests.registry import TestDeveloper, TestRegistry, at_once

COMPONENTS = ["database", "journal", "ledger", "jobs", "mail", "search", "federation", "auditor", "mcp"]
INCIDENT = {
    "kind": "incident",
    "title": "Payments settle late",
    "body": "Settlements wait.",
    "components": ["ledger"],
}
PAGE = "/administration/incidents"


@pytest.fixture(scope="module")
def registry(registry_of_file: TestRegistry) -> TestRegistry:
    return registry_of_file


@pytest.fixture(scope="module")
async def administrator(registry: TestRegistry) -> TestDeveloper:
    return await registry.administrator("admin_platform")


@pytest.fixture(autouse=True)
def fresh_checks(registry: TestRegistry) -> None:
    status.CHECKS.put(registry.runtime, status.Checks(registry.runtime, good_seconds=0))


async def shown(registry: TestRegistry) -> dict[str, Any]:
    answer = await registry.get("/public/status")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def opened(administrator: TestDeveloper, **members: object) -> httpx2.Response:
    return await administrator.registry.post(
        "/admin/incidents", json={**INCIDENT, **members}, headers=administrator.headers
    )


async def updated(administrator: TestDeveloper, incident_id: str, state: str, **more: Any) -> httpx2.Response:
    return await administrator.registry.post(
        f"/admin/incidents/{incident_id}/updates",
        json={"state": state, "body": f"It is {state}.", **more},
        headers=administrator.headers,
    )


def code_of(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


async def older(registry: TestRegistry, seconds: int) -> None:
    """Let the last measurement be so much older."""
    await registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE status_component SET measured_at = measured_at - $1 * interval '1 second',"
            " since = since - $1 * interval '1 second', began_at = began_at - $1 * interval '1 second'",
            seconds,
        )
    )


async def test_the_status_names_state_version_components_incidents_and_the_uptime_of_90_days(registry):
    found = await shown(registry)
    assert set(found) == {"state", "version", "components", "incidents", "uptime"}
    assert [one["name"] for one in found["components"]] == COMPONENTS
    assert all(set(one) == {"name", "state", "since"} for one in found["components"])
    assert set(found["uptime"]) == set(COMPONENTS)
    assert {len(days) for days in found["uptime"].values()} == {90}


async def test_uptime_is_measured_by_a_job_and_a_gap_counts_as_down(registry_of_test):
    registry = registry_of_test
    before = await shown(registry)
    assert {day["uptime"] for days in before["uptime"].values() for day in days} == {None}
    await measure(registry.runtime)
    await older(registry, 60)
    await measure(registry.runtime)
    enclosed = {name: days[-1]["uptime"] for name, days in (await shown(registry))["uptime"].items()}
    assert set(enclosed.values()) == {1.0}
    await older(registry, 600)
    await measure(registry.runtime)
    missed = {name: days[-1]["uptime"] for name, days in (await shown(registry))["uptime"].items()}
    assert all(share is not None and share < 0.2 for share in missed.values())
    assert MEASURE.every_seconds == 60


async def test_a_component_that_was_found_failed_loses_its_uptime_alone(registry_of_test, monkeypatch):
    registry = registry_of_test
    await measure(registry.runtime)
    await older(registry, 60)

    async def breach(*_: object) -> object:
        raise Unavailable("The supply cannot be read.")

    monkeypatch.setattr(auditor, "watch_supply", breach)
    status.CHECKS.put(registry.runtime, status.Checks(registry.runtime, good_seconds=0))
    await measure(registry.runtime)
    found = await shown(registry)
    assert found["state"] == "failed"
    states = {one["name"]: one["state"] for one in found["components"]}
    assert (states["ledger"], states["journal"]) == ("failed", "ok")
    assert {name for name, days in found["uptime"].items() if days[-1]["uptime"] == 0} == {"ledger"}


async def test_measurements_at_the_same_moment_count_the_same_time_once(registry_of_test):
    registry = registry_of_test
    await measure(registry.runtime)
    await older(registry, 60)
    await at_once(*(measure(registry.runtime) for _ in range(5)))
    up_ms = await registry.database.query(
        lambda tx: tx.fetchval(
            "SELECT max(up_ms) FROM (SELECT sum(up_ms) AS up_ms FROM status_day GROUP BY name) d"
        )
    )
    assert 60_000 <= up_ms < 120_000


async def test_days_that_nobody_is_shown_are_deleted(registry_of_test):
    registry = registry_of_test
    await measure(registry.runtime)
    await registry.database.transaction(
        lambda tx: tx.execute(
            "INSERT INTO status_day SELECT 'mail', current_date - days, 1 FROM generate_series(95, 105) days"
        )
    )
    await registry.database.transaction(forget_days)
    assert await registry.database.query(lambda tx: tx.fetchval("SELECT count(*) FROM status_day")) == 6


async def test_stack_health_names_nine_components_and_its_findings_are_for_administrators_of_the_platform(
    registry, administrator
):
    anyone = await registry.get("/stack-health")
    assert list(anyone.json()["components"]) == COMPONENTS
    assert all(set(one) == {"state"} for one in anyone.json()["components"].values())
    detailed = (await registry.get("/stack-health", headers=administrator.headers)).json()
    assert all(one["detail"] for one in detailed["components"].values())
    both = await registry.administrator("admin_platform", "admin_treasury")
    others = [
        (await registry.developer()).headers,
        (await registry.administrator("admin_treasury")).headers,
        (await both.api_key("admin:admin_treasury")).headers,
        {"Authorization": "Bearer nonsense"},
    ]
    for headers in others:
        answer = await registry.get("/stack-health", headers=headers)
        assert all(set(one) == {"state"} for one in answer.json()["components"].values())


async def test_stack_health_is_503_when_a_component_failed_and_200_with_a_warning(registry, monkeypatch):
    registry.runtime.jobs.failed("mail: send", ConnectionError("secret host"))
    answer = await registry.get("/stack-health")
    assert (answer.status_code, answer.json()["components"]["jobs"]["state"]) == (200, "degraded")
    registry.runtime.jobs.succeeded("mail: send")

    async def refuse(_: WriteProbe) -> None:
        raise Unavailable("The database does not accept writes at the moment.")

    monkeypatch.setattr(WriteProbe, "require", refuse)
    answer = await registry.get("/stack-health")
    assert (answer.status_code, answer.json()["state"]) == (503, "failed")


async def test_an_incident_is_public_from_its_opening_to_its_resolution(registry, administrator):
    answer = await opened(administrator)
    assert answer.status_code == 201, answer.text
    incident = answer.json()
    assert (incident["state"], incident["updates"], incident["components"]) == (
        "investigating",
        [],
        ["ledger"],
    )
    for state in ("identified", "monitoring", "resolved"):
        answer = await updated(administrator, incident["id"], state)
        assert (answer.status_code, answer.json()["state"]) == (201, state)
    listed = next(one for one in (await shown(registry))["incidents"] if one["id"] == incident["id"])
    assert [one["state"] for one in listed["updates"]] == ["resolved", "monitoring", "identified"]
    assert code_of(await updated(administrator, incident["id"], "monitoring")) == (409, "INCIDENT_RESOLVED")
    assert code_of(await updated(administrator, str(uuid4()), "resolved")) == (404, "INCIDENT_UNKNOWN")


async def test_an_update_that_is_sent_twice_under_its_key_is_stated_once(registry, administrator):
    headers = {**administrator.headers, "Idempotency-Key": uuid4().hex}
    first, again = [await registry.post("/admin/incidents", json=INCIDENT, headers=headers) for _ in range(2)]
    assert first.json()["id"] == again.json()["id"]
    incident_id = first.json()["id"]
    answers = await at_once(*(updated(administrator, incident_id, "resolved") for _ in range(5)))
    assert sorted(one.status_code for one in answers) == [201, 409, 409, 409, 409]


async def test_times_of_incidents_and_maintenances_that_contradict_each_other_are_refused(administrator):
    past, future, later = "2026-01-01T00:00:00Z", "2126-01-01T00:00:00Z", "2126-01-02T00:00:00Z"
    for members in (
        {"starts_at": future},
        {"ends_at": future},
        {"kind": "maintenance", "ends_at": past},
        {"kind": "maintenance", "starts_at": later, "ends_at": future},
    ):
        assert code_of(await opened(administrator, **members)) == (422, "INCIDENT_TIMES_INVALID")
    planned = await opened(administrator, kind="maintenance", starts_at=future, ends_at=later)
    assert planned.status_code == 201
    await updated(administrator, planned.json()["id"], "resolved")


async def test_texts_of_incidents_are_plain_and_without_secrets(registry, administrator):
    for text in ("\u202egnp.exe", "a\x00b", " "):
        assert (await opened(administrator, title=text)).status_code == 422
        assert (await opened(administrator, body=text)).status_code == 422
    secret = "hsk_" + "a1" * 20
    made = (await opened(administrator, body=f"Rotate {secret} <b>now</b>")).json()
    assert secret not in made["body"]
    page = (await registry.http.get("/status", headers={"Accept": "text/html"})).text
    assert secret not in page
    assert "&lt;b&gt;now&lt;/b&gt;" in page
    await updated(administrator, made["id"], "resolved")


async def test_only_an_administrator_of_the_platform_opens_incidents(registry):
    for caller, expected in (
        (await registry.developer(), 403),
        (await registry.administrator("admin_treasury"), 403),
    ):
        assert (await opened(caller)).status_code == expected
    assert (await registry.post("/admin/incidents", json=INCIDENT)).status_code == 401


async def test_the_feed_of_incidents_is_an_atom_document(registry, administrator):
    made = (await opened(administrator, title="A <title> & more")).json()
    await updated(administrator, made["id"], "resolved")
    answer = await registry.http.get("/status.atom")
    assert answer.headers["content-type"].startswith("application/atom+xml")
    feed = ET.fromstring(answer.text)
    atom = "{http://www.w3.org/2005/Atom}"
    entry = next(
        one for one in feed.findall(f"{atom}entry") if one.findtext(f"{atom}id") == f"urn:uuid:{made['id']}"
    )
    assert entry.findtext(f"{atom}title") == "A <title> & more"
    assert "It is resolved." in str(entry.findtext(f"{atom}content"))


async def test_administrators_open_and_update_an_incident_in_the_browser(registry, administrator):
    browser = await browser_of(registry, administrator)
    await browser.open(PAGE)
    page = await browser.send(PAGE, **INCIDENT | {"title": "From the page", "components": ["mail"]})
    assert "It is public." in page.text
    listed = next(one for one in (await shown(registry))["incidents"] if one["title"] == "From the page")
    assert listed["components"] == ["mail"]
    assert "From the page" in (await registry.http.get("/status", headers={"Accept": "text/html"})).text
    page = await browser.send(f"{PAGE}/{listed['id']}", state="resolved", body="Over.")
    assert "The update is public." in page.text
    page = await browser.send(PAGE, **INCIDENT | {"title": ""})
    assert page.status_code == 422


async def test_acts_on_incidents_are_in_the_audit_log(registry, administrator):
    made = (await opened(administrator)).json()
    await updated(administrator, made["id"], "resolved")
    acts = await registry.database.query(
        lambda tx: tx.fetch(
            "SELECT act FROM plumbing_admin_act WHERE subject = $1 ORDER BY id", f"incident:{made['id']}"
        )
    )
    assert [row["act"] for row in acts] == ["incident.open", "incident.update"]
