"""Agent credentials: tokens for secrets, and who the token belongs to."""

import pytest

from hansa.foundation.plumbing.keys.tokens import TokenKind
from hansa.foundation.plumbing.settings import BadSetting, read_settings
from tests.registry import PASSWORD, TestRegistry

TOKEN = "/auth/agent/token"


@pytest.fixture(scope="module")
def registry(registry_of_file: TestRegistry) -> TestRegistry:
    return registry_of_file


async def ask(registry, **form):
    return await registry.post(TOKEN, data=form, headers=registry.elsewhere())


def secret_of(agent):
    return {"username": agent.created["client_id"], "password": agent.created["client_secret"]}


async def set_status(registry, agent, status):
    await registry.database.transaction(
        lambda tx: tx.execute("UPDATE agents_agent SET status = $2 WHERE did = $1", agent.did, status)
    )


async def me(registry, token):
    return await registry.get("/agents/me", headers={"Authorization": f"Bearer {token}"})


def code(answer):
    return answer.status_code, answer.json()["error"]["code"]


# The token


@pytest.mark.parametrize("grant", [{}, {"grant_type": "password"}, {"grant_type": ""}])
async def test_the_secret_buys_a_token_and_no_refresh_token(registry, grant):
    agent = await registry.agent()
    answer = await ask(registry, **secret_of(agent), **grant)
    assert answer.status_code == 200
    body = answer.json()
    assert set(body) == {"access_token", "token_type", "expires_in"}
    assert (body["token_type"], body["expires_in"]) == ("bearer", 90 * 60)
    assert answer.headers["cache-control"] == "no-store"
    assert (await me(registry, body["access_token"])).json()["did"] == agent.did


async def test_the_client_credentials_grant_is_taken_too(registry):
    agent = await registry.agent()
    credentials = {name: agent.created[name] for name in ("client_id", "client_secret")}
    assert (await ask(registry, grant_type="client_credentials", **credentials)).status_code == 200


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"username": "agent-x"},
        {"username": "", "password": "x"},
        {"username": "agent-x", "password": "x", "grant_type": "refresh_token"},
        {"username": "agent-x", "password": "x", "grant_type": "client_credentials"},
        {"client_id": "agent-x", "client_secret": "x"},
        {"username": "agent-x", "password": "x" * 257},
    ],
)
async def test_an_incomplete_form_or_another_grant_type_is_a_validation_error(registry, form):
    assert (await ask(registry, **form)).status_code == 422


async def test_a_json_body_is_not_a_form(registry):
    answer = await registry.post(
        TOKEN, json={"username": "agent-x", "password": "x"}, headers=registry.elsewhere()
    )
    assert answer.status_code == 415


async def test_an_unknown_id_and_a_wrong_secret_get_the_same_answer(registry):
    agent = await registry.agent()
    client_id, client_secret = secret_of(agent).values()
    wrong = await ask(registry, username=client_id, password="hsk_" + "0" * 64)
    unknown = await ask(registry, username="agent-0000000000000000", password=client_secret)
    assert code(wrong) == code(unknown) == (401, "AUTH_FAILED")
    assert wrong.json() == unknown.json()


async def test_a_developers_password_buys_no_agent_token(registry):
    developer = await registry.developer()
    assert (await ask(registry, username=developer.email, password=PASSWORD)).status_code == 401


@pytest.mark.parametrize("status", ["suspended", "revoked"])
async def test_the_right_secret_of_a_stopped_agent_is_answered_with_its_status_and_a_wrong_one_is_not(
    registry, status
):
    agent = await registry.agent()
    await set_status(registry, agent, status)
    answer = await ask(registry, **secret_of(agent))
    assert code(answer) == (403, f"AGENT_{status.upper()}")
    assert status in answer.json()["detail"]
    wrong = await ask(registry, **{**secret_of(agent), "password": "hsk_wrong"})
    assert code(wrong) == (401, "AUTH_FAILED")


async def test_the_61st_request_in_a_minute_from_one_address_is_too_many(registry):
    form, headers = {"username": "agent-x", "password": "x"}, registry.elsewhere()
    answers = [await registry.post(TOKEN, data=form, headers=headers) for _ in range(61)]
    assert [answer.status_code for answer in answers] == [401] * 60 + [429]


# Who the token belongs to


async def test_an_agent_reads_who_it_is(registry):
    agent = await registry.agent(name="Polyglot")
    answer = await me(registry, agent.token)
    assert answer.status_code == 200
    body = answer.json()
    assert set(body) == {
        "did",
        "client_id",
        "status",
        "name",
        "agent_name",
        "roles",
        "created_at",
        "last_active_at",
        "public_key_jwk",
        "actor",
    }
    assert (body["did"], body["client_id"]) == (agent.did, agent.created["client_id"])
    assert (body["status"], body["name"], body["agent_name"]) == ("active", "Polyglot", "Polyglot")
    assert body["roles"] == ["trader", "client"]
    assert body["last_active_at"] >= body["created_at"]
    assert body["public_key_jwk"] == (await registry.get(f"/agents/{agent.did}/public-key")).json()


async def test_a_developers_token_is_no_agents_token_and_the_other_way_round(registry):
    developer = await registry.developer()
    agent = await developer.agent()
    assert code(await me(registry, developer.token)) == (401, "AUTH_FAILED")
    answer = await registry.get("/auth/profile", headers={"Authorization": f"Bearer {agent.token}"})
    assert answer.status_code == 401


@pytest.mark.parametrize("token", ["", "x", "a.b.c", "hsk_" + "0" * 64, "x" * 5000])
async def test_what_is_no_token_is_unauthorized(registry, token):
    assert (await me(registry, token)).status_code == 401


async def test_a_tampered_token_is_unauthorized(registry):
    head, body, signature = (await registry.agent()).token.split(".")
    assert (await me(registry, f"{head}.{body}.{signature[::-1]}")).status_code == 401
    assert (await me(registry, f"{head}.{body[:-4]}AAAA.{signature}")).status_code == 401


@pytest.mark.parametrize("status", ["suspended", "revoked"])
async def test_a_stopped_agent_is_refused_at_once_on_every_route_with_a_token_it_held_before(
    registry, status
):
    agent = await registry.agent()
    assert (await me(registry, agent.token)).status_code == 200
    await set_status(registry, agent, status)
    for path in ("/agents/me", "/teg/balance"):
        answer = await registry.get(path, headers=agent.headers)
        assert code(answer) == (403, f"AGENT_{status.upper()}")
        assert status in answer.json()["detail"]


async def test_a_token_ends_by_the_databases_clock(registry):
    agent = await registry.agent()

    async def token_issued(minutes_ago):
        now = await registry.database.read(
            lambda tx: tx.fetchval("SELECT now() - $1 * interval '1 minute'", float(minutes_ago))
        )
        lifetime = (await ask(registry, **secret_of(agent))).json()["expires_in"]
        return registry.runtime.tokens.issue(
            TokenKind.AGENT,
            agent.did,
            session=agent.created["client_id"] + ".1",
            now=now,
            lifetime=type(now - now)(seconds=lifetime),
        )

    assert (await me(registry, await token_issued(minutes_ago=89))).status_code == 200
    assert (await me(registry, await token_issued(minutes_ago=90))).status_code == 401


async def test_new_agents_carry_the_roles_that_are_set(start_registry):
    registry = await start_registry(agent_rbac_default_roles="staker, governor")
    agent = await registry.agent()
    assert (await me(registry, agent.token)).json()["roles"] == ["staker", "governor"]
    answer = await agent.transfer(agent, "1")
    assert code(answer) == (403, "PERMISSION_MISSING")


def test_an_unknown_default_role_stops_the_start():
    with pytest.raises(BadSetting, match="AGENT_RBAC_DEFAULT_ROLES"):
        read_settings(agent_rbac_default_roles="trader,emperor")


# The public key


async def test_a_public_key_is_a_bare_jwk_with_its_thumbprint(registry):
    agent = await registry.agent()
    answer = await registry.get(f"/agents/{agent.did}/public-key")
    assert answer.status_code == 200
    key = answer.json()
    assert set(key) == {"kty", "crv", "x", "kid"}
    assert (key["kty"], key["crv"], len(key["x"]), len(key["kid"])) == ("OKP", "Ed25519", 43, 43)


async def test_the_key_of_a_suspended_agent_stays_readable(registry):
    agent = await registry.agent()
    await set_status(registry, agent, "suspended")
    assert (await registry.get(f"/agents/{agent.did}/public-key")).status_code == 200


@pytest.mark.parametrize("did", ["did:hansa:hansa.local:0", "x", "%F0%9F%90%99", "'; --"])
async def test_an_unknown_did_has_no_key(registry, did):
    assert code(await registry.get(f"/agents/{did}/public-key")) == (404, "RESOURCE_NOT_FOUND")


async def test_a_did_longer_than_any_is_a_validation_error(registry):
    assert (await registry.get(f"/agents/{'x' * 513}/public-key")).status_code == 422


async def test_the_roles_in_a_card_give_nothing(registry):
    agent = await registry.agent(roles=["governor"])
    assert (await me(registry, agent.token)).json()["roles"] == ["trader", "client"]
