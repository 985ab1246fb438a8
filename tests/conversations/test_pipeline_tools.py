"""Runs of pipelines by the tools of `/mcp`, with the scope `pipelines:run`."""

from collections.abc import AsyncIterator

import pytest

from tests.connections import connect
from tests.conversations.mcp_client import McpClient
from tests.pipelines import Market, open_market, step
from tests.registry import StartRegistry


@pytest.fixture
async def market(start_registry: StartRegistry) -> AsyncIterator[Market]:
    async with open_market(start_registry) as opened:
        yield opened


async def test_a_client_starts_reads_resumes_and_cancels_runs_of_the_acting_agent(market: Market):
    echo = await market.sells("echo", str)
    client = McpClient(market.registry, market.buyer.token)
    pipeline = await market.created(step("a", echo), step("b", echo, needs=["a"]), budget="1")
    given = {"pipeline": pipeline, "input": {"text": "hello"}, "request_id": "one"}
    started = await client.done("start_run", **given)
    assert (await client.done("start_run", **given)) == started
    run = {"pipeline": pipeline, "run": started["run_id"]}
    await market.until(f"/{pipeline}/runs/{started['run_id']}", "budget_exceeded")
    read = await client.content("read_run", **run)
    assert read["result"]["status"] == "budget_exceeded"
    assert read["untrusted"] == ["/result/steps/0/output"]
    resumed = await client.done("resume_run", **run, budget="2")
    assert resumed["budget"] == "2"
    await market.until(f"/{pipeline}/runs/{started['run_id']}", "succeeded")
    waiting = await market.created(step("a", echo, approval=True))
    other = await client.done("start_run", pipeline=waiting)
    cancelled = await client.done("cancel_run", pipeline=waiting, run=other["run_id"])
    assert cancelled["status"] == "cancelled"


async def test_a_connection_bears_its_limits_and_resumes_its_own_runs_alone(market: Market):
    echo = await market.sells("echo", str)
    client = await connect(
        market.registry,
        "pipelines:run",
        developer=market.owner,
        agent=market.buyer,
        per_call="0.5",
        ask_above="0.5",
    )
    tools = McpClient(market.registry, client.access_token)
    pipeline = await market.created(step("a", echo))
    started = await tools.done("start_run", pipeline=pipeline, input={"text": "x"})
    ended = await market.until(f"/{pipeline}/runs/{started['run_id']}")
    (attempt,) = ended["steps"][0]["attempts"]
    assert (ended["status"], attempt["status"], attempt["reason"]) == (
        "failed",
        "refused",
        "spend_over_per_tx_max",
    )
    own = await market.created(step("a", echo, "{{/input/missing}}"))
    run = await market.started(own)
    assert (await market.until(run))["status"] == "failed"
    refused = await tools.refused("resume_run", pipeline=own, run=run.rsplit("/", 1)[1])
    assert refused["code"] == "PIPELINE_RUN_OF_ANOTHER"


async def test_a_connection_without_the_scope_runs_nothing(market: Market):
    client = await connect(market.registry, "mcp:read", developer=market.owner)
    answer = await McpClient(market.registry, client.access_token).send(
        "tools/call", {"name": "start_run", "arguments": {"pipeline": "x"}}
    )
    assert answer.status_code == 403
    assert "pipelines:run" in answer.headers["www-authenticate"]
