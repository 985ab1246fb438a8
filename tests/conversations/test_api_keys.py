"""API keys: made once shown once, accepted wherever a developer token is, as far as their scopes reach."""

import asyncio
from datetime import datetime, timedelta

import httpx2
import pytest

from hansa.doors.http.app import build_app
from hansa.foundation.values.scopes import SCOPES
from hansa.rooms.people.api_keys.rules import KEYS_PER_ACCOUNT
from tests.registry import StartRegistry, TestDeveloper, TestRegistry, another_process, at_once

KEYS = "/auth/api-keys"
INFO = {
    *("id", "key_prefix", "description", "is_active", "created_at", "last_used_at", "scopes", "expires_at"),
}


@pytest.fixture
async def developer(registry: TestRegistry) -> TestDeveloper:
    return await registry.developer()


async def make(who: TestDeveloper, body: object) -> httpx2.Response:
    return await who.registry.post(KEYS, json=body, headers=who.headers)


async def made(who: TestDeveloper, body: object) -> dict:
    answer = await make(who, body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def refused(who: TestDeveloper, body: object) -> tuple[int, str]:
    answer = await make(who, body)
    return answer.status_code, answer.json()["error"]["code"]


async def keys_of(who: TestDeveloper) -> list[dict]:
    answer = await who.registry.get(KEYS, headers=who.headers)
    assert answer.status_code == 200, answer.text
    return answer.json()["items"]


async def revoke(who: TestDeveloper, key_id: int) -> httpx2.Response:
    return await who.registry.http.delete(f"/api/v1{KEYS}/{key_id}", headers=who.headers)


async def profile(registry: TestRegistry, key: str) -> int:
    return (await registry.get("/auth/profile", headers={"Authorization": f"Bearer {key}"})).status_code


async def change(registry: TestRegistry, statement: str) -> None:
    await registry.database.transaction(lambda tx: tx.execute(statement))


def days_of(info: dict) -> timedelta:
    return datetime.fromisoformat(info["expires_at"]) - datetime.fromisoformat(info["created_at"])


async def test_a_key_is_made_from_a_name_with_every_scope_for_a_year(developer: TestDeveloper):
    for body in ({"key_name": "Deploy"}, "Deploy"):
        answer = await made(developer, body)
        assert answer.keys() == {"plain_api_key", "api_key_info"}
        info = answer["api_key_info"]
        assert info.keys() == INFO
        assert (info["description"], info["scopes"], info["is_active"]) == ("Deploy", ["*"], True)
        assert (info["last_used_at"], days_of(info)) == (None, timedelta(days=365))
        assert answer["plain_api_key"].startswith("avreg_")
        assert answer["plain_api_key"].startswith(info["key_prefix"])


async def test_the_registry_sets_how_long_a_key_lasts_whose_maker_does_not_say(start_registry: StartRegistry):
    for days, lasts in ((7, timedelta(days=7)), (0, None)):
        developer = await (await start_registry(api_key_default_ttl_days=days)).developer()
        info = (await made(developer, "Deploy"))["api_key_info"]
        assert (days_of(info) if info["expires_at"] else None) == lasts


async def test_the_maker_says_how_long_a_key_lasts_and_zero_is_for_good(developer: TestDeveloper):
    for days in (1, 30, 3650):
        info = (await made(developer, {"key_name": "K", "expires_in_days": days}))["api_key_info"]
        assert days_of(info) == timedelta(days=days)
    assert (await made(developer, {"key_name": "K", "expires_in_days": 0}))["api_key_info"][
        "expires_at"
    ] is None


async def test_a_key_that_makes_no_sense_is_not_made(developer: TestDeveloper):
    for body in (
        *({"key_name": "K", "expires_in_days": days} for days in (-1, 3651, 10**9, 10**20, "7", 1.5, True)),
        *({"key_name": "K", "scopes": scopes} for scopes in ([], ["keys:everything"], ["*", "x"], "*", [1])),
        *({"key_name": name} for name in ("", "  ", "k" * 101, None, 5)),
        *({}, "", "   ", 5, None, ["K"]),
    ):
        assert (await make(developer, body)).status_code == 422, body
    assert await keys_of(developer) == []


async def test_a_key_does_what_a_developer_token_does(registry: TestRegistry, developer: TestDeveloper):
    by_key = await developer.api_key()
    agent = await by_key.agent()
    assert (await registry.get(f"/agents/{agent.did}/authz", headers=by_key.headers)).status_code == 200
    owned = await registry.get("/agent-cards/", params={"owned_only": "true"}, headers=by_key.headers)
    assert [card["did"] for card in owned.json()["items"]] == [agent.did]
    mine = await registry.get("/auth/profile", headers=by_key.headers)
    assert mine.json()["email"] == developer.email


async def test_a_key_does_not_pass_for_an_agent(registry: TestRegistry, developer: TestDeveloper):
    by_key = await developer.api_key()
    assert (await registry.get("/teg/balance", headers=by_key.headers)).status_code == 401


async def test_a_key_is_known_by_its_beginning_and_shown_whole_only_once(
    registry: TestRegistry, developer: TestDeveloper
):
    plain = (await made(developer, "Deploy"))["plain_api_key"]
    listed = await registry.get(KEYS, headers=developer.headers)
    assert plain not in listed.text
    (info,) = listed.json()["items"]
    assert info.keys() == INFO
    assert plain.startswith(info["key_prefix"])
    assert len(info["key_prefix"]) < 16


async def test_own_keys_are_listed_newest_first_in_pages(registry: TestRegistry, developer: TestDeveloper):
    for name in ("one", "two", "three"):
        await made(developer, name)
    await made(await registry.developer(), "another's")
    assert [key["description"] for key in await keys_of(developer)] == ["three", "two", "one"]
    answer = await registry.get(KEYS, params={"limit": 1, "offset": 1}, headers=developer.headers)
    assert [key["description"] for key in answer.json()["items"]] == ["two"]
    assert answer.json()["pagination"]["total_items"] == 3


async def test_a_revoked_key_opens_nothing_from_the_next_request_on_in_every_process(
    registry: TestRegistry, developer: TestDeveloper
):
    answer = await made(developer, "Deploy")
    key, info = answer["plain_api_key"], answer["api_key_info"]
    other_process = httpx2.ASGITransport(app=build_app(another_process(registry.runtime)))
    async with httpx2.AsyncClient(transport=other_process, base_url="http://registry.test/api/v1") as http:
        headers = {"Authorization": f"Bearer {key}"}
        assert (await http.get("/auth/profile", headers=headers)).status_code == 200
        revoked = await revoke(developer, info["id"])
        assert (revoked.status_code, revoked.json()["is_active"]) == (200, False)
        assert (await http.get("/auth/profile", headers=headers)).status_code == 401
    assert await profile(registry, key) == 401
    assert [shown["is_active"] for shown in await keys_of(developer)] == [False]


async def test_a_key_ends_by_the_databases_clock(registry: TestRegistry, developer: TestDeveloper):
    key = (await made(developer, {"key_name": "K", "expires_in_days": 1}))["plain_api_key"]
    for shift, status in (("23 hours 59 minutes", 200), ("1 minute", 401)):
        await change(
            registry,
            f"UPDATE people_api_key SET created_at = created_at - interval '{shift}',"
            f" expires_at = expires_at - interval '{shift}'",
        )
        assert await profile(registry, key) == status
    assert [shown["is_active"] for shown in await keys_of(developer)] == [False]


async def test_what_only_resembles_a_key_opens_nothing(registry: TestRegistry, developer: TestDeveloper):
    key = (await made(developer, "Deploy"))["plain_api_key"]
    assert await profile(registry, key) == 200
    for other in (key[:-1], key + "0", key.upper(), key + "é", "avreg_", "avreg_" + "0" * 500):
        headers = [(b"authorization", f"Bearer {other}".encode())]
        assert (await registry.get("/auth/profile", headers=headers)).status_code == 401


async def test_a_key_says_when_it_was_last_used_to_the_minute(
    registry: TestRegistry, developer: TestDeveloper
):
    key = (await made(developer, "Deploy"))["plain_api_key"]
    assert [shown["last_used_at"] for shown in await keys_of(developer)] == [None]
    assert await profile(registry, key) == 200
    (first,) = [shown["last_used_at"] for shown in await keys_of(developer)]
    assert first is not None
    assert await profile(registry, key) == 200
    assert [shown["last_used_at"] for shown in await keys_of(developer)] == [first]
    await change(registry, "UPDATE people_api_key SET last_used_at = last_used_at - interval '61 seconds'")
    assert await profile(registry, key) == 200
    (later,) = [shown["last_used_at"] for shown in await keys_of(developer)]
    assert later > first


async def test_another_developers_key_can_no_more_be_revoked_than_one_that_is_not_there(
    registry: TestRegistry, developer: TestDeveloper
):
    theirs = (await made(await registry.developer(), "Theirs"))["api_key_info"]["id"]
    mine = (await made(developer, "Mine"))["api_key_info"]["id"]
    assert (await revoke(developer, mine)).status_code == 200
    answers = [await revoke(developer, key_id) for key_id in (theirs, mine, 10**9, 2**63 - 1)]
    bodies = [{**answer.json(), "instance": None} for answer in answers]
    assert [answer.status_code for answer in answers] == [404] * 4
    assert all(body == bodies[0] for body in bodies)
    assert bodies[0]["error"]["code"] == "API_KEY_UNKNOWN"
    for bad in (0, -1, 2**63, "x"):
        assert (await revoke(developer, bad)).status_code == 422


async def test_a_narrow_key_reaches_as_far_as_its_scopes(registry: TestRegistry, developer: TestDeveloper):
    agent = await developer.agent()
    asked = {
        "profile:read": ("GET", "/auth/profile", None),
        "keys:read": ("GET", KEYS, None),
        "keys:manage": ("DELETE", f"{KEYS}/{10**9}", None),
        "agents:read": ("GET", f"/agents/{agent.did}/authz", None),
        "agents:write": ("PUT", f"/agents/{agent.did}/authz", {}),
        "agents:secrets": ("POST", f"/agents/{agent.did}/authz/roles", {"role": "staker"}),
        "agents:create": ("POST", "/onboard/bootstrap/request-token", {}),
        "cards:read": ("GET", "/agent-cards/?owned_only=true", None),
        "*": ("POST", "/ws/ticket", None),
    }
    also = {
        "keys:manage": {"keys:read"},
        "agents:write": {"agents:read"},
        "agents:secrets": {"agents:read", "agents:write"},
    }
    for scope in asked:
        by_key = await developer.api_key(scope)
        for needed, (method, path, body) in asked.items():
            answer = await registry.http.request(method, f"/api/v1{path}", json=body, headers=by_key.headers)
            if needed in {scope, *also.get(scope, ())} or scope == "*":
                assert answer.status_code in (200, 404), (scope, needed, answer.text)
            else:
                assert answer.status_code == 403, (scope, needed, answer.text)
                assert answer.json()["error"]["code"] == "SCOPE_MISSING"
                assert answer.json()["error"]["context"] == {"scope": needed}


async def test_a_route_that_names_no_scope_is_closed_to_narrow_keys(
    registry: TestRegistry, developer: TestDeveloper
):
    every_other = [scope for scope in SCOPES if scope != "*" and not scope.startswith("admin:")]
    narrow = await developer.api_key(*every_other)
    assert (await registry.post("/auth/logout", headers=narrow.headers)).status_code == 403
    assert await profile(registry, developer.token) == 200


async def test_a_narrow_key_makes_keys_only_when_it_manages_keys_and_never_a_broader_one(
    developer: TestDeveloper,
):
    assert await refused(
        await developer.api_key("agents:read"), {"key_name": "K", "scopes": ["agents:read"]}
    ) == (*(403, "SCOPE_MISSING"),)
    manager = await developer.api_key("keys:manage", "agents:write")
    for scopes in (["keys:manage"], ["agents:read"], ["agents:write", "keys:read"]):
        info = (await made(manager, {"key_name": "K", "scopes": scopes}))["api_key_info"]
        assert set(info["scopes"]) == set(scopes)
    before = len(await keys_of(developer))
    for scopes in (["*"], None, ["agents:create"], ["agents:read", "profile:read"], ["admin:admin_support"]):
        assert await refused(manager, {"key_name": "K", "scopes": scopes}) == (403, "SCOPE_BROADER")
    assert await refused(manager, "K") == (403, "SCOPE_BROADER")
    assert len(await keys_of(developer)) == before


async def test_nobody_makes_a_key_for_an_area_that_they_do_not_administer(registry: TestRegistry):
    admin = await registry.administrator("admin_support")
    assert (await made(admin, {"key_name": "K", "scopes": ["admin:admin_support"]}))["api_key_info"]
    for who, area in ((admin, "admin_treasury"), (await registry.developer(), "admin_support")):
        body = {"key_name": "K", "scopes": [f"admin:{area}", "agents:read"]}
        answer = await make(who, body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "SCOPE_BROADER")
        assert answer.json()["error"]["context"] == {"scopes": [f"admin:{area}"]}


async def test_an_administrators_key_opens_an_area_with_its_scope_and_while_they_administer_it(
    registry: TestRegistry,
):
    admin = await registry.administrator("admin_platform", "admin_support")
    policies = "/admin/event-emission-policies"
    for scopes, status in (
        (["admin:admin_platform"], 200),
        ([], 200),
        (["admin:admin_support"], 403),
        (["agents:write"], 403),
    ):
        by_key = await admin.api_key(*scopes)
        assert (await registry.get(policies, headers=by_key.headers)).status_code == status
    everything = await admin.api_key()
    await change(registry, "UPDATE people_developer SET areas = '{admin_support}'")
    assert (await registry.get(policies, headers=everything.headers)).status_code == 403


async def test_logging_out_leaves_keys_alone(registry: TestRegistry, developer: TestDeveloper):
    by_key = await developer.api_key()
    assert (await registry.post("/auth/logout", headers=developer.headers)).status_code == 200
    assert await profile(registry, developer.token) == 401
    assert await profile(registry, by_key.token) == 200


async def test_an_account_has_at_most_twenty_active_keys_however_many_are_asked_for_at_once(
    registry: TestRegistry, developer: TestDeveloper
):
    for _ in range(KEYS_PER_ACCOUNT - 2):
        await made(developer, "K")
    answers = await at_once(*(make(developer, "K") for _ in range(6)))
    assert sorted(answer.status_code for answer in answers) == [200, 200, 409, 409, 409, 409]
    limited = next(answer for answer in answers if answer.status_code == 409)
    assert limited.json()["error"]["code"] == "API_KEY_LIMIT"
    active = [key for key in await keys_of(developer) if key["is_active"]]
    assert len(active) == KEYS_PER_ACCOUNT
    assert (await revoke(developer, active[0]["id"])).status_code == 200
    await made(developer, "K")
    assert await refused(developer, "K") == (409, "API_KEY_LIMIT")
    assert (await make(await registry.developer(), "K")).status_code == 200


async def test_many_requests_at_once_with_one_key_are_all_answered(
    registry: TestRegistry, developer: TestDeveloper
):
    key = (await made(developer, "Busy"))["plain_api_key"]
    statuses = await asyncio.gather(*(profile(registry, key) for _ in range(50)))
    assert statuses == [200] * 50


async def test_a_ticket_asked_for_with_a_key_opens_the_live_feed_until_the_key_is_revoked(
    registry: TestRegistry, developer: TestDeveloper
):
    from websockets.asyncio.client import connect
    from websockets.exceptions import InvalidStatus

    answer = await made(developer, "Feed")
    by_key = {"Authorization": f"Bearer {answer['plain_api_key']}"}
    tickets = [(await registry.post("/ws/ticket", headers=by_key)).json()["ticket"] for _ in range(2)]
    async with registry.listening() as address:
        async with connect(f"ws://{address}/ws/events?token={tickets[0]}") as socket:
            assert "welcome" in await socket.recv()
        assert (await revoke(developer, answer["api_key_info"]["id"])).status_code == 200
        with pytest.raises(InvalidStatus) as refusal:
            async with connect(f"ws://{address}/ws/events?token={tickets[1]}"):
                pass
        assert refusal.value.response.status_code == 401
