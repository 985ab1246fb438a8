"""Metrics of agents by the client, and `hansa-client metrics`."""

import json
from pathlib import Path

import msgspec
import pytest

from hansa.rooms.operations.metrics.counting import add_settled
from hansa_client import ApiKey
from hansa_client.commands.metrics import print_metrics
from hansa_client.errors import Invalid, NotFound
from hansa_client.records.metrics import AgentMetrics
from tests.client.conftest import Open
from tests.client.terminal import Typed, logged_in
from tests.client.test_client_contracts import credentials_of
from tests.registry import PASSWORD, TestRegistry

HOSTILE = "\x1b]0;owned\x07\x1b[2J\u202e\u200f\r\nforged"


async def counted(registry: TestRegistry) -> None:
    await registry.transactions_ended()
    await registry.database.transaction(lambda tx: add_settled(tx, registry.runtime))


async def test_an_agent_and_its_owner_read_the_same_metrics(connect: Open, registry: TestRegistry):
    owner = await registry.developer()
    agent = await owner.agent()
    await agent.transfer(await registry.agent(), "1.5")
    await counted(registry)
    own = connect(agent=credentials_of(agent))
    developer = connect(developer=ApiKey((await owner.api_key("agents:read")).token))
    found = await own.metrics.read()
    assert (found.agent_did, found.time_range, found.totals.spent, found.totals.success_rate) == (
        agent.did,
        "24h",
        "1.5",
        None,
    )
    assert (await developer.metrics.read(agent.did, time_range="1h")).series[-1].uptime is None
    assert found.from_ == found.series[0].at < found.to
    assert found.computed_at <= found.to
    with pytest.raises(NotFound):
        await developer.metrics.read((await registry.agent()).did)
    with pytest.raises(Invalid):
        await own.metrics.read(time_range="2h")


async def test_the_command_prints_totals_and_points_with_figures(
    address: str, registry: TestRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HANSA_CLIENT_DIR", str(tmp_path / "client"))
    monkeypatch.setenv("HANSA_CLIENT_PASSWORD", PASSWORD)
    at = Typed(tmp_path)
    await logged_in(at, address)
    await at.run("agent", "create", "--name", "Painter")
    payer = await registry.agent()
    shown = json.loads(await at.run("metrics", "--json"))
    await payer.transfer(shown["agent_did"], "2.25")
    await counted(registry)
    lines = (await at.run("metrics")).splitlines()
    assert lines[0].startswith(shown["agent_did"])
    assert "earned         2.25" in "\n".join(lines)
    assert [line for line in lines if "earned=2.25" in line]
    of_owner = (await at.run("metrics", shown["agent_did"], "--range", "7d")).splitlines()
    assert of_owner[0].endswith("7d")
    json_of_owner = json.loads(await at.run("metrics", shown["agent_did"], "--range", "7d", "--json"))
    assert (json_of_owner["totals"]["earned"], len(json_of_owner["series"])) == ("2.25", 56)


def test_metrics_of_a_hostile_registry_are_harmless_on_a_terminal(capsys: pytest.CaptureFixture[str]):
    moment = "2026-01-31T12:00:00Z"
    figures = {
        **dict.fromkeys(("paid_calls", "failed", "api_requests", "api_errors", "log_errors"), 1),
        **dict.fromkeys(("earned", "spent", "fees"), HOSTILE),
        **dict.fromkeys(("success_rate", "settle_p50_ms", "settle_p95_ms", "uptime")),
    }
    hostile = msgspec.convert(
        {
            "agent_did": HOSTILE,
            "time_range": HOSTILE,
            "from": moment,
            "to": moment,
            "totals": figures,
            "series": [{**figures, "at": moment}],
            "computed_at": moment,
        },
        AgentMetrics,
    )
    print_metrics(hostile, as_json=False)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + len(figures) + 1
    assert all(character.isprintable() for line in lines for character in line)
    print_metrics(hostile, as_json=True)
    (line,) = capsys.readouterr().out.splitlines()
    assert "\x1b" not in line
