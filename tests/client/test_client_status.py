"""Status, activity and showcase of the registry by the client, and as its user types them."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hansa_client import DeveloperTokens
from hansa_client.errors import Conflict, Forbidden
from hansa_client.records.status import Pin
from tests.client.conftest import Open
from tests.client.terminal import Typed, logged_in
from tests.registry import PASSWORD, TestDeveloper, TestRegistry


def tokens_of(developer: TestDeveloper) -> DeveloperTokens:
    return DeveloperTokens(developer.token, "", datetime.now(UTC) + timedelta(hours=1))


async def test_anyone_reads_what_the_registry_states_about_itself(connect: Open, registry: TestRegistry):
    agent = await registry.agent()
    await registry.indexed()
    anyone = connect()
    found = await anyone.status.read()
    assert {one.name for one in found.components} == set(found.uptime)
    activity = await anyone.status.activity("AGENT_ONBOARDED", limit=1)
    assert activity.items[0].event_metadata["did"] == agent.did
    assert activity.total <= (await anyone.status.activity()).total
    assert agent.did in {one.did for one in (await anyone.status.showcase()).items}


async def test_an_administrator_reports_an_incident_and_pins_an_agent(connect: Open, registry: TestRegistry):
    agent, administrator = await registry.agent(), await registry.administrator("admin_platform")
    own = connect(developer=tokens_of(administrator))
    made = await own.status.open_incident("Late", "Payments wait.", components=["ledger"], key="once")
    assert await own.status.open_incident("Late", "Payments wait.", components=["ledger"], key="once") == made
    assert (await own.status.update_incident(made.id, "resolved", "Over.")).state == "resolved"
    with pytest.raises(Conflict):
        await own.status.update_incident(made.id, "monitoring", "Again.")
    assert (await own.status.pin([Pin(did=agent.did, note="Try it")])).pinned[0].did == agent.did
    other = connect(developer=tokens_of(await registry.developer()))
    with pytest.raises(Forbidden):
        await other.status.pin([])


async def test_the_status_as_its_user_types_it(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, registry: TestRegistry
):
    monkeypatch.setenv("HANSA_CLIENT_DIR", str(tmp_path / "client"))
    monkeypatch.setenv("HANSA_CLIENT_PASSWORD", PASSWORD)
    at = Typed(tmp_path)
    await logged_in(at, address)
    await at.run("agent", "create", "--name", "Shown")
    await registry.indexed()
    assert "database  ok" in await at.run("registry", "show")
    assert "was registered." in await at.run("registry", "activity", "--kind", "AGENT_ONBOARDED")
    assert "Shown" in await at.run("registry", "showcase")
