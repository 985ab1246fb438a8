"""Acts of an agent on itself: heartbeat, keys, its end; and of its owner on its secret."""

import itertools
from datetime import datetime

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from hansa.foundation.values.jwk import jwk_of, thumbprint
from hansa.rooms import agents
from tests.registry import at_once, card_of

ROTATE = "/agents/me/rotate-signing-key"


def new_jwk():
    return jwk_of(Ed25519PrivateKey.generate().public_key().public_bytes_raw())


def code(answer):
    return answer.status_code, answer.json()["error"]["code"]


async def sql(registry, statement, *arguments):
    return await registry.database.transaction(lambda tx: tx.fetch(statement, *arguments))


async def rotate(agent, body=None):
    return await agent.registry.post(ROTATE, json=body if body is not None else {}, headers=agent.headers)


async def keys_of(agent):
    answer = await agent.registry.get(f"/agents/{agent.did}/keys")
    assert answer.status_code == 200, answer.text
    return answer.json()["items"]


async def events_of(agent, event_type):
    events = (await agent.registry.get("/public/eventstore-recent")).json()["events"]
    return [
        event["data"]
        for event in events
        if (event["event_type"], event["aggregate_id"]) == (event_type, agent.did)
    ]


async def empty_agent(registry):
    developer = await registry.developer()
    await developer.agent()
    return await developer.agent(name="Empty")


# The heartbeat


async def test_a_heartbeat_is_seen_where_the_agent_reads_about_itself(registry):
    agent = await registry.agent()
    await sql(registry, "UPDATE agents_agent SET last_active_at = now() - interval '1 hour'")
    answer = await registry.post("/agents/me/heartbeat", headers=agent.headers)
    assert answer.status_code == 200
    body = answer.json()
    assert (body["did"], body["status"]) == (agent.did, "active")
    myself = (await registry.get("/agents/me", headers=agent.headers)).json()
    assert myself["last_active_at"] == body["last_active_at"]


async def test_the_other_paths_of_an_agents_own_acts_do_the_same(registry):
    agent = await registry.agent()
    await sql(registry, "UPDATE agents_agent SET last_active_at = now() - interval '1 hour'")
    beat = await registry.post("/agents/heartbeat", headers=agent.headers)
    read = (await registry.get("/agents/me", headers=agent.headers)).json()
    assert (beat.status_code, beat.json()["last_active_at"]) == (200, read["last_active_at"])
    rotated = await registry.post("/agents/self/rotate-signing-key", json={}, headers=agent.headers)
    assert rotated.status_code == 200
    assert (await keys_of(agent))[0]["key_id"] == rotated.json()["key_id"]
    assert len(await keys_of(agent)) == 2
    for path in ("heartbeat", "self/rotate-signing-key"):
        assert (await registry.post(f"/agents/{path}", json={})).status_code == 401


async def test_a_developer_lists_its_agents_under_developers_as_well(registry):
    developer = await registry.developer()
    await developer.agent()
    await developer.agent(name="Second")
    await registry.agent()
    listed = (await registry.get("/developers/me/agents", headers=developer.headers)).json()
    plain = (await registry.get("/agents", headers=developer.headers)).json()
    assert (listed["agents"], listed["pagination"]) == (plain["items"], plain["pagination"])
    assert len(listed["agents"]) == 2
    page = (await registry.get("/developers/me/agents?limit=1&offset=1", headers=developer.headers)).json()
    assert page["agents"] == listed["agents"][1:]
    assert (await registry.get("/developers/me/agents")).status_code == 401


async def test_heartbeats_close_together_are_written_once(registry):
    agent = await registry.agent()
    await sql(registry, "UPDATE agents_agent SET last_active_at = NULL")
    times = [
        (await registry.post("/agents/me/heartbeat", headers=agent.headers)).json()["last_active_at"]
        for _ in range(3)
    ]
    assert len(set(times)) == 1


async def test_a_heartbeat_counts_as_seen_alive_in_liveness_and_in_the_last_24_hours(registry):
    agent, silent = await registry.agent(name="Beating"), await registry.agent(name="Silent")
    query = {"active_24h": True}
    await registry.indexed()
    assert (await registry.get("/agent-cards/discover", params=query)).json()["total"] == 0
    for _ in range(2):
        assert (await registry.post("/agents/me/heartbeat", headers=agent.headers)).status_code == 200
    await registry.indexed()
    found = (await registry.get("/agent-cards/discover", params=query)).json()["results"]
    assert [(one["did"], one["liveness"]["state"]) for one in found] == [(agent.did, "alive")]
    read = (await registry.get(f"/agents/by-did/{agent.did}")).json()["liveness"]
    assert (read["state"], read["checked_at"] is None) == ("alive", False)
    unseen = (await registry.get(f"/agents/by-did/{silent.did}")).json()["liveness"]
    assert unseen == {"state": "unknown", "checked_at": None}


async def test_a_heartbeat_makes_an_unreachable_agent_alive_and_the_newer_observation_stands(registry):
    agent = await registry.agent()
    stale = "UPDATE catalogue_card SET liveness = $1, last_alive_at = now() - interval '2 days'"
    for state in ("unreachable", "alive"):
        await sql(registry, stale, state)
        await registry.post("/agents/me/heartbeat", headers=agent.headers)
        (row,) = await sql(
            registry,
            "SELECT liveness, now() - last_alive_at < interval '1 minute' AS is_now FROM catalogue_card",
        )
        assert tuple(row) == ("alive", True)


# The current name


async def test_an_agent_reads_its_current_name_after_its_owner_renamed_the_card(registry):
    developer = await registry.developer()
    agent = await developer.agent(name="Before")
    body = {"card_data": card_of("After")}
    path = f"/api/v1/agent-cards/{agent.did}"
    assert (await registry.http.put(path, json=body, headers=developer.headers)).status_code == 200
    myself = (await registry.get("/agents/me", headers=agent.headers)).json()
    assert (myself["name"], myself["agent_name"]) == ("After", "After")
    (owned,) = (await registry.get("/agents", headers=developer.headers)).json()["items"]
    assert owned["name"] == "After"


# The signing key


async def test_a_rotation_gives_a_new_pair_of_which_the_private_half_is_shown_once(registry):
    agent = await registry.agent()
    before = (await registry.get(f"/agents/{agent.did}/public-key")).json()
    answer = await rotate(agent)
    assert answer.status_code == 200
    body = answer.json()
    assert (body["agent_did"], body["number"]) == (agent.did, 2)
    assert body["key_id"] == f"{agent.did}#key-2"
    private_key = load_pem_private_key(body["private_key_pem"].encode(), password=None)
    public = private_key.public_key().public_bytes_raw()
    assert body["public_key_jwk"] == {**jwk_of(public), "kid": thumbprint(public)}
    now = (await registry.get(f"/agents/{agent.did}/public-key")).json()
    assert now == body["public_key_jwk"] != before
    assert (await registry.get("/agents/me", headers=agent.headers)).json()["public_key_jwk"] == now


async def test_a_rotation_without_a_body_is_a_validation_error(registry):
    agent = await registry.agent()
    assert (await registry.post(ROTATE, headers=agent.headers)).status_code == 422


async def test_a_rotation_takes_a_key_that_is_brought(registry):
    agent = await registry.agent()
    jwk = new_jwk()
    body = (await rotate(agent, {"public_key_jwk": jwk})).json()
    assert body["private_key_pem"] is None
    assert body["public_key_jwk"]["x"] == jwk["x"]


async def test_every_key_stays_readable_with_its_time_and_they_follow_without_a_gap(registry):
    agent = await registry.agent()
    first = (await registry.get(f"/agents/{agent.did}/public-key")).json()
    for _ in range(2):
        assert (await rotate(agent)).status_code == 200
    third, second, oldest = await keys_of(agent)
    assert [key["number"] for key in (oldest, second, third)] == [1, 2, 3]
    assert oldest["public_key_jwk"] == first
    assert (oldest["valid_until"], second["valid_until"]) == (second["valid_from"], third["valid_from"])
    assert third["valid_until"] is None
    moments = [datetime.fromisoformat(key["valid_from"]) for key in (oldest, second, third)]
    assert moments == sorted(set(moments))


async def test_the_keys_are_read_in_pages(registry):
    agent = await registry.agent()
    await rotate(agent)
    answer = await registry.get(f"/agents/{agent.did}/keys", params={"limit": 1, "offset": 1})
    page = answer.json()
    assert [key["number"] for key in page["items"]] == [1]
    assert page["pagination"]["total_items"] == 2
    assert code(await registry.get("/agents/did:hansa:hansa.local:0/keys")) == (404, "RESOURCE_NOT_FOUND")


async def test_a_key_that_the_agent_has_or_had_is_no_new_one(registry):
    agent = await registry.agent()
    jwk = new_jwk()
    assert (await rotate(agent, {"public_key_jwk": jwk})).status_code == 200
    assert code(await rotate(agent, {"public_key_jwk": jwk})) == (409, "KEY_HELD_BEFORE")
    assert (await rotate(agent)).status_code == 200
    assert code(await rotate(agent, {"public_key_jwk": jwk})) == (409, "KEY_HELD_BEFORE")


UNSOUND = {
    "the identity point": jwk_of((1).to_bytes(32, "little")),
    "a point of order two": jwk_of((2**255 - 20).to_bytes(32, "little")),
    "a point that is not canonical": jwk_of((2**255 - 18).to_bytes(32, "little")),
    "padding": {**new_jwk(), "x": new_jwk()["x"] + "="},
    "a private key": {**new_jwk(), "d": "AAAA"},
    "another curve": {**new_jwk(), "crv": "X25519"},
    "nothing": {},
}


async def test_an_unsound_key_is_refused_and_the_present_one_stays(registry):
    agent = await registry.agent()
    for name, jwk in UNSOUND.items():
        assert (await rotate(agent, {"public_key_jwk": jwk})).status_code == 422, name
    assert [key["number"] for key in await keys_of(agent)] == [1]


async def test_rotations_at_once_all_succeed_one_after_the_other(registry):
    agent = await registry.agent()
    answers = await at_once(*(rotate(agent) for _ in range(8)))
    assert sorted(answer.json()["number"] for answer in answers) == list(range(2, 10))
    keys = await keys_of(agent)
    assert [key["number"] for key in keys] == list(range(9, 0, -1))
    for newer, older in itertools.pairwise(keys):
        assert older["valid_until"] == newer["valid_from"] > older["valid_from"]


async def test_the_same_key_brought_twice_at_once_is_taken_once(registry):
    agent = await registry.agent()
    body = {"public_key_jwk": new_jwk()}
    answers = await at_once(*(rotate(agent, body) for _ in range(4)))
    assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409]


async def test_the_21st_rotation_of_an_agent_in_an_hour_is_too_many(registry):
    agent, other = await registry.agent(), await registry.agent()
    statuses = [(await rotate(agent)).status_code for _ in range(21)]
    assert statuses == [200] * 20 + [429]
    assert (await rotate(other)).status_code == 200


async def test_a_rotation_is_published_with_the_thumbprint(registry):
    agent = await registry.agent()
    body = (await rotate(agent)).json()
    assert await events_of(agent, "AgentKeyRotated") == [
        {"did": agent.did, "number": 2, "kid": body["public_key_jwk"]["kid"]}
    ]


# The secret


async def test_a_new_secret_ends_the_old_one_and_the_tokens_it_bought(registry):
    developer = await registry.developer()
    agent = await developer.agent()
    answer = await registry.post(f"/agents/{agent.did}/rotate-secret", headers=developer.headers)
    assert answer.status_code == 200
    body = answer.json()
    assert set(body) == {"agent_did", "client_id", "client_secret"}
    assert body["client_id"] == agent.created["client_id"]
    assert body["client_secret"].startswith("hsk_")
    assert (await registry.get("/agents/me", headers=agent.headers)).status_code == 401

    async def token_for(secret):
        form = {"username": body["client_id"], "password": secret}
        return await registry.post("/auth/agent/token", data=form, headers=registry.elsewhere())

    assert (await token_for(agent.created["client_secret"])).status_code == 401
    token = (await token_for(body["client_secret"])).json()["access_token"]
    me = await registry.get("/agents/me", headers={"Authorization": f"Bearer {token}"})
    assert me.json()["did"] == agent.did
    assert await events_of(agent, "AgentSecretRotated") == [{"did": agent.did}]


async def test_only_the_owner_replaces_a_secret(registry):
    agent, stranger = await registry.agent(), await registry.developer()
    path = f"/agents/{agent.did}/rotate-secret"
    assert code(await registry.post(path, headers=stranger.headers)) == (403, "NOT_THE_OWNER")
    assert (await registry.post(path, headers=agent.headers)).status_code == 401
    unknown = await registry.post("/agents/did:hansa:x/rotate-secret", headers=stranger.headers)
    assert unknown.status_code == 404
    assert (await registry.get("/agents/me", headers=agent.headers)).status_code == 200


async def test_a_revoked_agent_gets_no_new_secret(registry):
    developer = await registry.developer()
    agent = await developer.agent()
    await registry.database.transaction(lambda tx: agents.revoke(tx, agent.did, by="administrator"))
    answer = await registry.post(f"/agents/{agent.did}/rotate-secret", headers=developer.headers)
    assert code(answer) == (409, "AGENT_REVOKED")


# Own agents


async def test_a_developer_lists_its_own_agents_in_every_status(registry):
    developer = await registry.developer()
    first, second = await developer.agent(), await developer.agent(name="Second")
    await registry.agent()
    await registry.database.transaction(lambda tx: agents.suspend(tx, second.did))
    page = (await registry.get("/agents", headers=developer.headers)).json()
    assert [(agent["did"], agent["name"], agent["status"]) for agent in page["items"]] == [
        (first.did, "Translator", "active"),
        (second.did, "Second", "suspended"),
    ]
    assert page["pagination"]["total_items"] == 2
    one = (await registry.get("/agents", params={"limit": 1, "offset": 1}, headers=developer.headers)).json()
    assert [agent["did"] for agent in one["items"]] == [second.did]


# The end


async def test_an_agent_that_holds_nothing_ends_itself_for_good(registry):
    agent = await empty_agent(registry)
    answer = await registry.http.delete("/api/v1/agents/me", headers=agent.headers)
    assert answer.status_code == 200
    assert answer.json() == {"agent_did": agent.did, "status": "revoked"}
    again = await registry.http.delete("/api/v1/agents/me", headers=agent.headers)
    assert code(again) == (403, "AGENT_REVOKED")
    card = (await registry.get(f"/agent-cards/{agent.did}")).json()
    assert (card["status"], card["is_active"]) == ("revoked", False)
    assert await events_of(agent, "AgentRevoked") == [{"did": agent.did, "by": "agent"}]
    (last,) = await keys_of(agent)
    assert last["valid_until"] is not None


async def test_an_agent_that_holds_units_cannot_end_and_the_refusal_names_what_it_holds(registry):
    agent = await registry.agent()
    answer = await registry.http.delete("/api/v1/agents/me", headers=agent.headers)
    assert code(answer) == (409, "ACCOUNT_HOLDS_UNITS")
    assert answer.json()["error"]["context"] == {"liquid_balance": "100", "staked_balance": "0"}
    assert (await registry.get("/agents/me", headers=agent.headers)).status_code == 200


async def test_an_agent_that_sent_everything_away_may_end(registry):
    agent, heir = await registry.agent(), await registry.agent()
    assert (await agent.transfer(heir, "99.50248756")).status_code == 200
    assert await agent.balance() == "0"
    assert (await registry.http.delete("/api/v1/agents/me", headers=agent.headers)).status_code == 200
    assert (await registry.supply())["delta"] == "0"


async def test_of_many_ends_at_once_one_counts(registry):
    agent = await empty_agent(registry)
    answers = await at_once(
        *(registry.http.delete("/api/v1/agents/me", headers=agent.headers) for _ in range(5))
    )
    assert {answer.status_code for answer in answers} <= {200, 403}
    assert len(await events_of(agent, "AgentRevoked")) == 1


async def end(developer, did):
    return await developer.registry.http.delete(f"/api/v1/agents/{did}", headers=developer.headers)


async def test_an_owner_ends_an_agent_that_holds_nothing_and_hears_the_same_again(registry):
    developer = await registry.developer()
    rich, poor = await developer.agent(), await developer.agent(name="Poor")
    for _ in range(2):
        answer = await end(developer, poor.did)
        assert (answer.status_code, answer.json()) == (200, {"agent_did": poor.did, "status": "revoked"})
    assert code(await registry.get("/agents/me", headers=poor.headers)) == (403, "AGENT_REVOKED")
    assert await events_of(poor, "AgentRevoked") == [{"did": poor.did, "by": "owner"}]
    assert code(await end(developer, rich.did)) == (409, "ACCOUNT_HOLDS_UNITS")


async def test_nobody_but_the_owner_ends_an_agent(registry):
    agent, stranger = await registry.agent(), await registry.developer()
    assert code(await end(stranger, agent.did)) == (403, "NOT_THE_OWNER")
    assert (await end(stranger, "did:hansa:hansa.local:0")).status_code == 404
    assert (await end(agent, agent.did)).status_code == 401


async def test_a_suspended_agent_is_ended_by_an_administrator_alone(registry):
    developer = await registry.developer()
    await developer.agent()
    agent = await developer.agent(name="Stopped")
    await registry.database.transaction(lambda tx: agents.suspend(tx, agent.did))
    assert code(await end(developer, agent.did)) == (403, "AGENT_SUSPENDED")
    assert code(await registry.http.delete("/api/v1/agents/me", headers=agent.headers)) == (
        403,
        "AGENT_SUSPENDED",
    )
