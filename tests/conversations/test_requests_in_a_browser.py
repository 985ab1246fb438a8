"""Last API calls of a person: their readers, the values that are never stored, and the limit of a thousand."""

from time import time

import pytest

from hansa.foundation.plumbing.telemetry.request_log import RequestLine
from hansa.rooms import people
from hansa.rooms.people.calls.batch import CALLS_AT_ONCE, CALLS_KEPT, Call, CallBatch
from hansa.rooms.people.deletion.store import erase_person
from hansa.rooms.people.expiry import forget_ended
from tests.browsing import BrowserOf, browser_of
from tests.registry import TestRegistry, at_once


def call(number: int) -> Call:
    at, route = time() + number / 1000, "/api/v1/agents"
    return Call(None, RequestLine(at, "GET", route.encode(), route, 200, 0.001, b"call-%d" % number), None)


async def note(registry: TestRegistry, developer_id: int, numbers: range) -> None:
    for number in numbers:
        people.CALLS.of(registry.runtime).note(developer_id, call(number))
    await people.write_calls(registry.runtime)


async def kept(registry: TestRegistry) -> list[str]:
    """Return the ids of the stored requests, in the order of writing."""
    rows = await registry.database.read(
        lambda tx: tx.fetch("SELECT request_id FROM people_call ORDER BY number")
    )
    return [row["request_id"] for row in rows]


async def id_of(registry: TestRegistry, email: str) -> int:
    return await registry.database.read(
        lambda tx: tx.fetchval("SELECT id FROM people_developer WHERE email = $1", email)
    )


async def test_calls_of_a_person_and_of_an_agent_are_listed_with_their_outcome(registry):
    developer = await registry.developer()
    agent, payee = [await developer.agent(name=name) for name in ("Payer", "Payee")]
    body = {"receiver_agent_id": payee.did, "amount": "1", "message": "not to be kept"}
    key = {"Idempotency-Key": "my-key-1", "X-Request-ID": "my-request-1"}
    paid = await registry.post("/teg/transfer", json=body, headers={**agent.headers, **key})
    assert paid.status_code == 200, paid.text
    await registry.get("/agents/did:hansa:nobody/authz", headers=developer.headers)
    browser = await browser_of(registry, developer)
    await browser.open("/account/requests")
    shown = browser.text
    assert shown.index("GET /api/v1/agents/{did}/authz") < shown.index("POST /api/v1/teg/transfer")
    for part in ("my-key-1", "my-request-1", agent.did, ">404<", ">200<"):
        assert part in shown
    assert "not to be kept" not in shown
    assert payee.did not in shown
    assert developer.token not in shown


async def test_calls_of_others_and_with_a_wrong_credential_are_not_listed(registry):
    other = await registry.developer()
    headers = {**other.headers, "X-Request-ID": "of-another"}
    assert (await registry.get("/auth/profile", headers=headers)).status_code == 200
    wrong = {"Authorization": "Bearer wrong", "X-Request-ID": "of-nobody"}
    assert (await registry.get("/auth/profile", headers=wrong)).status_code == 401
    browser = await browser_of(registry)
    await browser.open("/account/requests")
    assert "of-another" not in browser.text
    await people.write_calls(registry.runtime)
    assert "of-nobody" not in await kept(registry)


async def test_a_call_that_an_api_key_may_not_make_is_listed_as_refused(registry):
    developer = await registry.developer()
    narrow = await developer.api_key("profile:read")
    assert (await registry.get("/agents", headers=narrow.headers)).status_code == 403
    browser = await browser_of(registry, developer)
    await browser.open("/account/requests")
    assert "GET /api/v1/agents</code>" in browser.text
    assert ">403<" in browser.text


async def test_the_newest_thousand_calls_of_each_developer_are_kept(registry):
    heavy, light = [await id_of(registry, (await registry.developer()).email) for _ in range(2)]
    await people.write_calls(registry.runtime)
    await registry.database.transaction(lambda tx: tx.execute("DELETE FROM people_call"))
    await note(registry, light, range(9000, 9003))
    await note(registry, heavy, range(700))
    await note(registry, heavy, range(700, 2000))
    assert await kept(registry) == [f"call-{n}" for n in (9000, 9001, 9002, *range(1000, 2000))]


async def test_processes_that_write_at_once_keep_a_thousand(registry):
    developer_id = await id_of(registry, (await registry.developer()).email)
    await people.write_calls(registry.runtime)
    await at_once(*(note(registry, developer_id, range(n, n + 600)) for n in (0, 1000, 2000, 3000)))
    await note(registry, developer_id, range(1))
    assert len(await kept(registry)) == CALLS_KEPT


async def test_pages_of_calls_lead_to_older_ones(registry):
    developer = await registry.developer()
    await note(registry, await id_of(registry, developer.email), range(150))
    browser = await browser_of(registry, developer)
    await browser.open("/account/requests")
    assert "call-149" in browser.text
    assert "call-10<" not in browser.text
    await browser.open("/account/requests?page=2")
    assert "call-10<" in browser.text
    await browser.open("/account/requests?page=1000")
    assert "No calls yet." in browser.text


async def test_the_calls_go_with_the_account(registry):
    developer = await registry.developer()
    developer_id = await id_of(registry, developer.email)
    await note(registry, developer_id, range(3))
    close = "UPDATE people_developer SET closed_at = now() WHERE id = $1"
    await registry.database.transaction(lambda tx: tx.execute(close, developer_id))
    before = await kept(registry)
    await note(registry, developer_id, range(5, 8))
    assert await kept(registry) == before
    await registry.database.transaction(lambda tx: erase_person(tx, developer_id))
    assert await kept(registry) == []


async def test_calls_of_long_ago_are_forgotten(registry):
    developer_id = await id_of(registry, (await registry.developer()).email)
    await note(registry, developer_id, range(3))
    age = "UPDATE people_call SET called_at = called_at - interval '31 days' WHERE request_id = 'call-1'"
    await registry.database.transaction(lambda tx: tx.execute(age))
    await registry.database.transaction(forget_ended)
    assert [one for one in await kept(registry) if one.startswith("call-")] == ["call-0", "call-2"]


@pytest.mark.parametrize("key", ["é", "a b", "x" * 256, "<script>alert(1)</script>"])
async def test_an_odd_idempotency_key_breaks_no_page(registry, key):
    developer = await registry.developer()
    headers = [*developer.headers.items(), ("Idempotency-Key", key.encode())]
    await registry.http.get("/api/v1/auth/profile", headers=headers)
    browser = await browser_of(registry, developer)
    assert (await browser.open("/account/requests")).status_code == 200
    assert "<script>" not in browser.text


async def test_who_is_not_logged_in_sees_no_calls(registry):
    browser = BrowserOf(registry)
    await browser.open("/account/requests")
    assert browser.page.url.path == "/login"


def test_a_batch_is_bounded_and_one_developer_takes_no_more_than_a_thousand_of_it():
    batch = CallBatch()
    for number in range(3 * CALLS_AT_ONCE):
        batch.note(1, call(number))
    for developer_id in range(2, 3 * CALLS_AT_ONCE):
        batch.note(developer_id, call(0))
    taken = batch.take()
    assert len(taken[1]) == CALLS_KEPT
    assert taken[1][-1].line.request_id == b"call-%d" % (3 * CALLS_AT_ONCE - 1)
    assert sum(map(len, taken.values())) == CALLS_AT_ONCE
    assert batch.take() == {}


async def test_calls_are_filtered_by_outcome_and_by_a_part_of_the_route(registry):
    developer = await registry.developer()
    await registry.get("/agents", headers=developer.headers)
    await registry.get("/agents/did:hansa:nobody/authz", headers=developer.headers)
    browser = await browser_of(registry, developer)
    expected = {
        "outcome=2": (True, False),
        "outcome=4": (False, True),
        "route=AUTHZ": (False, True),
        "outcome=2&route=authz": (False, False),
        "route=%25": (False, False),
    }
    for filters, shown in expected.items():
        page = (await browser.open(f"/account/requests?{filters}")).text
        found = ("GET /api/v1/agents</code>" in page, "GET /api/v1/agents/{did}/authz</code>" in page)
        assert (filters, found) == (filters, shown)
    assert (await browser.open("/account/requests?outcome=9")).status_code == 422
