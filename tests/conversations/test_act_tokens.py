"""An owner acts as its agent, for a while, under the agent's own limits, and the journal records it."""

import pytest

from tests.founded import open_copy
from tests.registry import TestAgent


@pytest.fixture(scope="module")
async def registry(database_farm, tmp_path_factory):
    """One for all: every test speaks of agents of its own."""
    async with open_copy(database_farm, tmp_path_factory.mktemp("acting")) as opened:
        yield opened


@pytest.fixture
async def owner(registry):
    return await registry.developer()


@pytest.fixture
async def agent(owner):
    return await owner.agent()


async def ask(developer, did):
    headers = {**developer.headers, **developer.registry.elsewhere()}
    return await developer.registry.post(f"/agents/{did}/act-token", headers=headers)


async def acting(owner, agent):
    """The agent, as its owner acts for it."""
    answer = await ask(owner, agent.did)
    assert answer.status_code == 200, answer.text
    return TestAgent(agent.registry, agent.did, answer.json()["access_token"], agent.created)


async def me(agent):
    return await agent.registry.get("/agents/me", headers=agent.headers)


async def run(registry, statement, *values):
    return await registry.database.transaction(lambda tx: tx.execute(statement, *values))


def code(answer):
    return answer.status_code, answer.json()["error"]["code"]


async def test_the_owner_gets_a_token_of_its_agent_for_a_quarter_of_an_hour(registry, owner, agent):
    answer = await ask(owner, agent.did)
    profile = (await registry.get("/auth/profile", headers=owner.headers)).json()
    returned = answer.json()
    assert (answer.status_code, returned.pop("access_token").count(".")) == (200, 2)
    assert returned == {
        "token_type": "bearer",
        "expires_in": 900,
        "agent_did": agent.did,
        "actor": f"developer:{profile['id']}",
    }


async def test_the_owner_does_what_the_agent_may_and_me_names_who_acts(registry, owner, agent):
    payee, owner_as_agent = await registry.agent(), await acting(owner, agent)
    assert (await owner_as_agent.transfer(payee, "10")).status_code == 200
    assert (await agent.balance(), await payee.balance()) == ("89.95", "110")
    shown, own = (await me(owner_as_agent)).json(), (await me(agent)).json()
    assert shown["actor"].startswith("developer:")
    assert own["actor"] is None
    assert {**shown, "actor": None} == own


async def test_the_agents_limits_bind_its_owner_too(registry, owner, agent):
    payee, owner_as_agent = await registry.agent(), await acting(owner, agent)
    policy = {"roles": ["client"], "spend_policy": {"per_tx_max": "5"}}
    await registry.http.put(f"/api/v1/agents/{agent.did}/authz", json=policy, headers=owner.headers)
    assert code(await owner_as_agent.transfer(payee, "6")) == (403, "SPEND_OVER_PER_TX_MAX")
    staked = await registry.post("/staking/stake", json={"amount": "10"}, headers=owner_as_agent.headers)
    assert code(staked) == (403, "PERMISSION_MISSING")


async def test_the_journal_records_that_the_owner_acts(registry, owner, agent):
    answer = await ask(owner, agent.did)
    await registry.transactions_ended()
    path = f"/events/aggregate/{agent.did}"
    returned = (await registry.get(path, headers=registry.internal)).json()
    (event,) = [event for event in returned["items"] if event["event_type"] == "AgentActTokenIssued"]
    assert (event["data"]["did"], event["data"]["actor"]) == (agent.did, answer.json()["actor"])
    assert answer.json()["access_token"] not in str(returned)


async def test_nobody_else_acts_as_the_agent(registry, owner, agent):
    stranger = await registry.developer()
    assert code(await ask(stranger, agent.did)) == (403, "NOT_THE_OWNER")
    assert (await ask(stranger, "did:hansa:hansa.local:nobody")).status_code == 404
    own = await registry.post(f"/agents/{agent.did}/act-token", headers=agent.headers)
    assert own.status_code == 401


async def test_an_act_token_buys_no_other(registry, owner, agent):
    owner_as_agent = await acting(owner, agent)
    again = await registry.post(f"/agents/{agent.did}/act-token", headers=owner_as_agent.headers)
    assert again.status_code == 401
    assert (await registry.get("/auth/profile", headers=owner_as_agent.headers)).status_code == 401


async def test_an_api_key_needs_every_scope_to_act_as_an_agent(registry, owner, agent):
    for scopes, status in ((["*"], 200), (["agents:write", "agents:read", "agents:create"], 403)):
        made = await registry.post(
            "/auth/api-keys", json={"key_name": "acting", "scopes": scopes}, headers=owner.headers
        )
        headers = {"Authorization": f"Bearer {made.json()['plain_api_key']}", **registry.elsewhere()}
        answer = await registry.post(f"/agents/{agent.did}/act-token", headers=headers)
        assert answer.status_code == status, answer.text


@pytest.mark.parametrize("status", ["suspended", "revoked"])
async def test_nobody_acts_as_an_agent_that_is_stopped(registry, owner, agent, status):
    owner_as_agent = await acting(owner, agent)
    await run(registry, "UPDATE agents_agent SET status = $2 WHERE did = $1", agent.did, status)
    refusal = (403, f"AGENT_{status.upper()}")
    assert code(await ask(owner, agent.did)) == refusal
    assert code(await me(owner_as_agent)) == refusal


async def test_an_act_token_ends_with_the_agents_secret(registry, owner, agent):
    owner_as_agent = await acting(owner, agent)
    rotated = await registry.post(f"/agents/{agent.did}/rotate-secret", headers=owner.headers)
    assert rotated.status_code == 200, rotated.text
    assert (await me(owner_as_agent)).status_code == 401
    assert (await me(await acting(owner, agent))).status_code == 200
