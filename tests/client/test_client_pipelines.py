"""Pipelines by the client, and `hansa-client pipelines` and `runs`."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from hansa_client import ApiKey
from hansa_client.errors import Conflict, Invalid, NotFound
from tests.client.conftest import Open
from tests.client.faults import Faults
from tests.client.terminal import Typed, logged_in
from tests.client.test_client_contracts import credentials_of
from tests.pipelines import pipeline_jobs
from tests.registry import PASSWORD, TestRegistry

PAYEE, OTHER = "did:web:a.example", "did:web:b.example"


def step(name: str, **members: Any) -> dict[str, Any]:
    return {"id": name, "agent": PAYEE, "message": "{{/input/text}}", "max_amount": "1", **members}


async def test_an_agent_saves_and_runs_a_pipeline_and_its_owner_decides(
    connect: Open, registry: TestRegistry, faults: Faults
):
    owner = await registry.developer()
    agent = await owner.agent()
    own = connect(agent=credentials_of(agent))
    developer = connect(developer=ApiKey((await owner.api_key("agents:write", "agents:secrets")).token))
    path = f"/api/v1/agents/{agent.did}/pipelines"
    faults.next(path, "answer lost")
    made = await own.pipelines.create("Chain", [step("a", approval=True)], Decimal(2))
    first, again = faults.keys(path)
    assert first == again
    assert [one.id for one in (await developer.pipelines.list(agent.did)).items] == [made.id]
    replaced = await developer.pipelines.replace(
        made.id, "Other", [step("a", approval=True)], 3, description="Text", did=agent.did
    )
    assert await own.pipelines.read(made.id) == replaced
    assert (replaced.revision, replaced.name, replaced.budget) == (2, "Other", "3")
    started = await own.pipelines.start(made.id, {"text": "x"}, budget="1.5")
    assert started.status == "queued"
    run = await developer.pipelines.run(made.id, started.run_id, agent.did)
    assert (run.budget, run.is_under_way, run.input) == ("1.5", True, {"text": "x"})
    assert [one.run_id for one in (await own.pipelines.runs(made.id)).items] == [run.run_id]
    with pytest.raises(Conflict):
        await own.pipelines.resume(made.id, run.run_id)
    with pytest.raises(Conflict):
        await developer.pipelines.approve(made.id, run.run_id, "a", agent.did)
    with pytest.raises(Conflict):
        await developer.pipelines.deny(made.id, run.run_id, "a", agent.did)
    assert (await own.pipelines.cancel(made.id, run.run_id)).status == "cancelled"
    assert (await own.pipelines.delete(made.id)).id == made.id
    with pytest.raises(NotFound):
        await own.pipelines.read(made.id)
    with pytest.raises(Invalid):
        await own.pipelines.create("Chain", [step("a", needs=["b"])], 1)


async def test_a_developer_makes_a_pipeline_from_a_template(connect: Open, registry: TestRegistry):
    owner = await registry.developer()
    agent = await owner.agent()
    developer = connect(developer=ApiKey((await owner.api_key("agents:write")).token))
    templates = await developer.pipelines.templates()
    assert await developer.pipelines.template("best-of-n") == templates.items[0]
    parameters = {"workers": [PAYEE, OTHER], "judge": PAYEE, "max_amount": "1"}
    made = await developer.pipelines.instantiate("best-of-n", agent.did, parameters)
    assert [one["id"] for one in made.steps] == ["answer-1", "answer-2", "choose"]


async def test_commands_save_run_and_decide(
    address: str, registry: TestRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HANSA_CLIENT_DIR", str(tmp_path / "client"))
    monkeypatch.setenv("HANSA_CLIENT_PASSWORD", PASSWORD)
    at = Typed(tmp_path)
    await logged_in(at, address)
    await at.run("agent", "create", "--name", "Buyer")
    assert (await at.run("pipelines", "list")) == "No pipelines.\n"
    file = tmp_path / "chain.json"
    file.write_text(json.dumps({"name": "Chain", "steps": [step("a", approval=True)], "budget": "2"}))
    made = await at.json("pipelines", "create", str(file))
    assert "Chain: 1 steps, budget 2" in await at.run("pipelines", "show", made["id"])
    assert made["id"] in await at.run("pipelines", "replace", made["id"], str(file))
    file.write_text(json.dumps({"name": "Chain"}))
    assert "lacks the member budget" in await at.run("pipelines", "create", str(file), code=1)
    assert "best-of-n" in await at.run("pipelines", "templates")
    assert "workers: " in await at.run("pipelines", "templates", "best-of-n")
    given = [
        "-p",
        f"workers[]={PAYEE}",
        "-p",
        f"workers[]={OTHER}",
        "-p",
        f"judge={PAYEE}",
        "-p",
        "max_amount=1",
    ]
    assert "Best of n: 3 steps" in await at.run("pipelines", "instantiate", "best-of-n", *given)
    assert "name=value" in await at.run("pipelines", "instantiate", "best-of-n", "-p", "workers", code=1)
    async with pipeline_jobs(registry.runtime):
        run = await at.json("runs", "start", made["id"], "--input", '{"text": "x"}', "--wait")
        assert run["status"] == "waiting_approval"
        assert run["run_id"] in await at.run("runs", "list", made["id"])
        both = made["id"], run["run_id"]
        assert "waiting_approval" in await at.run("runs", "show", *both)
        assert "JSON object" in await at.run("runs", "start", made["id"], "--input", "x", code=1)
        await at.run("runs", "approve", *both, "a")
        failed = await at.json("runs", "show", *both, "--wait")
        assert failed["status"] == "failed"
        assert failed["steps"][0]["attempts"][0]["status"] == "refused"
        assert "running" in await at.run("runs", "resume", *both, "--budget", "5")
        await at.run("runs", "show", *both, "--wait")
        file.write_text(json.dumps({"text": "y"}))
        other = await at.json(
            "runs", "start", made["id"], "--input-file", str(file), "--budget", "1", "--wait"
        )
        await at.run("runs", "deny", made["id"], other["run_id"], "a")
        third = await at.json("runs", "start", made["id"])
        assert "cancelled" in await at.run("runs", "cancel", made["id"], third["run_id"])
    assert "was deleted" in await at.run("pipelines", "delete", made["id"])
