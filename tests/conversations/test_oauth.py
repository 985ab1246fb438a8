"""OAuth server: a stock client registers, a person consents, and the client gets, refreshes and loses its tokens."""

import pytest

from hansa.rooms import people
from tests.connections import STATE, client_of, connect


async def test_a_client_that_a_person_allows_gets_tokens_whose_scope_says_what_came(registry):
    client = await client_of(registry)
    await client.ask(scope="mcp:read")
    led_back = await client.allow("mcp:read", "wallet:read")
    assert led_back["state"] == STATE
    assert led_back["iss"] == registry.settings.base_url
    answer = await client.exchange(led_back["code"], resource=f"{registry.settings.base_url}/mcp")
    assert answer.status_code == 200, answer.text
    tokens = answer.json()
    assert tokens["token_type"] == "bearer"
    assert tokens["expires_in"] == 1800
    assert tokens["refresh_token"].startswith("hrt_")
    assert tokens["scope"] == "mcp:read wallet:read"
    connection = await people.access_of(registry.runtime, tokens["access_token"])
    assert connection.scopes == {"mcp:read", "wallet:read"}
    assert connection.client_host is None
    (row,) = await client.connections()
    assert row["id"] == str(connection.grant_id)
    assert row["limits"] == {"per_call": "5", "per_day": "10", "ask_above": "1"}


async def test_an_acting_scope_binds_the_agent_and_its_limits(registry):
    client = await connect(registry, "mcp:read", "wallet:pay", per_call="2", per_day="3.5", ask_above="0.5")
    connection = await people.access_of(registry.runtime, client.access_token)
    assert connection.agent_did == client.agent.did
    assert connection.limits.texts == {"per_call": "2", "per_day": "3.5", "ask_above": "0.5"}
    assert connection.actor == f"connection:{connection.grant_id}"


async def test_no_rest_route_takes_an_access_token(registry):
    client = await connect(registry, "wallet:pay")
    headers = {"Authorization": f"Bearer {client.access_token}"}
    for path in ("/agents/me", "/auth/profile", "/teg/balance", "/auth/connections"):
        answer = await registry.get(path, headers=headers)
        assert answer.status_code == 401, path


@pytest.mark.parametrize("kind", ["developer", "agent"])
async def test_tokens_of_other_kinds_are_no_access_tokens(registry, kind):
    developer = await registry.developer()
    token = developer.token if kind == "developer" else (await developer.agent()).token
    with pytest.raises(people.AccessTokenRefused):
        await people.access_of(registry.runtime, token)
