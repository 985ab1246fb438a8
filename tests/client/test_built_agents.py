"""Projects of the agent builder as their owner finds them: linted, typed, tested, run as a process and bought from at a registry.

The engine of `adk_agent` is the one without a model that its tests bring: the Agent Development Kit is not installed with this suite.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from hansa_client import AsyncRegistry
from tests.built_agents import TYPES, files_of, generated, unpacked
from tests.client.clean_environment import ROOT
from tests.client.paid import credentials_of
from tests.conversations.conftest import registry_of_file
from tests.doors.served import served
from tests.operation.registry_process import free_port, until_async
from tests.outside import host
from tests.registry import StartRegistry, TestAgent, TestDeveloper, TestRegistry

__all__ = ["registry_of_file"]

PRICE = "0.05"
ENGINE = {"AGENT_ENGINE": "tests.engine:RepeatingEngine"}
# One set of options for all, so that they share a cache. The Agent Development Kit is not there to be read.
TYPED = (
    "--strict",
    "--config-file=",
    "--cache-dir",
    str(ROOT / ".mypy_cache" / "built_agents"),
    "--disable-error-code=import-not-found",
    "--disable-error-code=import-untyped",
)
ANSWERS = {
    "simple_wrapper": "good morning to you",
    "adk_agent": "23: good morning",
    "paid_function": "2 words, 12 characters",
    "mcp_server": "2 words, 12 characters",
}


async def wrapped(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """The service behind `simple_wrapper`: it refuses one text, and answers every other."""
    sent = json.loads(await reader.readuntil(b"}"))
    body = f"{sent['text']} to you".encode()
    status = "500 Failed" if sent["text"] == "fail" else "200 OK"
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n"
    writer.write(head.encode() + b"Connection: close\r\n\r\n" + body)


def run(directory: Path, *command: str, **variables: str) -> None:
    """A program of the suite's interpreter in a project."""
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **variables}
    ended = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


@asynccontextmanager
async def running(directory: Path, port: int, agent: TestAgent) -> AsyncIterator[None]:
    """A project as a process, by the command of its README."""
    variables = {
        "PATH": os.environ["PATH"],
        "HOST": "127.0.0.1",
        "PORT": str(port),
        "PUBLIC_URL": f"http://127.0.0.1:{port}",
        "AGENT_DID": agent.did,
        "CLIENT_ID": agent.created["client_id"],
        "CLIENT_SECRET": agent.created["client_secret"],
        **ENGINE,
    }
    log = (directory / "log").open("wb")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "agent", cwd=directory, env=variables, stdout=log, stderr=log
    )
    try:
        await until_async(lambda: serves(process, port, directory))
        yield
    finally:
        if process.returncode is None:
            process.terminate()
        assert await process.wait() in {0, -15}
        log.close()


async def serves(process: asyncio.subprocess.Process, port: int, directory: Path) -> bool:
    assert process.returncode is None, (directory / "log").read_text()
    try:
        async with httpx2.AsyncClient() as http:
            return (await http.get(f"http://127.0.0.1:{port}/.well-known/agent-card.json")).is_success
    except httpx2.TransportError:
        return False


@pytest.fixture
def ports() -> dict[str, int]:
    return {builder_type: free_port() for builder_type in TYPES}


@pytest.fixture
async def registry(start_registry: StartRegistry, ports: dict[str, int]) -> AsyncIterator[TestRegistry]:
    """A registry that answers at its own address and calls the agents of this file."""
    places = ",".join(f"127.0.0.1:{port}" for port in ports.values())
    async with served(start_registry, outgoing_allow_user_hosts=places) as registry:
        yield registry


def call_of(builder_type: str, text: str) -> dict[str, Any]:
    """The call as a purchase at the registry states it."""
    if builder_type != "mcp_server":
        return {"message": text}
    return {"request": {"method": "tools/call", "params": {"name": "answer", "arguments": {"text": text}}}}


async def bought(registry: TestRegistry, payer: TestAgent, payee: TestAgent, call: dict[str, Any]) -> Any:
    body = {"target_agent_did": payee.did, "max_amount": PRICE, **call}
    answer = await registry.post("/a2a-payment/buy", json=body, headers=payer.headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def sell(registry: TestRegistry, owner: TestDeveloper, builder_type: str, port: int, at: Path) -> None:
    """Generate a project, run it as an agent of the owner, and buy from it."""
    async with host(wrapped) as service:
        members = {"price": PRICE}
        if builder_type == "simple_wrapper":
            members["wrapper_url"] = f"http://127.0.0.1:{service.port}/answer"
        project = unpacked(await generated(owner, builder_type, **members), at)
        card = json.loads((project / "agent-card.json").read_text())
        interface = card["supportedInterfaces"][0]
        interface["url"] = interface["url"].replace("127.0.0.1:8080", f"127.0.0.1:{port}")
        payee, payer = await owner.agent(**card), await registry.agent(name="Payer")
        async with running(project, port, payee):
            before = float(await payee.balance())
            sale = await bought(registry, payer, payee, call_of(builder_type, "good morning"))
            assert (sale["status"], sale["amount"]) == ("settled", PRICE), sale
            assert ANSWERS[builder_type] in json.dumps(sale["answer"])
            await pay_directly(registry, payer, payee, interface["url"], builder_type)
            assert float(await payee.balance()) == pytest.approx(before + 2 * float(PRICE))
            if builder_type == "simple_wrapper":
                failed = await bought(registry, payer, payee, call_of(builder_type, "fail"))
                assert failed["status"] == "released", failed


async def pay_directly(
    registry: TestRegistry, payer: TestAgent, payee: TestAgent, url: str, builder_type: str
) -> None:
    """Call the agent without a payment, then with a token that it captures itself."""
    message = {"messageId": "1", "role": "ROLE_USER", "parts": [{"text": "good morning"}]}
    body: dict[str, Any] = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "SendMessage",
        "params": {"message": message},
    }
    if builder_type == "mcp_server":
        body.update(call_of(builder_type, "good morning")["request"])
    headers = {"A2A-Version": "1.0", "Accept": "application/json, text/event-stream"}
    async with (
        AsyncRegistry(registry.settings.base_url, agent=credentials_of(payer)) as client,
        httpx2.AsyncClient(timeout=60, headers=headers) as http,
    ):
        unpaid = await http.post(url, json=body)
        assert '"x402Version"' in unpaid.text or unpaid.status_code == 402, unpaid.text
        assert ANSWERS[builder_type] not in unpaid.text
        token = await client.payments.authorize(payee.did, PRICE, capture_by="payee")
        payment = {"X-Payment-Token": token.token, "X-Payment-Issuer": token.issuer}
        paid = await http.post(url, json=body, headers=payment)
        assert ANSWERS[builder_type] in paid.text, paid.text
        [stored] = [one for one in await client.payments.tokens() if one.token_id == token.token_id]
        assert stored.status == "settled"


@pytest.mark.parametrize("builder_type", TYPES)
async def test_a_generated_project_is_formatted_linted_typed_and_passes_its_tests(
    registry_of_file: TestRegistry, tmp_path: Path, builder_type: str
) -> None:
    project = unpacked(await generated(await registry_of_file.developer(), builder_type), tmp_path)
    house = ("--config", str(ROOT / "pyproject.toml"), "--no-cache")
    run(project, "ruff", "format", "--check", *house)
    run(project, "ruff", "check", *house)
    run(project, "mypy", *TYPED, "-p", "agent", "-p", "tests")
    run(project, "pytest", "-q", "-p", "no:cacheprovider")


async def test_the_packages_of_a_project_are_those_that_the_registry_serves(
    registry_of_file: TestRegistry,
) -> None:
    owner = await registry_of_file.developer()
    base_url = registry_of_file.settings.base_url
    transport = httpx2.ASGITransport(app=registry_of_file.app)
    for builder_type in TYPES:
        lines = files_of(await generated(owner, builder_type))["requirements.txt"].decode().splitlines()
        wheels = [line.partition(" @ ")[2] for line in lines if " @ " in line]
        assert len(wheels) == 2
        assert all(address.startswith(f"{base_url}/client/") for address in wheels)
        async with httpx2.AsyncClient(transport=transport, base_url=base_url) as http:
            assert [(await http.get(address)).status_code for address in wheels] == [200, 200]


async def test_agents_of_each_type_run_as_processes_and_are_bought_from(
    registry: TestRegistry, ports: dict[str, int], tmp_path: Path
) -> None:
    owner = await registry.developer()
    for builder_type, port in ports.items():
        await sell(registry, owner, builder_type, port, tmp_path / builder_type)
    assert (await registry.supply())["delta"] == "0"
