"""A suspended organization: its treasury and its agents follow, and its reinstatement ends only what the suspension began."""

import pytest

from tests.organizations import code, found
from tests.registry import TestAgent


@pytest.fixture
async def registry(registry_of_file):
    return registry_of_file


@pytest.fixture
async def guild(registry):
    return await found(registry)


@pytest.fixture
async def enforcer(registry):
    return await registry.administrator("admin_enforcement")


async def act(enforcer, guild, name, **body):
    return await enforcer.registry.post(
        f"/admin/organizations/{guild.slug}/{name}",
        json={"reason": "Spam.", **body},
        headers=enforcer.headers,
    )


async def status_of(guild, agent: TestAgent) -> str:
    items = (await guild.read(guild.owner, "/agents"))["items"]
    return next(one["status"] for one in items if one["did"] == agent.did)


async def test_the_treasury_and_the_agents_are_suspended_and_nothing_is_changed(registry, guild, enforcer):
    payer, agent = await guild.owner.agent(), await guild.agent()
    suspended = await act(enforcer, guild, "suspend")
    assert suspended.status_code == 200, suspended.text
    assert (suspended.json()["status"], suspended.json()["organization_id"]) == (
        "suspended",
        guild.created["id"],
    )
    assert [(one["agent_did"], one["registry"]) for one in suspended.json()["results"]] == [
        (guild.created["treasury_did"], "suspended"),
        (agent.did, "suspended"),
    ]
    assert (await guild.read(guild.owner))["status"] == "suspended"
    assert await status_of(guild, agent) == "suspended"
    refused = await guild.send(guild.owner, "PATCH", json={"name": "X"})
    assert code(refused) == (409, "ORGANIZATION_NOT_ACTIVE")
    assert refused.json()["error"]["context"] == {"state": "suspended"}
    assert (await payer.transfer(guild.created["treasury_did"], "1")).status_code == 403
    reinstated = await act(enforcer, guild, "reinstate")
    assert [one["registry"] for one in reinstated.json()["results"]] == ["reinstated", "reinstated"]
    assert await status_of(guild, agent) == "active"
    assert (await payer.transfer(guild.created["treasury_did"], "1")).status_code == 200


async def test_an_agent_that_was_suspended_itself_stays_suspended(registry, guild, enforcer):
    agent, other = await guild.agent(), await guild.agent()
    alone = {"agent_dids": [agent.did], "reason": "Spam."}
    await registry.post("/admin/agents/bulk/suspend", json=alone, headers=enforcer.headers)
    await act(enforcer, guild, "suspend")
    reinstated = await act(enforcer, guild, "reinstate")
    assert [one["agent_did"] for one in reinstated.json()["results"]] == [
        guild.created["treasury_did"],
        other.did,
    ]
    assert [await status_of(guild, one) for one in (agent, other)] == ["suspended", "active"]


async def test_a_repeated_suspension_has_the_first_answer(registry, guild, enforcer):
    agent = await guild.agent()

    async def send(name, key, reason="Spam."):
        return await registry.post(
            f"/admin/organizations/{guild.slug}/{name}",
            json={"reason": reason},
            headers={**enforcer.headers, "Idempotency-Key": key},
        )

    first, again = [await send("suspend", "suspend-1") for _ in range(2)]
    assert [one["registry"] for one in first.json()["results"]] == ["suspended", "suspended"]
    assert (again.status_code, again.json()) == (200, first.json())
    assert again.headers["idempotent-replayed"] == "true"
    assert code(await send("suspend", "suspend-1", "Fraud.")) == (422, "IDEMPOTENCY_KEY_REUSED")
    ended, ended_again = [await send("reinstate", "reinstate-1") for _ in range(2)]
    assert (ended.status_code, ended_again.json()) == (200, ended.json())
    # A repetition of the suspension does not suspend what was reinstated.
    assert (await send("suspend", "suspend-1")).json() == first.json()
    assert await status_of(guild, agent) == "active"


async def test_a_member_may_leave_a_suspended_organization(guild, enforcer):
    member = await guild.member()
    await act(enforcer, guild, "suspend")
    assert (await guild.remove(member, member)).json()["role"] is None


async def test_an_administrator_decides_nothing_about_an_own_organization(registry, enforcer):
    guild = await found(registry, enforcer)
    assert code(await act(enforcer, guild, "suspend")) == (403, "OWN_AGENT")
    assert (await guild.read(enforcer))["status"] == "active"


async def test_an_unknown_organization_and_a_developer_without_the_area_are_refused(
    registry, guild, enforcer
):
    absent = await registry.post(
        "/admin/organizations/absent/suspend", json={"reason": "Spam."}, headers=enforcer.headers
    )
    assert code(absent) == (404, "ORGANIZATION_UNKNOWN")
    assert (await act(guild.owner, guild, "suspend")).status_code == 403
