"""`hansa-client mcp`: configurations of MCP clients, and the proxy that they start (specification 8, section 2: stdio proxy)."""

import asyncio
import json
import shlex
import signal
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
from mcp.client.session import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client

from hansa.doors.mcp import PROTOCOL
from hansa_client.commands.opening import secret_of
from hansa_client.commands.profiles import Profile, Profiles, StoredAgent
from tests.conversations.test_buying import RESULT, Service, service
from tests.conversations.test_mcp_clients import called

__all__ = ["service"]

END_SECONDS = 60
LIST = {"jsonrpc": "2.0", "id": "list", "method": "tools/list", "params": {}}
BALANCE = {
    "jsonrpc": "2.0",
    "id": 7,
    "method": "tools/call",
    "params": {"name": "read_balance", "arguments": {}},
}


@dataclass
class Machine:
    """A machine with the client, whose profile has the caller of a served registry; `said` is all that its commands printed."""

    program: Path
    directory: Path
    address: str
    secrets: list[str]
    said: str = ""

    async def run(
        self, *arguments: str, lines: tuple[Any, ...] = (), code: int = 0, **environment: str
    ) -> tuple[list[Any], list[str]]:
        """Messages on standard output and lines of standard error of a command that gets these lines."""
        process = await self.start(*arguments, **environment)
        text = "".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in lines)
        async with asyncio.timeout(END_SECONDS):
            output, complaint = [one.decode() for one in await process.communicate(text.encode())]
        self.said += output + complaint
        assert process.returncode == code, complaint
        return [json.loads(line) for line in output.splitlines()], complaint.splitlines()

    async def start(self, *arguments: str, **environment: str) -> asyncio.subprocess.Process:
        """Start a command."""
        stated = {"HANSA_CLIENT_DIR": str(self.directory), **environment}
        return await asyncio.create_subprocess_exec(
            self.program, *arguments, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=stated
        )

    async def configuration(self, *arguments: str) -> dict[str, Any]:
        """The configurations that `mcp` prints, by client."""
        process = await self.start("mcp", *arguments, "--json")
        output, complaint = [one.decode() for one in await process.communicate()]
        self.said += output + complaint
        assert process.returncode == 0, complaint
        configurations: dict[str, Any] = json.loads(output)
        return configurations


@pytest.fixture
async def machine(service: Service, programs: Path, tmp_path: Path) -> AsyncIterator[Machine]:
    registry, caller = service.payments.registry, service.payments.caller
    await PROTOCOL.of(registry.runtime).load()
    await registry.indexed()
    directory = tmp_path / "hansa-client"
    directory.mkdir()
    secret = caller.created["client_secret"]
    async with registry.listening() as place:
        stored = StoredAgent(caller.did, caller.created["client_id"], "Caller")
        profiles = Profiles("default", {"default": Profile(f"http://{place}", None, [stored], caller.did)})
        (directory / "profiles.json").write_bytes(msgspec.json.encode(profiles))
        (directory / "credentials.json").write_text(json.dumps({f"default/{secret_of(caller.did)}": secret}))
        machine = Machine(
            programs / "hansa-client", directory, f"http://{place}", [secret, caller.token, "not-a-token"]
        )
        yield machine
        assert not [one for one in machine.secrets if one in machine.said]


async def test_the_sdk_finds_previews_and_buys_through_the_printed_configuration(
    machine: Machine, service: Service
):
    """The client of the protocol's own SDK starts the program that a configuration names."""
    printed = await machine.configuration("--client", "json")
    stated = printed["json"]["mcpServers"]["hansa"]
    errors = machine.directory / "errors"
    with errors.open("w") as kept:
        async with (
            stdio_client(StdioServerParameters(**stated), errlog=kept) as (read, write),
            ClientSession(read, write) as session,
        ):
            started = await session.initialize()
            assert started.server_info.name == "hansa"
            assert "buy_call" in [tool.name for tool in (await session.list_tools()).tools]
            found = await called(session, "find_agents", q="Service", answerable_only=False)
            payee = next(one["did"] for one in found["results"] if one["name"] == "Service")
            preview = await called(session, "preview_call", agent=payee, message="good morning")
            # Answers come to their requests, however many are under way.
            bought, again, balance = await asyncio.gather(
                called(session, "buy_call", intent=preview["intent"]),
                called(session, "read_agent", agent=payee),
                session.send_ping(),
            )
            assert (bought["status"], bought["answer"]["result"]) == ("settled", RESULT)
            assert (again["name"], balance.meta) == ("Service", None)
            assert await called(session, "buy_call", intent=preview["intent"]) == bought
            assert (await called(session, "read_balance"))["balance"] == "97.4875"
            refused = await session.call_tool("buy_call", {"intent": "int_" + "0" * 32})
            assert refused.is_error
    assert errors.read_text() == ""
    assert len(service.calls) == 1


async def test_a_token_of_the_environment_comes_before_the_profile_and_faults_are_errors_of_their_requests(
    machine: Machine, service: Service
):
    """The proxy by hand, line by line: it ends with its input and prints JSON-RPC alone."""
    person = await service.payments.registry.developer()
    await person.agent(name="Own")
    machine.secrets.append(person.token)
    lines = (
        LIST,
        "",
        "no JSON",
        [LIST],
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 3, "method": "no/such"},
        {"jsonrpc": "2.0", "id": 4, "result": {}},
        {**BALANCE, "params": {"name": "list_my_agents", "arguments": {}}},
    )
    printed, complaints = await machine.run("mcp", "serve", lines=lines, HANSA_CLIENT_TOKEN=person.token)
    answers = {one["id"]: one for one in printed if one["id"] is not None}
    assert {*answers} == {"list", 3, 7}
    assert answers[3]["error"]["code"] == -32601
    own = answers[7]["result"]["structuredContent"]["result"]
    assert "Own" in str(own), "an agent has no list of agents"
    assert sorted(one["error"]["code"] for one in printed if one["id"] is None) == [-32700, -32600]
    assert len(complaints) == 2
    gateway, _ = await machine.run("mcp", "serve", "--gateway", lines=(LIST,))
    assert [tool["name"] for tool in gateway[0]["result"]["tools"]] == [
        "call_tool",
        "describe_tool",
        "search_tools",
    ]


async def test_a_revision_without_a_handshake_carries_its_version_in_each_message(machine: Machine):
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    }
    unknown = {**meta, "io.modelcontextprotocol/protocolVersion": "1999-01-01"}
    lines = (
        {**BALANCE, "params": {**BALANCE["params"], "_meta": meta}},
        {**LIST, "params": {"_meta": unknown}},
        {**BALANCE, "id": 8, "params": {"name": "münze", "arguments": {}, "_meta": meta}},
    )
    printed, _ = await machine.run("mcp", "serve", lines=lines)
    answers = {one["id"]: one for one in printed}
    assert answers[7]["result"]["structuredContent"]["result"]["balance"] == "100"
    assert "2026-07-28" in answers["list"]["error"]["data"]["supported"]
    assert answers[8]["error"]["message"] == "Unknown tool: münze"


async def test_a_refused_credential_and_a_silent_registry_are_one_sentence_each(machine: Machine):
    for environment, sentence, status in (
        ({"HANSA_CLIENT_TOKEN": "not-a-token"}, "(AUTH_FAILED)", 401),
        (
            {"HANSA_CLIENT_TOKEN": "not-a-token", "URL": "http://127.0.0.1:1"},
            "The registry does not answer",
            None,
        ),
    ):
        url = environment.pop("URL", machine.address)
        printed, complaints = await machine.run("mcp", "serve", "--url", url, lines=(LIST,), **environment)
        [answer], [complaint] = printed, complaints
        assert answer["id"] == "list"
        assert sentence in answer["error"]["message"]
        assert (answer["error"].get("data") or {}).get("status") == status
        assert complaint == f"hansa-client: {answer['error']['message']}"
    for arguments, expected in (
        (("--url", machine.address), "The registry of --url needs a token: set HANSA_CLIENT_TOKEN."),
        (("--agent", "Nobody"), "The credentials of the agent Nobody are not stored in this profile."),
    ):
        nothing, complaints = await machine.run("mcp", "serve", *arguments, code=1)
        assert (nothing, complaints) == ([], [f"hansa-client: {expected}"])


async def test_a_request_ends_with_its_cancellation_and_the_proxy_with_its_input_or_a_signal(
    machine: Machine, service: Service
):
    service.is_silent = True
    proxy = await machine.start("mcp", "serve")
    assert proxy.stdin is not None
    assert proxy.stdout is not None
    preview = {"agent": service.payments.service.did, "message": "good morning"}
    write(proxy.stdin, tool_call(1, "preview_call", **preview))
    shown = json.loads(await proxy.stdout.readline())["result"]["structuredContent"]["result"]
    write(proxy.stdin, tool_call(2, "buy_call", intent=shown["intent"]))
    async with asyncio.timeout(END_SECONDS):
        await service.have_come.wait()
        write(
            proxy.stdin,
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}},
            tool_call(3, "read_balance"),
        )
        # A cancelled request has no answer.
        assert json.loads(await proxy.stdout.readline())["id"] == 3
        proxy.stdin.close()
        assert (await proxy.wait(), await proxy.stdout.read()) == (0, b"")
        waiting = await machine.start("mcp", "serve")
        assert waiting.stdin is not None
        assert waiting.stdout is not None
        write(waiting.stdin, LIST)
        assert json.loads(await waiting.stdout.readline())["id"] == "list"
        waiting.send_signal(signal.SIGTERM)
        assert await waiting.wait() == -signal.SIGTERM


def write(to: asyncio.StreamWriter, *messages: Any) -> None:
    to.writelines(json.dumps(one).encode() + b"\n" for one in messages)


def tool_call(number: int, name: str, **arguments: Any) -> dict[str, Any]:
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


async def test_each_client_gets_its_own_form_and_no_secret(machine: Machine, service: Service):
    printed = await machine.configuration("--name", "market", "--gateway")
    program, did = str(machine.program), service.payments.caller.did
    arguments = ["mcp", "serve", "--profile", "default", "--agent", did, "--gateway"]
    variables = {"HANSA_CLIENT_DIR": str(machine.directory)}
    stated = {"command": program, "args": arguments, "env": variables}
    line = shlex.split(printed.pop("claude-code"))
    assert line[:4] == ["claude", "mcp", "add", "market"]
    assert line[line.index("--") + 1 :] == [program, *arguments]
    assert printed == {
        "claude-desktop": {"mcpServers": {"market": stated}},
        "cursor": {"mcpServers": {"market": stated}},
        "vscode": {"servers": {"market": {"type": "stdio", **stated}}},
        "windsurf": {"mcpServers": {"market": stated}},
        "zed": {"context_servers": {"market": {"source": "custom", **stated}}},
        "json": {"mcpServers": {"market": stated}},
    }
    placed = await machine.configuration("--url", f"{machine.address}/mcp", "--client", "json")
    server = placed["json"]["mcpServers"]["hansa"]
    assert server["args"] == ["mcp", "serve", "--url", machine.address]
    assert server["env"]["HANSA_CLIENT_TOKEN"].startswith("<")
