"""A thief with a narrow API key takes no money of an agent."""

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from tests.founded import open_copy
from tests.registry import DatabaseFarm, TestAgent, TestDeveloper, TestRegistry, at_once

NARROW = ("agents:write", "agents:create", "cards:write", "webhooks:manage", "keys:manage", "profile:write")
POLICY = {"per_tx_max": "10", "per_day_max": "20", "approval_over": "5"}
WIDER: list[dict[str, Any] | None] = [
    None,
    {**POLICY, "per_tx_max": "11"},
    {**POLICY, "per_day_max": "21"},
    {**POLICY, "approval_over": "6"},
    {"per_tx_max": "10", "per_day_max": "20"},
    {"per_tx_max": "10", "approval_over": "5"},
    {"per_day_max": "20", "approval_over": "5"},
]
NARROWER = [POLICY, {**POLICY, "per_tx_max": "1"}, {**POLICY, "per_tx_max": "1", "allowlist": []}]


@pytest.fixture(scope="module")
async def registry(database_farm: DatabaseFarm, tmp_path_factory) -> AsyncIterator[TestRegistry]:
    async with open_copy(database_farm, tmp_path_factory.mktemp("narrow")) as opened:
        yield opened


@pytest.fixture
async def owner(registry: TestRegistry) -> TestDeveloper:
    return await registry.developer()


@pytest.fixture
async def agent(owner: TestDeveloper) -> TestAgent:
    return await owner.agent(name="Holder")


@pytest.fixture
async def thief(owner: TestDeveloper) -> TestDeveloper:
    return await owner.api_key(*NARROW)


async def put(who: TestDeveloper, agent: TestAgent, **members: Any) -> httpx2.Response:
    path = f"/api/v1/agents/{agent.did}/authz"
    return await who.registry.http.put(path, json=members, headers=who.headers)


async def authz(owner: TestDeveloper, agent: TestAgent) -> dict[str, Any]:
    return (await owner.registry.get(f"/agents/{agent.did}/authz", headers=owner.headers)).json()


def lacks_scope(answer: httpx2.Response) -> bool:
    return (answer.status_code, answer.json()["error"]["code"]) == (403, "SCOPE_MISSING")


async def test_a_narrow_key_gets_no_secret_of_an_agent(
    registry: TestRegistry, agent: TestAgent, thief: TestDeveloper
):
    for act in ("rotate-secret", "act-token"):
        assert lacks_scope(await registry.post(f"/agents/{agent.did}/{act}", headers=thief.headers))
    assert (await registry.get("/agents/me", headers=agent.headers)).status_code == 200


async def test_a_narrow_key_makes_no_key_that_gets_one(registry: TestRegistry, thief: TestDeveloper):
    for scopes in (["agents:secrets"], ["agents:write", "agents:secrets"], ["*"]):
        body = {"key_name": "K", "scopes": scopes}
        answer = await registry.post("/auth/api-keys", json=body, headers=thief.headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "SCOPE_BROADER")


async def test_a_narrow_key_gives_no_role(
    registry: TestRegistry, owner: TestDeveloper, agent: TestAgent, thief: TestDeveloper
):
    assert (await put(owner, agent, roles=["client"])).status_code == 200
    path = f"/agents/{agent.did}/authz/roles"
    assert lacks_scope(await registry.post(path, json={"role": "trader"}, headers=thief.headers))
    assert lacks_scope(await put(thief, agent, roles=["client", "trader"]))
    assert (await authz(owner, agent))["roles"] == ["client"]
    assert (await put(thief, agent, roles=[])).json()["roles"] == []


async def test_a_narrow_key_narrows_a_policy_and_never_widens_it(
    owner: TestDeveloper, agent: TestAgent, thief: TestDeveloper
):
    assert (await put(thief, agent, spend_policy=POLICY)).status_code == 200
    before = await authz(owner, agent)
    for wider in WIDER:
        assert lacks_scope(await put(thief, agent, spend_policy=wider)), wider
        assert await authz(owner, agent) == before
    for narrower in NARROWER:
        assert (await put(thief, agent, spend_policy=narrower)).status_code == 200, narrower
    allowed = {**NARROWER[-1], "allowlist": [agent.did]}
    assert lacks_scope(await put(thief, agent, spend_policy=allowed))
    assert lacks_scope(await put(thief, agent, spend_policy=NARROWER[1]))
    secrets = await owner.api_key("agents:secrets")
    assert (await put(secrets, agent, spend_policy=allowed)).status_code == 200
    assert (await put(secrets, agent, spend_policy=None)).json()["spend_policy"] is None


async def test_a_narrow_key_widens_no_policy_that_its_owner_narrows_meanwhile(
    owner: TestDeveloper, agent: TestAgent, thief: TestDeveloper
):
    narrow = {"per_tx_max": "1"}
    for _ in range(10):
        assert (await put(owner, agent, spend_policy={"per_tx_max": "10"})).status_code == 200
        await at_once(
            put(owner, agent, spend_policy=narrow),
            *(put(thief, agent, spend_policy={"per_tx_max": "10"}) for _ in range(3)),
        )
        assert (await authz(owner, agent))["spend_policy"]["per_tx_max"] == "1"


async def test_a_narrow_key_denies_a_payment_and_approves_none(
    registry: TestRegistry, owner: TestDeveloper, agent: TestAgent, thief: TestDeveloper
):
    await put(owner, agent, spend_policy={"approval_over": "0.1"})
    payee = await registry.agent(name="Accomplice")
    body = {"receiver_agent_id": payee.did, "amount": "2"}
    await registry.post("/teg/transfer", json=body, headers=agent.headers)
    path = f"/agents/{agent.did}/spend-approvals"
    [pending] = (await registry.get(path, headers=owner.headers)).json()["items"]
    decision = f"{path}/{pending['approval_id']}"
    assert lacks_scope(await registry.post(f"{decision}/approve", headers=thief.headers))
    assert (await registry.get(path, headers=owner.headers)).json()["items"] == [pending]
    denied = await registry.post(f"{decision}/deny", headers=thief.headers)
    assert (denied.status_code, denied.json()["status"]) == (200, "denied")
