"""Codes and tokens of a connection: each good once, bound to its client, and ended by their second use."""

import asyncio
from datetime import timedelta

import httpx2
import pytest

from hansa.foundation.values.secrets import fingerprint
from hansa.rooms import agents, people
from hansa.rooms.journal.reactors import reactor_jobs
from hansa.rooms.notifications import OWNER_NOTICES
from hansa.rooms.people.oauth import CONNECTIONS_FOLLOW, CONNECTIONS_OF_AGENTS, end_past_grants
from tests.browsing import BrowserOf
from tests.connections import ConnectedClient, client_of, connect, pkce, register
from tests.registry import PASSWORD, TestRegistry, at_once
from tests.rooms.journal.reactors.reacting import reacting
from tests.rooms.notifications.webhooks.receiver import hook
from tests.running_jobs import run_due, run_scheduled_transactions


async def code(client: ConnectedClient, **parameters: str | None) -> str:
    await client.ask(**parameters)
    return (await client.allow())["code"]


async def execute(registry: TestRegistry, statement: str, *values: object) -> None:
    await registry.database.transaction(lambda tx: tx.execute(statement, *values))


async def ended_because(client: ConnectedClient) -> list[str | None]:
    rows = await client.registry.database.read(
        lambda tx: tx.fetch(
            "SELECT g.ended_because FROM people_grant g JOIN people_developer d ON d.id = g.developer_id"
            " WHERE d.email = $1",
            client.developer.email,
        )
    )
    return [row["ended_because"] for row in rows]


def said(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]


async def lives(client: ConnectedClient) -> bool:
    try:
        await people.access_of(client.registry.runtime, client.access_token)
    except people.AccessTokenRefused:
        return False
    return True


async def test_the_second_use_of_a_code_ends_the_grant(registry):
    client = await client_of(registry)
    spent = await code(client)
    assert (await client.exchange(spent)).status_code == 200
    assert await lives(client)
    assert said(await client.exchange(spent)) == (400, "invalid_grant")
    assert not await lives(client)
    assert await ended_because(client) == ["code_reused"]
    assert said(await client.refresh()) == (400, "invalid_grant")


async def test_a_code_exchanged_twice_at_once_gives_no_living_tokens(registry):
    client = await client_of(registry)
    spent = await code(client)
    answers = await at_once(*(client.exchange(spent) for _ in range(4)))
    assert sorted(answer.status_code for answer in answers) == [200, 400, 400, 400]
    assert not await lives(client)


async def test_a_code_is_good_for_a_minute(registry):
    client = await client_of(registry)
    late = await code(client)
    await execute(
        registry,
        "UPDATE people_grant_code SET expires_at = expires_at - $1::interval WHERE code_hash = $2",
        timedelta(seconds=60),
        fingerprint(late),
    )
    assert said(await client.exchange(late)) == (400, "invalid_grant")


@pytest.mark.parametrize(
    "parameters",
    [
        {"redirect_uri": "http://127.0.0.1:33418/other"},
        {"redirect_uri": "http://127.0.0.1:33419/callback"},
        {"code_verifier": pkce()[0]},
        {"code_verifier": "short"},
        {"code": "hac_" + "0" * 64},
    ],
)
async def test_a_code_is_bound_to_redirect_address_and_challenge(registry, parameters):
    client = await client_of(registry)
    given = {
        "code": await code(client),
        "redirect_uri": client.redirect_uri,
        "code_verifier": client.verifier,
        **parameters,
    }
    assert said(await client.post_token(grant_type="authorization_code", **given)) == (400, "invalid_grant")


async def test_a_code_is_bound_to_its_client(registry):
    client = await client_of(registry)
    taken = await code(client)
    thief = (await register(registry, client.redirect_uri, client_name="Thief")).json()["client_id"]
    assert said(await client.exchange(taken, client_id=thief)) == (400, "invalid_grant")
    assert (await client.exchange(taken)).status_code == 200


async def test_a_refresh_rotates_and_a_token_used_again_later_ends_the_grant(registry):
    client = await connect(registry)
    first = client.tokens["refresh_token"]
    assert (await client.refresh()).status_code == 200
    second = client.tokens["refresh_token"]
    assert second != first
    assert said(await client.refresh(first)) == (400, "invalid_grant")
    assert await lives(client), "within ten seconds it may be a repeated request"
    await execute(registry, "UPDATE people_grant_token SET used_at = used_at - interval '11 seconds'")
    assert said(await client.refresh(first)) == (400, "invalid_grant")
    assert not await lives(client)
    assert said(await client.refresh(second)) == (400, "invalid_grant")
    assert await ended_because(client) == ["refresh_token_reused"]


async def test_of_parallel_refreshes_one_goes_ahead_and_the_grant_lives(registry):
    client = await connect(registry)
    token = client.tokens["refresh_token"]
    answers = await at_once(*(client.refresh(token) for _ in range(5)))
    assert sorted(answer.status_code for answer in answers) == [200, 400, 400, 400, 400]
    assert await lives(client)
    assert (await client.refresh()).status_code == 200


async def test_the_scope_of_a_refreshed_token_may_only_narrow(registry):
    client = await connect(registry)
    assert said(await client.refresh(scope="mcp:read wallet:pay")) == (400, "invalid_scope")
    assert (await client.refresh(scope="mcp:read")).json()["scope"] == "mcp:read"
    connection = await people.access_of(registry.runtime, client.access_token)
    assert connection.scopes == {"mcp:read"}
    assert (await client.refresh()).json()["scope"] == "mcp:read wallet:read"


async def test_a_refresh_token_is_bound_to_its_client(registry):
    client = await connect(registry)
    thief = (await register(registry, client.redirect_uri, client_name="Thief")).json()["client_id"]
    assert said(await client.refresh(client_id=thief)) == (400, "invalid_grant")
    assert said(await client.refresh(client_id=None)) == (400, "invalid_request")


async def test_another_resource_is_an_invalid_target(registry):
    client = await connect(registry)
    for resource in ("https://other.example/mcp", registry.settings.base_url, "not an address"):
        assert said(await client.refresh(resource=resource)) == (400, "invalid_target")
    for resource in ("/mcp", "/mcp/", "/mcp?mode=gateway"):
        assert (await client.refresh(resource=registry.settings.base_url + resource)).status_code == 200


async def test_a_parameter_without_a_value_counts_as_one_that_is_left_out(registry):
    client = await connect(registry)
    assert (await client.refresh(scope="", resource="")).json()["scope"] == "mcp:read wallet:read"
    assert said(await client.refresh(client_id="")) == (400, "invalid_request")
    form = {"token": client.access_token, "client_id": client.client_id, "token_type_hint": ""}
    assert (await registry.http.post("/oauth/revoke", data=form)).status_code == 200
    assert not await lives(client)


async def test_a_revoked_token_ends_the_connection_and_unknown_tokens_get_the_same_answer(registry):
    client = await connect(registry)
    for token in ("hrt_unknown", client.tokens["refresh_token"], client.access_token):
        form = {"token": token, "client_id": client.client_id}
        answer = await registry.http.post("/oauth/revoke", data=form)
        assert (answer.status_code, answer.json()) == (200, {})
    assert not await lives(client)
    assert await client.connections() == []


async def test_a_strangers_client_revokes_nothing(registry):
    client = await connect(registry)
    stranger = (await register(registry, client_name="Stranger")).json()["client_id"]
    for token in (client.tokens["refresh_token"], client.access_token):
        await registry.http.post("/oauth/revoke", data={"token": token, "client_id": stranger})
    assert await lives(client)


async def test_a_new_password_ends_all_connections_and_a_logout_none(registry):
    client = await connect(registry)
    await client.browser.open("/account")
    await client.browser.send("/logout")
    assert await lives(client)
    changed = await registry.post(
        "/auth/change-password",
        json={"current_password": PASSWORD, "new_password": "Another-Horse-9-Battery"},
        headers=client.developer.headers,
    )
    assert changed.status_code == 200, changed.text
    assert not await lives(client)
    assert await ended_because(client) == ["password_changed"]


async def test_the_end_of_the_agent_ends_its_connections(registry):
    client = await connect(registry, "wallet:pay")
    agent = client.agent
    assert agent
    await registry.database.transaction(lambda tx: agents.revoke(tx, agent.did, by="administrator"))
    await run_scheduled_transactions(registry.runtime, *reactor_jobs((CONNECTIONS_FOLLOW,)))
    await run_due(registry.runtime, CONNECTIONS_OF_AGENTS)
    assert await ended_because(client) == ["agent_ended"]
    assert not await lives(client)


async def test_a_connection_ends_at_its_time(registry):
    client = await connect(registry, days="1")
    await execute(
        registry,
        "UPDATE people_grant SET created_at = created_at - interval '2 days', ends_at = ends_at - interval '1 day'",
    )
    assert not await lives(client)
    assert said(await client.refresh()) == (400, "invalid_grant")
    assert await client.connections() == []


async def test_connections_past_their_time_and_codes_never_exchanged_are_ended_with_an_event(registry):
    developer = await registry.developer()
    expired, forgotten = (
        await connect(registry, developer=developer, days="1"),
        await client_of(registry, developer),
    )
    living = await connect(registry, developer=developer)
    await code(forgotten)
    await execute(
        registry,
        "UPDATE people_grant SET created_at = created_at - interval '2 days', ends_at = ends_at - interval '1 day'"
        " WHERE client_id = $1",
        expired.client_id,
    )
    await execute(registry, "UPDATE people_grant_code SET expires_at = now() WHERE used_at IS NULL")
    await registry.database.transaction(end_past_grants)
    assert sorted(str(one) for one in await ended_because(expired)) == ["None", "expired", "expired"]
    assert await lives(living)


async def test_secrets_of_agents_are_tried_sixty_times_a_minute_and_refreshes_are_not_held_to_it(registry):
    client = await connect(registry)
    headers = registry.elsewhere()
    form = {"grant_type": "client_credentials", "client_id": "agent-x", "client_secret": "agsec_x"}
    for _ in range(60):
        assert (await registry.http.post("/oauth/token", data=form, headers=headers)).status_code == 401
    limited = await registry.http.post("/oauth/token", data=form, headers=headers)
    assert said(limited) == (429, "temporarily_unavailable")
    assert int(limited.headers["retry-after"]) > 0
    form = {"grant_type": "refresh_token", "client_id": client.client_id}
    form["refresh_token"] = client.tokens["refresh_token"]
    assert (await registry.http.post("/oauth/token", data=form, headers=headers)).status_code == 200


async def test_a_suspended_developer_s_connection_pauses(registry):
    client = await connect(registry, "wallet:pay")
    connection = await people.access_of(registry.runtime, client.access_token)
    assert not connection.is_suspended
    administrator = await registry.administrator("admin_enforcement")
    path = f"/admin/developers/{connection.developer_id}"
    assert (
        await registry.post(f"{path}/suspend", json={"reason": "Test"}, headers=administrator.headers)
    ).status_code == 200
    assert (await people.access_of(registry.runtime, client.access_token)).is_suspended
    with pytest.raises(people.AccessTokenRefused):
        await registry.database.read(lambda tx: people.read_bounds(tx, connection.grant_id, locked=False))
    assert (
        await registry.post(f"{path}/reinstate", json={}, headers=administrator.headers)
    ).status_code == 200
    assert not (await people.access_of(registry.runtime, client.access_token)).is_suspended


async def test_an_agent_s_secret_buys_a_token_for_the_mcp_endpoint_alone(registry):
    agent = await registry.agent()
    form = {
        "grant_type": "client_credentials",
        "client_id": agent.created["client_id"],
        "client_secret": agent.created["client_secret"],
    }
    resource = {"resource": f"{registry.settings.base_url}/mcp"}
    answer = await registry.http.post("/oauth/token", data={**form, **resource}, headers=registry.elsewhere())
    assert answer.status_code == 200, answer.text
    assert "refresh_token" not in answer.json()
    headers = {"Authorization": f"Bearer {answer.json()['access_token']}"}
    assert (await registry.get("/agents/me", headers=headers)).status_code == 401
    plain = await registry.http.post("/oauth/token", data=form, headers=registry.elsewhere())
    headers = {"Authorization": f"Bearer {plain.json()['access_token']}"}
    assert (await registry.get("/agents/me", headers=headers)).json()["did"] == agent.did
    basic = await registry.http.post(
        "/oauth/token",
        data={"grant_type": "client_credentials"},
        auth=(form["client_id"], form["client_secret"]),
        headers=registry.elsewhere(),
    )
    assert basic.status_code == 200, basic.text
    wrong = await registry.http.post(
        "/oauth/token", data={**form, "client_secret": "agsec_wrong"}, headers=registry.elsewhere()
    )
    assert said(wrong) == (401, "invalid_client")
    assert wrong.headers["www-authenticate"].startswith("Basic")


@pytest.mark.parametrize(
    ("form", "error"),
    [
        ({}, "invalid_request"),
        ({"grant_type": "password", "client_id": "x"}, "unsupported_grant_type"),
        ({"grant_type": "authorization_code", "client_id": "x"}, "invalid_request"),
        ({"grant_type": "refresh_token", "client_id": "x", "refresh_token": "hrt_x"}, "invalid_grant"),
        ({"grant_type": "refresh_token", "client_id": "x", "refresh_token": "y" * 5000}, "invalid_request"),
    ],
)
async def test_faults_have_the_form_of_oauth_and_are_readable_from_every_origin(registry, form, error):
    answer = await registry.http.post("/oauth/token", data=form, headers=registry.elsewhere())
    assert said(answer) == (400, error)
    assert answer.json()["error_description"]
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.headers["cache-control"] == "no-store"


async def test_secrets_are_stored_as_hashes(registry):
    client = await connect(registry)
    stored = await registry.database.read(
        lambda tx: tx.fetchval(
            "SELECT string_agg(t::text, ' ') FROM (SELECT g::text FROM people_grant g UNION ALL"
            " SELECT c::text FROM people_grant_code c UNION ALL SELECT k::text FROM people_grant_token k) AS all_rows (t)"
        )
    )
    assert client.tokens["refresh_token"] not in stored
    assert fingerprint(client.tokens["refresh_token"]).hex() in stored
    assert "hac_" not in stored


async def test_limits_are_raised_by_a_login_with_the_password_alone(registry):
    client = await connect(registry, "wallet:pay")
    (row,) = await client.connections()
    path = f"/api/v1/auth/connections/{row['id']}"
    raised = {"limits": {"per_call": "6"}}
    key = await client.developer.api_key()
    for body, who, status in (
        (raised, client.developer, 403),
        ({**raised, "password": PASSWORD}, key, 403),
        ({**raised, "password": "Wrong-Secret-99!"}, client.developer, 401),
        ({"limits": {"per_call": "4"}}, key, 200),
        ({**raised, "password": PASSWORD}, client.developer, 200),
        ({"scopes": ["wallet:pay", "contracts:act"], "password": PASSWORD}, client.developer, 422),
        ({"limits": {"unknown": "1"}}, client.developer, 422),
    ):
        answer = await registry.http.patch(path, json=body, headers=who.headers)
        assert answer.status_code == status, (body, answer.text)
    assert (await client.connections())[0]["limits"]["per_call"] == "6"
    stranger = await registry.developer()
    assert (await registry.http.patch(path, json={}, headers=stranger.headers)).status_code == 404
    assert (await registry.http.delete(path, headers=stranger.headers)).status_code == 404


async def test_connections_are_shown_limited_and_ended_in_the_browser(registry):
    client = await connect(registry, "wallet:pay")
    browser: BrowserOf = client.browser
    (row,) = await client.connections()
    await browser.open("/account/connections")
    assert "Test client" in browser.text
    await browser.send(f"/account/connections/{row['id']}/limits", per_call="7", per_day="9", ask_above="2")
    assert "The limits are changed" in browser.text
    assert (await client.connections())[0]["limits"] == {"per_call": "7", "per_day": "9", "ask_above": "2"}
    await browser.send(f"/account/connections/{row['id']}/end")
    assert "The connection has ended" in browser.text
    assert not await lives(client)


async def test_the_webhooks_of_a_person_are_notified_of_a_connection_and_of_its_end(registry):
    developer, stranger = await registry.developer(), await registry.developer()
    types = ("connection.granted", "connection.ended")
    hooks = [
        await hook(owner, "https://receiver.example.com/hook", *types) for owner in (developer, stranger)
    ]
    client = await connect(registry, "wallet:pay", developer=developer)
    (row,) = await client.connections()
    await registry.http.delete(f"/api/v1/auth/connections/{row['id']}", headers=developer.headers)
    async with reacting(registry.database, OWNER_NOTICES), asyncio.timeout(60):
        while len(shown := await hooks[0].deliveries()) < len(types):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    sent = {one["payload"]["type"]: one["payload"]["data"] for one in shown}
    assert set(sent) == set(types)
    assert client.agent
    for data in sent.values():
        assert (data["connection_id"], data["agent_did"]) == (row["id"], client.agent.did)
    assert "hrt_" not in str(shown)
    assert await hooks[1].deliveries() == []


async def test_a_connection_and_its_end_are_events(registry):
    client = await connect(registry)
    (row,) = await client.connections()
    await registry.http.delete(f"/api/v1/auth/connections/{row['id']}", headers=client.developer.headers)
    events = await registry.database.read(
        lambda tx: tx.fetch(
            "SELECT event_type, data FROM journal_event WHERE event_type LIKE 'Connection%' ORDER BY seq"
        )
    )
    assert [event["event_type"] for event in events][-2:] == ["ConnectionGranted", "ConnectionEnded"]
