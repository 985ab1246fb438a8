"""Projects of the agent builder by the client, and by its command."""

from pathlib import Path

import pytest

from hansa_client import ApiKey
from hansa_client.errors import Forbidden, Invalid
from tests.built_agents import asked, files_of, generated
from tests.client.conftest import Open
from tests.client.faults import Faults
from tests.client.terminal import Typed, logged_in
from tests.registry import PASSWORD, TestRegistry

TEXTS = ("Word counter", "Counts the words of a text.")


async def test_a_project_is_built_by_an_api_key_that_reads_agents(
    connect: Open, registry: TestRegistry, faults: Faults
):
    owner = await registry.developer()
    developer = connect(developer=ApiKey((await owner.api_key("agents:read")).token))
    # Nothing is stored, so that a lost answer is asked for again.
    faults.next("/api/v1/agent-builder/generate", "answer lost")
    archive = await developer.agents.build_project(*TEXTS, "paid_function", price="0.05")
    assert archive == await generated(owner, "paid_function")
    with pytest.raises(Invalid) as refused:
        await developer.agents.build_project(*TEXTS, "simple_wrapper")
    assert refused.value.field == "wrapper_url"
    narrow = connect(developer=ApiKey((await owner.api_key("ledger:read")).token))
    with pytest.raises(Forbidden):
        await narrow.agents.build_project(*TEXTS, "mcp_server")


async def test_the_command_writes_a_project_to_a_new_file(
    address: str, registry: TestRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HANSA_CLIENT_DIR", str(tmp_path / "client"))
    monkeypatch.setenv("HANSA_CLIENT_PASSWORD", PASSWORD)
    at = Typed(tmp_path)
    await logged_in(at, address)
    file = tmp_path / "agent.zip"
    own = asked("adk_agent")
    texts = ("--name", own["agent_name"], "--description", own["agent_description"])
    model = ("--adk-model", own["adk_model"], "--adk-instruction", own["adk_instruction"])
    command = ("build-agent", str(file), *texts, "--type", "adk_agent", *model)
    made = await at.json(*command)
    assert made == {"file": str(file), "bytes": file.stat().st_size}
    assert "agent/adk_engine.py" in files_of(file.read_bytes())
    assert "agent.zip" in await at.run(*command, code=1)
    refused = await at.run(
        "build-agent", str(tmp_path / "other.zip"), *texts, "--type", "mcp_server", *model, code=1
    )
    assert "adk_" in refused
    assert not (tmp_path / "other.zip").exists()
