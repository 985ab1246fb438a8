"""Webhooks: an owner has an address notified of the events of their agents."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from hansa.doors.serving.serve import in_the_background
from hansa.foundation.values.errors import Unavailable
from hansa.rooms import agents, journal
from hansa.rooms.journal.store import COLUMNS, stored
from hansa.rooms.notifications import OWNER_NOTICES
from tests.founded import open_copy
from tests.hostile import closed_hosts
from tests.operation.registry_process import until
from tests.outside import host
from tests.registry import DatabaseFarm, TestDeveloper, TestRegistry, at_once
from tests.rooms.journal.reactors.reacting import reacting
from tests.rooms.notifications.webhooks.receiver import HOOKS, Hook, hook, receiving, registry_that_may_call

URL = "https://receiver.example.com/hook?room=1"
MEMBERS = {
    "id",
    "url",
    "event_types",
    "description",
    "is_active",
    "stopped_by",
    "stopped_at",
    "consecutive_failures",
    "created_at",
    "updated_at",
    "secret_version",
}


@pytest.fixture(scope="module")
async def registry(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[TestRegistry]:
    """One for all of them: each test has developers of its own."""
    async with open_copy(database_farm, tmp_path_factory.mktemp("data")) as opened:
        yield opened


def wanted(**more):
    return {"url": URL, "event_types": ["agent.onboarded", "agent.suspended"], **more}


async def create(owner: TestDeveloper, **more):
    return await owner.registry.post(HOOKS, json=wanted(**more), headers=owner.headers)


async def ask(owner: TestDeveloper, method: str, path: str, **request):
    return await owner.registry.http.request(
        method, f"/api/v1{HOOKS}{path}", headers=owner.headers, **request
    )


async def test_a_new_webhook_is_answered_with_its_secret_which_is_never_shown_again(registry: TestRegistry):
    owner = await registry.developer()
    answer = await create(owner, description="For the night shift")
    assert answer.status_code == 201
    made = answer.json()
    assert set(made) == {*MEMBERS, "secret"}
    assert made["secret"].startswith("whsec_")
    assert (made["url"], made["description"]) == (URL, "For the night shift")
    assert made["event_types"] == ["agent.onboarded", "agent.suspended"]
    assert (made["is_active"], made["stopped_by"], made["consecutive_failures"]) == (True, None, 0)
    read = await ask(owner, "GET", f"/{made['id']}")
    assert set(read.json()) == MEMBERS
    secret = made["secret"]
    for text in (
        read.text,
        (await ask(owner, "GET", "")).text,
        (await ask(owner, "PUT", f"/{made['id']}", json={})).text,
    ):
        assert secret not in text
    stored = await registry.database.query(
        lambda tx: tx.fetchval("SELECT w::text FROM notifications_webhook w WHERE id = $1", made["id"])
    )
    assert secret not in stored
    assert secret.encode().hex() not in stored


async def test_own_webhooks_are_listed_oldest_first_in_pages(registry: TestRegistry):
    owner, other = await registry.developer(), await registry.developer()
    ids = [(await create(owner)).json()["id"] for _ in range(3)]
    await create(other)
    page = (await ask(owner, "GET", "", params={"limit": 2})).json()
    assert [item["id"] for item in page["items"]] == ids[:2]
    assert page["pagination"] == {
        "total_items": 3,
        "limit": 2,
        "offset": 0,
        "total_pages": 2,
        "current_page": 1,
    }
    rest = (await ask(owner, "GET", "", params={"limit": 2, "offset": 2})).json()
    assert [item["id"] for item in rest["items"]] == ids[2:]


async def test_a_webhook_of_another_and_none_at_all_are_answered_alike(registry: TestRegistry):
    owner, other = await registry.developer(), await registry.developer()
    webhook_id = (await create(owner)).json()["id"]
    for method, path in (
        ("GET", ""),
        ("PUT", ""),
        ("DELETE", ""),
        ("POST", "/test"),
        ("POST", "/rotate-secret"),
        ("GET", "/deliveries"),
        ("POST", "/deliveries/msg_x/resend"),
    ):
        body = {"json": {}} if method == "PUT" else {}
        theirs = await ask(other, method, f"/{webhook_id}{path}", **body)
        absent = await ask(other, method, f"/whk_{'x' * 24}{path}", **body)
        assert (theirs.status_code, absent.status_code) == (404, 404)
        assert theirs.json()["error"] == absent.json()["error"]
    assert (await ask(owner, "GET", f"/{webhook_id}")).status_code == 200


@pytest.mark.parametrize(
    "bad",
    [
        {"url": None},
        {"url": ""},
        {"url": "https://" + "a" * 2100 + ".example.com"},
        {"event_types": []},
        {"event_types": ["agent.unheard"]},
        {"event_types": "agent.onboarded"},
        {"event_types": None},
        {"description": "x" * 201},
    ],
)
async def test_a_malformed_webhook_is_refused(registry: TestRegistry, bad):
    owner = await registry.developer()
    assert (await create(owner, **bad)).status_code == 422
    assert (await ask(owner, "GET", "")).json()["items"] == []


@pytest.mark.parametrize(
    "url",
    [
        "http://receiver.example.com/hook",
        "https://user:word@receiver.example.com/",
        "https://receiver.example.com/#x",
        "https://receiver.example.com:25/",
        "https://localhost/",
        "https://169.254.169.254/latest/meta-data",
        "https://intranet/",
        "ftp://receiver.example.com/",
    ],
)
async def test_an_address_that_would_never_be_called_is_refused_when_it_is_taken(
    registry: TestRegistry, url: str
):
    owner = await registry.developer()
    answer = await create(owner, url=url)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "INTERNAL_HOST")
    assert answer.json()["error"]["field"] == "url"
    webhook_id = (await create(owner)).json()["id"]
    changed = await ask(owner, "PUT", f"/{webhook_id}", json={"url": url})
    assert changed.status_code == 422
    assert (await ask(owner, "GET", f"/{webhook_id}")).json()["url"] == URL


async def test_no_spelling_of_an_inner_host_is_taken_or_connected_to(registry: TestRegistry):
    """R15 at this entry point: every host that must not be called, on a port where a trap listens."""
    owner = await registry.developer()
    async with host(address=None) as trap:
        for url in closed_hosts.urls(trap.port):
            answer = await create(owner, url=url)
            assert answer.status_code == 422, url
        assert trap.connections == 0


async def test_a_developer_has_twenty_webhooks_however_many_are_made_at_once(registry: TestRegistry):
    owner = await registry.developer()
    answers = await at_once(*(create(owner) for _ in range(26)))
    assert sorted(answer.status_code for answer in answers) == [201] * 20 + [409] * 6
    assert (await create(owner)).json()["error"]["code"] == "TOO_MANY_WEBHOOKS"
    first = (await ask(owner, "GET", "")).json()["items"][0]["id"]
    assert (await ask(owner, "DELETE", f"/{first}")).json() == {"id": first, "is_deleted": True}
    assert (await ask(owner, "GET", f"/{first}")).status_code == 404
    assert (await create(owner)).status_code == 201


async def test_a_put_changes_what_it_names_and_sets_the_webhook_going(registry: TestRegistry):
    owner = await registry.developer()
    made = (await create(owner, description="old")).json()
    path = f"/{made['id']}"
    stopped = (await ask(owner, "PUT", path, json={"is_active": False})).json()
    assert (stopped["is_active"], stopped["stopped_by"]) == (False, "owner")
    assert stopped["stopped_at"] is not None
    assert stopped["event_types"] == made["event_types"]
    changed = (await ask(owner, "PUT", path, json={"event_types": ["*", "*"], "description": None})).json()
    assert (changed["is_active"], changed["stopped_by"], changed["stopped_at"]) == (True, None, None)
    assert (changed["event_types"], changed["description"], changed["url"]) == (["*"], None, URL)


async def test_nothing_is_sent_to_a_stopped_webhook_on_request(registry: TestRegistry):
    owner = await registry.developer()
    path = f"/{(await create(owner)).json()['id']}"
    delivery = (await ask(owner, "POST", f"{path}/test")).json()
    await ask(owner, "PUT", path, json={"is_active": False})
    for refused in ("/test", f"/deliveries/{delivery['id']}/resend"):
        answer = await ask(owner, "POST", path + refused)
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "WEBHOOK_STOPPED")


async def test_only_a_delivery_of_that_webhook_is_sent_again(registry: TestRegistry):
    owner = await registry.developer()
    one, other = [(await create(owner)).json()["id"] for _ in range(2)]
    delivery = (await ask(owner, "POST", f"/{one}/test")).json()
    answer = await ask(owner, "POST", f"/{other}/deliveries/{delivery['id']}/resend")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "DELIVERY_UNKNOWN")


async def test_deliveries_are_listed_newest_first_in_pages_and_by_status(registry: TestRegistry):
    owner = await registry.developer()
    path = f"/{(await create(owner)).json()['id']}"
    sent = [(await ask(owner, "POST", f"{path}/test")).json()["id"] for _ in range(3)]
    page = (await ask(owner, "GET", f"{path}/deliveries", params={"limit": 2})).json()
    assert [item["id"] for item in page["items"]] == sent[:0:-1]
    assert page["pagination"]["total_items"] == 3
    assert page["items"][0]["status"] == "pending"
    none = (await ask(owner, "GET", f"{path}/deliveries", params={"status": "failed"})).json()
    assert none["items"] == []
    assert (await ask(owner, "GET", f"{path}/deliveries", params={"status": "lost"})).status_code == 422


async def test_more_than_thirty_deliveries_a_minute_are_not_sent_on_request(registry: TestRegistry):
    owner = await registry.developer()
    path = f"/{(await create(owner)).json()['id']}/test"
    answers = [await ask(owner, "POST", path) for _ in range(31)]
    assert [answer.status_code for answer in answers] == [200] * 30 + [429]
    assert int(answers[-1].headers["Retry-After"]) >= 1


async def test_a_key_of_another_scope_manages_no_webhooks(registry: TestRegistry):
    owner = await registry.developer()
    for scopes, status in ((["webhooks:manage"], 200), (["profile:read"], 403)):
        made = await registry.post(
            "/auth/api-keys", json={"key_name": "hooks", "scopes": scopes}, headers=owner.headers
        )
        headers = {"Authorization": f"Bearer {made.json()['plain_api_key']}"}
        assert (await registry.get(HOOKS, headers=headers)).status_code == status


async def test_an_owner_is_notified_of_a_new_agent_and_of_its_end(start_registry):
    async with receiving() as receiver:
        registry = await registry_that_may_call(start_registry, receiver)
        owner, other = await registry.developer(), await registry.developer()
        hooked = await hook(owner, receiver.url, "agent.onboarded", "agent.revoked")
        stranger = await hook(other, receiver.url)
        async with in_the_background(registry.runtime):
            agent = await owner.agent()
            await until(lambda: len(receiver.received) == 1)
            await registry.database.transaction(lambda tx: agents.revoke(tx, agent.did, by="administrator"))
            await until(lambda: len(receiver.received) == 2)
    assert all(got.is_signed_with(hooked.secret) for got in receiver.received)
    assert [
        (delivered["type"], delivered["data"]) for delivered in (got.message for got in receiver.received)
    ] == [
        (
            "agent.onboarded",
            {
                "did": agent.did,
                "card_id": agent.created["agent_card_id"],
                "first_agent": True,
                "initial_funding_status": "completed",
            },
        ),
        ("agent.revoked", {"did": agent.did, "by": "administrator"}),
    ]
    assert await stranger.deliveries() == []


async def test_an_owner_is_notified_of_suspensions_and_their_end(start_registry):
    async with receiving() as receiver:
        registry = await registry_that_may_call(start_registry, receiver)
        owner, administrator = await registry.developer(), await registry.administrator("admin_enforcement")
        agent = await owner.agent()
        profile = await registry.get("/auth/profile", headers=owner.headers)
        subjects = ("agent.suspended", "agent.reinstated", "developer.suspended", "developer.reinstated")
        await hook(owner, receiver.url, *subjects)
        secret = "Between us"
        async with in_the_background(registry.runtime):
            for path, body in (
                ("agents/bulk/suspend", {"agent_dids": [agent.did], "soft_suspend": True}),
                ("agents/bulk/reinstate", {"agent_dids": [agent.did], "soft_reinstate": True}),
                (f"developers/{profile.json()['id']}/suspend", {}),
                (f"developers/{profile.json()['id']}/reinstate", {}),
            ):
                answer = await registry.post(
                    f"/admin/{path}", json={**body, "reason": secret}, headers=administrator.headers
                )
                assert answer.status_code == 200, answer.text
            await until(lambda: len(receiver.received) == 6)
    assert sorted(receiver.types) == [
        "agent.reinstated",
        "agent.reinstated",
        "agent.suspended",
        "agent.suspended",
        "developer.reinstated",
        "developer.suspended",
    ]
    assert all(secret not in got.body.decode() for got in receiver.received)
    soft = {got.message["data"].get("soft") for got in receiver.received if "agent.s" in got.message["type"]}
    assert soft == {True, False}


async def test_an_event_that_is_reacted_to_twice_is_sent_once_for_each_commit(registry: TestRegistry):
    owner = await registry.developer()
    hooked = await hook(owner, URL)
    await owner.agent()
    event = await registry.database.query(newest_onboarding)

    async def react_and_fail(tx) -> None:
        await OWNER_NOTICES.react(tx, event)
        raise ConnectionError

    with pytest.raises(Unavailable):
        await registry.database.transaction(react_and_fail)
    await registry.database.transaction(lambda tx: OWNER_NOTICES.react(tx, event))
    assert [shown["event_type"] for shown in await hooked.deliveries()] == ["agent.onboarded"]


async def newest_onboarding(tx) -> journal.StoredEvent:
    (event,) = stored(
        await tx.fetch(
            f"SELECT {COLUMNS} FROM journal_event WHERE event_type = 'AgentOnboarded'"
            " ORDER BY seq DESC LIMIT 1"
        )
    )
    return event


async def deliveries_to(registry: TestRegistry, hooks: list[Hook]) -> list[dict[str, Any]]:
    """The one delivery to each webhook, once all are there."""
    found = []
    async with reacting(registry.database, OWNER_NOTICES):
        for hooked in hooks:
            async with asyncio.timeout(20):
                while not (shown := await hooked.deliveries()):  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
            (delivery,) = shown
            found.append(delivery)
    return found


async def test_a_settled_payment_is_sent_to_the_owners_of_caller_and_payee(registry: TestRegistry):
    owners = [await registry.developer() for _ in range(2)]
    hooks = [await hook(owner, URL, "payment.settled") for owner in owners]
    caller, payee = [await owner.agent() for owner in owners]
    asked = {"target_agent_did": payee.did, "amount": "5"}
    authorized = await registry.post("/a2a-payment/authorize", json=asked, headers=caller.headers)
    assert authorized.status_code == 200, authorized.text
    body = {"token": authorized.json()["token"], "task_id": "task 7"}
    settled = await registry.post(
        "/a2a-payment/settle", json=body, headers={**caller.headers, "Prefer": "wait=10"}
    )
    assert settled.json()["status"] == "settled", settled.text
    for delivery in await deliveries_to(registry, hooks):
        assert delivery["event_type"] == "payment.settled"
        assert delivery["payload"]["data"] == {**settled.json(), "task_id": "task 7"}


async def test_a_failed_settlement_is_sent_to_both_owners_with_its_reason(registry: TestRegistry):
    owners = [await registry.developer() for _ in range(2)]
    hooks = [await hook(owner, URL, "payment.settlement_failed") for owner in owners]
    caller, payee = [await owner.agent() for owner in owners]
    asked = {"target_agent_did": payee.did, "amount": "60"}
    authorized = await registry.post("/a2a-payment/authorize", json=asked, headers=caller.headers)
    assert (await caller.transfer(payee, "60")).status_code == 200
    failed = await registry.post(
        "/a2a-payment/settle",
        json={"token": authorized.json()["token"], "task_id": "task 8"},
        headers={**caller.headers, "Prefer": "wait=10"},
    )
    assert failed.json()["reason"] == "insufficient_balance", failed.text
    for delivery in await deliveries_to(registry, hooks):
        assert delivery["event_type"] == "payment.settlement_failed"
        assert delivery["payload"]["data"] == {**failed.json(), "task_id": "task 8"}


async def test_a_capture_in_part_that_fails_is_sent_with_the_amount_of_the_answer(registry: TestRegistry):
    owner = await registry.developer()
    hooks = [await hook(owner, URL, "payment.settlement_failed")]
    caller, payee = await registry.agent(), await owner.agent()
    asked = {"target_agent_did": payee.did, "amount": "60", "capture_by": "payee"}
    authorized = await registry.post("/a2a-payment/authorize", json=asked, headers=caller.headers)
    enforcing = await registry.administrator("admin_enforcement")
    suspended = {"agent_dids": [caller.did], "reason": "test"}
    await registry.post("/admin/agents/bulk/suspend", json=suspended, headers=enforcing.headers)
    failed = await registry.post(
        "/a2a-payment/settle",
        json={"token": authorized.json()["token"], "capture_amount": "20"},
        headers={**payee.headers, "Prefer": "wait=10"},
    )
    assert (failed.json()["reason"], failed.json()["amount"]) == ("party_suspended", "20"), failed.text
    (delivery,) = await deliveries_to(registry, hooks)
    assert delivery["payload"]["data"] == {**failed.json(), "task_id": None}
