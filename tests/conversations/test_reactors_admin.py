"""Administrators of the platform see the progress of reactors, and have them retry the events that they gave up on."""

from typing import Any

import pytest

from hansa.rooms import federation
from hansa.rooms.enforcement.blocklist import BLOCKLIST
from tests.registry import TestDeveloper, TestRegistry
from tests.rooms.journal.reactors.reacting import reacting

NAME = BLOCKLIST.name


@pytest.fixture
async def admin(registry: TestRegistry) -> TestDeveloper:
    return await registry.administrator("admin_platform", "admin_enforcement")


async def suspend(admin: TestDeveloper) -> str:
    """The DID of a new agent, suspended."""
    agent = await admin.registry.agent()
    body = {"agent_dids": [agent.did], "reason": "For a test."}
    answer = await admin.registry.post("/admin/agents/bulk/suspend", json=body, headers=admin.headers)
    assert answer.status_code == 200, answer.text
    return agent.did


async def reactor(admin: TestDeveloper) -> dict[str, Any]:
    answer = await admin.registry.get("/admin/reactors", headers=admin.headers)
    assert answer.status_code == 200, answer.text
    assert answer.json()["enabled"] is True
    return next(one for one in answer.json()["items"] if one["name"] == NAME)


async def retry(admin: TestDeveloper, name: str = NAME) -> Any:
    return await admin.registry.post(f"/admin/reactors/{name}/retry", headers=admin.headers)


async def spoil(registry: TestRegistry) -> None:
    """Let the blocklist take nobody in."""
    await registry.database.transaction(
        lambda tx: tx.execute(
            "ALTER TABLE federation_blocklist ADD CONSTRAINT nobody CHECK (did = '') NOT VALID"
        )
    )


async def mend(registry: TestRegistry) -> None:
    await registry.database.transaction(
        lambda tx: tx.execute("ALTER TABLE federation_blocklist DROP CONSTRAINT nobody")
    )


async def until_set_aside(admin: TestDeveloper, count: int) -> dict[str, Any]:
    async with reacting(admin.registry.database, BLOCKLIST):
        while (found := await reactor(admin))["set_aside_count"] < count:
            pass
    return found


async def test_what_waits_for_a_reactor_is_counted(registry: TestRegistry, admin: TestDeveloper):
    await suspend(admin)
    found = await reactor(admin)
    assert found["events_waiting"] == 1
    assert found["event_types"] == ["AgentSuspended", "AgentReinstated", "AgentRevoked"]
    assert (found["failures"], found["retry_at"], found["set_aside"]) == (0, None, [])


async def test_what_a_reactor_gave_up_on_is_shown_and_taken_up_again_once_it_is_mended(
    registry: TestRegistry, admin: TestDeveloper
):
    await spoil(registry)
    dids = [await suspend(admin), await suspend(admin)]
    found = await until_set_aside(admin, 2)
    assert found["events_waiting"] == 0
    assert [one["event_type"] for one in found["set_aside"]] == ["AgentSuspended"] * 2
    assert all("CheckViolationError" in one["trouble"] for one in found["set_aside"])
    assert all(did not in str(found["set_aside"]) for did in dids), "a trouble names no values of a row"
    assert (await retry(admin)).json() == {"reacted": 0, "failed": 2}
    assert (await reactor(admin))["set_aside"][0]["failures"] == found["set_aside"][0]["failures"] + 1
    await mend(registry)
    assert (await retry(admin)).json() == {"reacted": 2, "failed": 0}
    assert (await retry(admin)).json() == {"reacted": 0, "failed": 0}
    assert (await reactor(admin))["set_aside_count"] == 0
    for did in dids:
        assert await registry.database.query(lambda tx, did=did: federation.is_blocklisted(tx, did))


async def test_a_reactor_that_is_not_there_is_not_found(registry: TestRegistry, admin: TestDeveloper):
    assert (await retry(admin, "nobody")).status_code == 404


async def test_only_administrators_of_the_platform_see_to_reactors(registry: TestRegistry):
    other = await registry.administrator("admin_enforcement")
    assert (await registry.get("/admin/reactors", headers=other.headers)).status_code == 403
    assert (await retry(other)).status_code == 403
