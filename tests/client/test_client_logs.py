"""Logs of agents by the client, and `hansa-client logs`."""

import asyncio
import json
from pathlib import Path

import msgspec
import pytest

from hansa_client import AgentCredentials, ApiKey, Registry, RetryPolicy
from hansa_client.commands import logs as logs_command
from hansa_client.commands.logs import follow_log, print_entry
from hansa_client.errors import Forbidden, Invalid, NotFound
from hansa_client.records.logs import LogEntry
from tests.client.conftest import Open
from tests.client.faults import Faults
from tests.client.terminal import Typed, logged_in
from tests.client.test_client_contracts import credentials_of
from tests.registry import PASSWORD, TestAgent, TestRegistry

HOSTILE = "\x1b]0;owned\x07\x1b[2J<script>alert(1)</script>\u202e\r\nERROR  forged"


def entry(message: str, level: str = "INFO") -> dict[str, str]:
    return {"level": level, "message": message}


async def test_an_agent_writes_its_log_and_its_owner_reads_and_deletes_it(
    connect: Open, registry: TestRegistry, faults: Faults
):
    owner = await registry.developer()
    agent = await owner.agent()
    own = connect(agent=credentials_of(agent))
    developer = connect(developer=ApiKey((await owner.api_key("agents:write")).token))
    path = f"/api/v1/agents/{agent.did}/logs"
    faults.next(path, "answer lost")
    assert await own.logs.write([entry("One"), entry("Two", "ERROR")]) == 2
    first, again = faults.keys(path)
    assert first == again
    page = await developer.logs.read(agent.did)
    assert [(one.level, one.message, one.source) for one in page.logs] == [
        ("ERROR", "Two", "agent"),
        ("INFO", "One", "agent"),
    ]
    found = await own.logs.read(level="ERROR", text="tw", source="agent", since=page.logs[0].timestamp)
    assert found.logs == page.logs[:1]
    part = await own.logs.read(limit=1)
    assert (await own.logs.read(limit=1, next=part.next)).logs == page.logs[1:]
    with pytest.raises(Invalid):
        await own.logs.write([entry("x", "LOUD")])
    with pytest.raises(NotFound):
        await developer.logs.read((await registry.agent()).did)
    assert await developer.logs.delete(agent.did) == 2
    assert (await own.logs.read()).logs == []


async def test_entries_after_one_are_found_once_and_in_order_also_when_it_is_gone(
    connect: Open, registry: TestRegistry
):
    owner = await registry.developer()
    agent = await owner.agent()
    own = connect(agent=credentials_of(agent))
    developer = connect(developer=ApiKey((await owner.api_key("agents:write")).token))
    await own.logs.write([entry("One")])
    (last,) = (await own.logs.read()).logs
    assert await own.logs.after(last) == []
    for first in range(0, 550, 50):
        await own.logs.write([entry(f"Entry {number}") for number in range(first, first + 50)])
    assert [one.message for one in await own.logs.after(last)] == [f"Entry {number}" for number in range(550)]
    await developer.logs.delete(agent.did)
    await own.logs.write([entry("After")])
    assert [one.message for one in await own.logs.after(last)] == ["After"]


def registry_of(agent: TestAgent, address: str, faults: Faults) -> Registry:
    credentials = AgentCredentials(agent.created["client_id"], agent.created["client_secret"])
    return Registry(
        address, agent=credentials, http_transport=faults.synchronous(), retries=RetryPolicy(attempts=1)
    )


async def test_a_log_is_followed_beyond_an_outage_that_is_named_once(
    registry: TestRegistry,
    address: str,
    faults: Faults,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    agent = await registry.agent()
    path = f"/api/v1/agents/{agent.did}/logs"
    for message in ("One", "Two"):
        await registry.post(f"/agents/{agent.did}/logs", json=entry(message), headers=agent.headers)
    monkeypatch.setattr(logs_command, "POLL_SECONDS", 0.0)
    faults.next(path, "", "request lost", "request lost", "", "403")

    def follow() -> None:
        with registry_of(agent, address, faults) as client:
            follow_log(client, None, level=None, text=None, as_json=False)

    with pytest.raises(Forbidden):
        await asyncio.to_thread(follow)
    printed = capsys.readouterr()
    assert [line.rpartition("  ")[2] for line in printed.out.splitlines()] == ["One", "Two"]
    assert len(printed.err.splitlines()) == 1
    assert printed.err.endswith("Trying again.\n")


async def test_entries_that_are_followed_are_harmless_on_a_terminal(
    registry: TestRegistry,
    address: str,
    faults: Faults,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    agent = await registry.agent()
    path = f"/api/v1/agents/{agent.did}/logs"
    body = {"entries": [{**entry(HOSTILE, "ERROR"), "log_metadata": {HOSTILE: HOSTILE}}, entry("Last")]}
    await registry.post(f"/agents/{agent.did}/logs", json=body, headers=agent.headers)
    monkeypatch.setattr(logs_command, "POLL_SECONDS", 0.0)
    for as_json in (False, True):
        faults.next(path, "", "403")

        def follow(as_json: bool = as_json) -> None:
            with registry_of(agent, address, faults) as client:
                follow_log(client, None, level=None, text=None, as_json=as_json)

        with pytest.raises(Forbidden):
            await asyncio.to_thread(follow)
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == 2
        assert all(character.isprintable() for line in lines for character in line)


async def test_the_command_prints_entries_that_are_harmless_on_a_terminal(
    address: str, registry: TestRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HANSA_CLIENT_DIR", str(tmp_path / "client"))
    monkeypatch.setenv("HANSA_CLIENT_PASSWORD", PASSWORD)
    at = Typed(tmp_path)
    await logged_in(at, address)
    await at.run("agent", "create", "--name", "Painter")
    file = tmp_path / "painter.json"
    await at.run("agent", "export", str(file))
    stored = json.loads(file.read_text())
    with Registry(address, agent=AgentCredentials(stored["client_id"], stored["client_secret"])) as client:
        await asyncio.to_thread(client.logs.write, [entry("Started"), entry(HOSTILE, "WARN")])
    lines = (await at.run("logs")).splitlines()
    assert len(lines) == 2
    assert lines[0].endswith("INFO   Started")
    assert all(character.isprintable() for line in lines for character in line)
    assert "<script>alert(1)</script>" in lines[1]
    assert (await at.run("logs", "--level", "ERROR")) == ""
    assert [json.loads(line)["level"] for line in (await at.run("logs", "--json")).splitlines()] == [
        "INFO",
        "WARN",
    ]


def test_an_entry_of_a_hostile_registry_is_harmless_as_well(capsys: pytest.CaptureFixture[str]):
    moment = "2026-01-31T12:00:00Z"
    hostile = msgspec.convert(
        {
            "id": "1",
            "level": HOSTILE,
            "message": HOSTILE,
            "log_metadata": {HOSTILE: HOSTILE},
            "trace_id": None,
            "source": "agent",
            "timestamp": moment,
        },
        LogEntry,
    )
    for as_json in (False, True):
        print_entry(hostile, as_json=as_json)
        (line,) = capsys.readouterr().out.splitlines()
        assert "\x1b" not in line
        assert "\x07" not in line
    print_entry(hostile, as_json=False)
    assert "\u202e" not in capsys.readouterr().out
