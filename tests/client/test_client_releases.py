"""Versions, deployments and bundles by the client, and its commands."""

import asyncio
import json
import re
from pathlib import Path

import pytest

from hansa.rooms.operations.deployments import DEPLOYMENT_CHECKS
from hansa_client import ApiKey, Registry
from hansa_client.errors import Conflict, NotFound
from tests.client.conftest import Open
from tests.client.faults import Faults
from tests.client.terminal import Typed, logged_in
from tests.client.test_client_contracts import credentials_of
from tests.conversations.test_versions import coder
from tests.registry import PASSWORD, TestRegistry
from tests.running_jobs import run_due

URL = "https://agent.example.com/a2a"
GUIDE = Path(__file__).parents[2] / "docs/guides/versions-and-deployments.md"


async def test_an_agent_registers_activates_and_deploys_versions(
    connect: Open, registry: TestRegistry, faults: Faults
):
    owner = await registry.developer()
    agent = await coder(owner)
    own = connect(agent=credentials_of(agent))
    developer = connect(developer=ApiKey((await owner.api_key("agents:read", "agents:write")).token))
    faults.next("/api/v1/agents/self/version", "answer lost")
    made = await own.releases.register("1.0", commit_hash="0123456789", release_notes="First.")
    assert (made.status, made.release_notes) == ("draft", "First.")
    with pytest.raises(Conflict):
        await own.releases.register("1.0")
    other = await developer.releases.register(
        "2.0", agent.did, artifacts={"a": {"uri": "https://x.example.com/a", "sha256": "0" * 64}}
    )
    assert (await developer.releases.activate(other.version_id, agent.did)).status == "active"
    assert (await own.releases.activate(made.version_id)).status == "active"
    page = await own.releases.versions(agent.did, limit=1)
    assert [one.version for one in page.versions] == ["2.0"]
    assert page.versions[0].artifacts["a"].sha256 == "0" * 64
    rest = await own.releases.versions(agent.did, next=page.next)
    assert [(one.version, one.status) for one in rest.versions] == [("1.0", "active")]
    asked = await developer.releases.deploy(made.version_id, agent.did, url=URL, note="Moved")
    assert (asked.status, asked.has_ended) == ("pending", False)
    await run_due(registry.runtime, DEPLOYMENT_CHECKS)
    ended = await own.releases.deployment(asked.deployment_id)
    assert (ended.status, ended.has_ended, ended.note) == ("failed", True, "Moved")
    assert (await own.releases.deployments()).deployments == [ended]
    with pytest.raises(Conflict):
        await developer.releases.roll_back(ended.deployment_id, agent.did)


async def test_the_code_of_the_guide_walks_from_a_version_to_an_imported_agent(
    address: str, registry: TestRegistry, capsys: pytest.CaptureFixture[str]
):
    owner = await registry.developer()
    agent = await coder(owner)
    key = await owner.api_key("agents:create", "agents:read", "agents:write")
    (code,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)

    def walk() -> None:
        with Registry(address, developer=ApiKey(key.token)) as client:
            exec(code, {"registry": client, "did": agent.did, "url": URL})

    walking = asyncio.create_task(asyncio.to_thread(walk))
    while not walking.done():
        await run_due(registry.runtime, DEPLOYMENT_CHECKS)
        await asyncio.sleep(0.1)
    await walking
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("failed The host gave no answer")
    assert printed[-1].startswith("did:hansa:")
    assert printed[-1] != agent.did


async def test_a_bundle_is_exported_previewed_imported_and_forked(connect: Open, registry: TestRegistry):
    owner = await registry.developer()
    agent = await coder(owner)
    key = await owner.api_key("agents:create", "agents:read", "agents:write")
    developer, own = connect(developer=ApiKey(key.token)), connect(agent=credentials_of(agent))
    exported = await developer.bundles.export(agent.did)
    seen = await developer.bundles.preview(exported.bundle)
    assert (seen.dry_run, seen.imported_from["did"]) == (True, agent.did)
    made = await developer.bundles.bring_in(exported.bundle)
    assert made.agent_did != agent.did
    assert made.client_secret not in repr(made)
    assert made.warnings == seen.warnings
    forked = await own.bundles.fork(exported.bundle_id, name="Second", description="Another one.")
    assert forked.agent_card_name == "Second"
    with pytest.raises(NotFound):
        await own.bundles.fork("3fa85f64-5717-4562-b3fc-2c963f66afa6", name="Third")


async def test_the_commands_of_versions_deployments_and_bundles(
    address: str, registry: TestRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HANSA_CLIENT_DIR", str(tmp_path / "client"))
    monkeypatch.setenv("HANSA_CLIENT_PASSWORD", PASSWORD)
    at = Typed(tmp_path)
    await logged_in(at, address)
    await at.run("agent", "create", "--name", "Painter", "--url", URL)
    assert await at.run("versions") == "No versions.\n"
    made = await at.json("versions", "--register", "1.0", "--commit", "0123456789", "--notes", "First.")
    assert (await at.run("versions", "--activate", made["version_id"])).startswith("1.0  active")
    assert (await at.run("versions")).startswith("1.0  active")
    assert "one of" in await at.run("versions", "--register", "1", "--activate", "1", code=1)
    assert await at.run("deploy", "--list") == "No deployments.\n"
    asked = await at.json("deploy", made["version_id"], "--no-wait")
    assert asked["status"] == "pending"
    await run_due(registry.runtime, DEPLOYMENT_CHECKS)
    assert "1.0  failed" in await at.run("deploy", "--list")
    assert "Only the active" in await at.run("rollback", asked["deployment_id"], code=1)
    file = tmp_path / "painter.bundle.json"
    exported = await at.json("export", str(file))
    assert json.loads(file.read_text())["kind"] == "agent.bundle.v1"
    await at.run("export", str(file), code=1)
    assert "would be created" in await at.run("import", str(file), "--dry-run")
    imported = await at.json("import", str(file))
    assert imported["agent_did"] != made["agent_did"]
    await registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE agents_agent SET roles = '{client,service-provider}' WHERE did = $1", made["agent_did"]
        )
    )
    forked = await at.json("fork", exported["bundle_id"], "--name", "Second", "--agent", made["agent_did"])
    listed = await at.run("agent", "list")
    assert forked["agent_did"] in listed
    assert "hsk_" not in at.said
