"""Children of agents by the client, and `hansa-client spawn`, `children` and `spawn-end`."""

import json
from pathlib import Path

import pytest

from hansa_client import ApiKey
from hansa_client.errors import ApprovalNeeded, Forbidden, NotFound
from tests.client.conftest import Open
from tests.client.faults import Faults
from tests.client.terminal import Typed, logged_in
from tests.client.test_client_contracts import credentials_of
from tests.registry import PASSWORD, TestRegistry


async def test_an_agent_spawns_one_child_though_the_answer_was_lost_and_ends_it(
    connect: Open, registry: TestRegistry, faults: Faults
):
    parent = await registry.agent()
    own = connect(agent=credentials_of(parent))
    faults.next(f"/api/v1/agents/{parent.did}/spawn", "answer lost")
    made = await own.children.spawn(
        "Helper", "10", roles=["client"], spend_policy={"per_tx_max": "2"}, ttl_seconds=3600
    )
    assert (made.parent_did, made.credentials.client_id) == (parent.did, made.client_id)
    (child,) = await own.children.list()
    assert (child.child_did, child.state, child.balance) == (made.agent_did, "living", "10")
    assert child.expires_at == made.expires_at
    ended = await own.children.end(made.agent_did)
    assert (ended.state, ended.waits_for, ended.balance) == ("ended", [], "0")
    assert ended.returned is not None
    with pytest.raises(Forbidden):
        await own.children.spawn("Helper", "1", roles=["staker"])


async def test_a_developer_spawns_lists_and_ends_children_of_an_own_agent(
    connect: Open, registry: TestRegistry
):
    owner = await registry.developer()
    parent, stranger = await owner.agent(), await registry.agent()
    developer = connect(
        developer=ApiKey((await owner.api_key("agents:read", "agents:write", "agents:secrets")).token)
    )
    made = [
        await developer.children.spawn(f"Helper {number}", "1", parent_did=parent.did) for number in range(2)
    ]
    listed = await developer.children.list(parent.did)
    assert [child.child_did for child in listed] == [child.agent_did for child in made[::-1]]
    assert (await developer.children.end(made[0].agent_did, as_owner=True)).state == "ended"
    with pytest.raises(NotFound):
        await developer.children.list(stranger.did)


async def test_a_purse_that_needs_an_approval_names_the_key_to_repeat_it_with(
    connect: Open, registry: TestRegistry
):
    owner = await registry.developer()
    parent = await owner.agent()
    body = {"spend_policy": {"approval_over": "5"}}
    await registry.http.put(f"/api/v1/agents/{parent.did}/authz", json=body, headers=owner.headers)
    own = connect(agent=credentials_of(parent))
    with pytest.raises(ApprovalNeeded) as waiting:
        await own.children.spawn("Helper", "10")
    path = f"/agents/{parent.did}/spend-approvals/{waiting.value.pending.approval_id}/approve"
    await registry.post(path, headers=owner.headers)
    made = await own.children.spawn("Helper", "10", key=waiting.value.idempotency_key)
    assert made.parent_did == parent.did


async def test_the_commands_spawn_show_and_end_a_child(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HANSA_CLIENT_DIR", str(tmp_path / "client"))
    monkeypatch.setenv("HANSA_CLIENT_PASSWORD", PASSWORD)
    at = Typed(tmp_path)
    await logged_in(at, address)
    await at.run("agent", "create", "--name", "Painter")
    made = json.loads(await at.run("spawn", "Helper", "10", "--ttl", "3600", "--role", "client", "--json"))
    assert (await at.run("children")).startswith("living  10  Helper")
    # Its credentials are stored beside those of its parent.
    assert (await at.run("balance", "--agent", "Helper")).startswith("10")
    assert (await at.run("spawn-end", made["agent_did"])).startswith("ended, 9.95")
    assert json.loads(await at.run("children", "--json"))[0]["state"] == "ended"
