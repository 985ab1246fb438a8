"""Alive is who answers a question of the A2A protocol; whatever else answers is not."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette

from hansa.doors.serving.listeners import listen
from hansa.rooms.catalogue.pulls.liveness import liveness_of, question_to
from hansa.rooms.catalogue.pulls.records import Interface
from hansa.rooms.catalogue.pulls.rules import PAUSE_MEANS_MAX, recheck_pause
from tests.registry import DatabaseFarm, TestAgent, TestRegistry
from tests.rooms.catalogue.pulls.agent_host import (
    AgentHost,
    Reply,
    check_health,
    forget_visits,
    hosted_agent,
    let_be_due,
    observed,
    pull_cards,
    registry_beside_a_host,
    visit_of,
)
from tests.rooms.catalogue.pulls.official_server import official_agent

NEW = Interface("https://agent.example.org/a2a", "JSONRPC", "1.0")
OLD = Interface("https://agent.example.org/a2a", "JSONRPC", "0.3.0")


class Stage:
    """A registry and a host of agents that it may call."""

    def __init__(self, registry: TestRegistry, agents: AgentHost) -> None:
        self.registry, self.agents = registry, agents

    async def agent(self, **card: Any) -> TestAgent:
        return await self.registry.agent(
            **{"supportedInterfaces": self.agents.card()["supportedInterfaces"], **card}
        )

    async def call(self) -> int:
        """Call every agent, as if its time had come."""
        await let_be_due(self.registry)
        self.agents.asked.clear()
        return await check_health(self.registry)


@pytest.fixture(scope="module")
async def opened(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stage]:
    dsn = await database_farm.fresh()
    async with registry_beside_a_host(dsn, tmp_path_factory.mktemp("life")) as (registry, agents):
        yield Stage(registry, agents)


@pytest.fixture
async def stage(opened: Stage) -> AsyncIterator[Stage]:
    opened.agents.cards.clear()
    opened.agents.raw, opened.agents.reply = None, None
    yield opened
    await forget_visits(opened.registry)


def error(code: int, status: int = 200) -> Reply:
    """An agent that answers each call with this error."""

    def reply(asked: Any) -> tuple[int, bytes]:
        returned = {"jsonrpc": "2.0", "id": asked["id"], "error": {"code": code, "message": "No."}}
        return status, json.dumps(returned).encode()

    return reply


@pytest.mark.parametrize("interface", [NEW, OLD], ids=["1.0", "0.3"])
async def test_the_official_server_answers_the_question_and_does_no_work(
    monkeypatch: pytest.MonkeyPatch, stage: Stage, interface: Interface
):
    app = official_agent(monkeypatch, stage.agents.card())
    question = question_to((interface,), "unique", "task")
    assert question is not None
    async with serving(app) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        lines = [f"{name}: {value}" for name, value in question.headers.items()]
        head = ["POST /a2a HTTP/1.1", "Host: x", "Connection: close", f"Content-Length: {len(question.body)}"]
        writer.write("\r\n".join([*head, *lines]).encode() + b"\r\n\r\n" + question.body)
        answer = await reader.read()
        writer.close()
    body = answer.partition(b"\r\n\r\n")[2]
    assert json.loads(body)["error"]["code"] == -32001
    assert liveness_of(question, 200, body, needs_credentials=False).state == "alive"


async def test_an_answer_of_the_protocol_is_life_and_its_time_is_kept(stage: Stage):
    agent = await stage.agent()
    assert (await observed(agent))["liveness"] == "unknown"
    stage.agents.reply = error(-32001)
    assert await stage.call() == 1
    (asked,) = stage.agents.asked
    assert asked.line.startswith("POST /a2a ")
    assert asked.headers["a2a-version"] == "1.0"
    assert json.loads(asked.body)["method"] == "GetTask"
    seen = await observed(agent)
    assert seen["liveness"] == "alive"
    assert seen["last_alive_at"] is not None
    answer = await stage.registry.get(f"/agents/by-did/{agent.did}")
    assert answer.json()["liveness"]["state"] == "alive"
    assert await stage.call() == 1
    again = await observed(agent)
    assert again["liveness_checked_at"] > seen["liveness_checked_at"]
    assert again["last_alive_at"] == seen["last_alive_at"], "within an hour search is not troubled again"


async def test_an_agent_that_answers_no_longer_is_unreachable_and_is_called_again_soon(stage: Stage):
    agent = await stage.agent()
    stage.agents.reply = error(-32601)
    await stage.call()
    stage.agents.reply = None
    await stage.call()
    assert (await observed(agent))["liveness"] == "unreachable"
    visit = await visit_of(agent, "liveness")
    assert 0 <= visit["wait"] <= 60 * PAUSE_MEANS_MAX
    assert visit["trouble"] == "The answer (404) is not JSON."
    stage.agents.reply = error(-32001)
    await stage.call()
    assert (await observed(agent))["liveness"] == "alive"


async def test_what_was_seen_at_one_address_says_nothing_of_another(stage: Stage):
    stage.agents.serve()
    agent = await hosted_agent(stage.registry, stage.agents.url)
    await pull_cards(stage.registry)
    stage.agents.reply = error(-32001)
    await stage.call()
    assert (await observed(agent))["liveness"] == "alive"
    stage.agents.serve(path="/elsewhere")
    await let_be_due(stage.registry)
    await pull_cards(stage.registry)
    seen = await observed(agent)
    assert (seen["liveness"], seen["last_alive_at"]) == ("unknown", None)
    assert seen["host_verified_at"] is not None, "the host itself has said so"
    assert await check_health(stage.registry) == 1, "the new address is called at once"


async def test_a_stub_and_an_agent_of_another_binding_stay_unknown(stage: Stage):
    stub = await hosted_agent(stage.registry, stage.agents.url)
    other = await stage.agent(
        supportedInterfaces=[
            {"url": stage.agents.url, "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"}
        ]
    )
    await stage.call()
    assert stage.agents.asked == []
    assert [(await observed(agent))["liveness"] for agent in (stub, other)] == ["unknown"] * 2


async def test_an_agent_inside_is_never_called(stage: Stage):
    agent = await stage.agent(
        supportedInterfaces=[
            {"url": "http://127.0.0.1:1/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        ]
    )
    await stage.call()
    assert (await observed(agent))["liveness"] == "unreachable"
    assert (await visit_of(agent, "liveness"))["trouble"] == "The agent gave no answer: internal_host."


@pytest.mark.parametrize(
    ("status", "body", "needs_credentials", "state"),
    [
        (200, b'{"jsonrpc":"2.0","id":"unique","result":{}}', False, "alive"),
        (500, b'{"jsonrpc":"2.0","id":"unique","error":{"code":-32603,"message":"x"}}', False, "alive"),
        (401, b"", True, "alive"),
        (403, b"<html>", True, "alive"),
        (401, b"", False, "unreachable"),
        (429, b"", False, None),
        (200, b"<html>", False, "unreachable"),
        (200, b"", False, "unreachable"),
        (200, b"[]", False, "unreachable"),
        (200, b"null", False, "unreachable"),
        (200, b'{"status":"ok"}', False, "unreachable"),
        (200, b'{"jsonrpc":"2.0","id":"other","result":{}}', False, "unreachable"),
        (200, b'{"jsonrpc":"2.0","id":"unique"}', False, "unreachable"),
        (200, b'{"jsonrpc":"2.0","id":"unique","error":"down"}', False, "unreachable"),
        (200, b'{"jsonrpc":"2.0","id":"unique","error":{"code":true}}', False, "unreachable"),
        (200, b"[" * 1000, False, "unreachable"),
        (200, b'{"jsonrpc":"2.0","id":"unique","result":NaN}', False, "unreachable"),
        (302, b"", False, "unreachable"),
    ],
)
def test_what_is_an_answer(status: int, body: bytes, needs_credentials: bool, state: str | None):
    question = question_to((NEW,), "unique", "task")
    assert question is not None
    assert liveness_of(question, status, body, needs_credentials=needs_credentials).state == state


def test_an_echo_is_no_answer():
    question = question_to((OLD,), "unique", "task")
    assert question is not None
    assert liveness_of(question, 200, question.body, needs_credentials=False).state == "unreachable"


def test_the_first_interface_that_can_be_called_is_called():
    closed = [
        Interface("https://a.example.org/", "GRPC", "1.0"),
        Interface("a.example.org:443", "JSONRPC", "1.0"),
        Interface("https://a.example.org/", "JSONRPC", "2.0"),
    ]
    assert question_to(tuple(closed), "unique", "task") is None
    question = question_to((*closed, OLD, NEW), "unique", "task")
    assert question is not None
    assert json.loads(question.body)["method"] == "tasks/get"
    assert "A2A-Version" not in question.headers


def test_an_agent_that_does_not_answer_is_called_after_a_minute_then_more_rarely_each_hour_at_least():
    assert [recheck_pause(900, failures) for failures in (0, 1, 2, 3, 20, 5000)] == [
        *(900, 60, 120, 240, 3600, 3600)
    ]


@asynccontextmanager
async def serving(app: Starlette) -> AsyncIterator[int]:
    """The application on a socket; yields its port."""
    listener = listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_config=None))
    task = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started:  # noqa: ASYNC110
        await asyncio.sleep(0.005)
    yield listener.getsockname()[1]
    server.should_exit = True
    await task
