"""A process that dies at any statement of a deployment leaves all of its end or nothing of it; another one ends it once."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest

from hansa.foundation.plumbing.jobs.running import claim
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.operations.deployments import DEPLOYMENT_CHECKS, store, verifying
from hansa.rooms.operations.deployments.settling import settle
from tests.conversations.test_deployments import Stage, staged
from tests.conversations.test_versions import events, registered, statuses
from tests.properties.test_spawn_killed import die_everywhere
from tests.registry import StartRegistry, at_once
from tests.rooms.catalogue.pulls.agent_host import hosting, said
from tests.running_jobs import time_passes


@pytest.fixture
async def stage(start_registry: StartRegistry) -> AsyncIterator[Stage]:
    async with hosting() as first, hosting() as second:
        yield await staged(start_registry, first, second)


async def asked(stage: Stage, version: str = "2") -> str:
    """A deployment at the second host that is requested; returns its id."""
    made = await registered(stage.owner, stage.agent, version)
    answer = await stage.deploy(made["version_id"], stage.second.url + "/a2a")
    assert answer.status_code == 202, answer.text
    return str(answer.json()["deployment_id"])


async def moved_once(stage: Stage, deployment_id: str) -> None:
    """The agent is at the second host, by one event, with its version active."""
    assert (await stage.read(deployment_id))["status"] == "active"
    assert await stage.url() == stage.second.url + "/a2a"
    assert [one["deployment_id"] for one in await events(stage.agent, "AgentDeployed")] == [deployment_id]
    assert await statuses(stage.agent) == {"2": "active"}


async def test_an_end_that_dies_at_any_statement_is_written_whole_by_the_next_process(stage: Stage):
    deployment_id = await asked(stage)
    database = stage.registry.database

    async def unchanged() -> None:
        assert (await stage.read(deployment_id))["status"] == "pending"
        assert await stage.url() == stage.first.url + "/a2a"
        assert await statuses(stage.agent) == {"2": "draft"}
        assert await events(stage.agent) == await events(stage.agent, "AgentDeployed") == []

    async def end(tx: Tx) -> None:
        deployment = await store.find_open(tx, UUID(deployment_id))
        assert deployment is not None
        await settle(tx, deployment, None)

    await die_everywhere(stage.registry, end, unchanged)
    await moved_once(stage, deployment_id)
    # The job of the process that died finds that there is nothing left to do.
    assert await stage.check() == 1
    await moved_once(stage, deployment_id)
    assert await database.query(lambda tx: store.find_open(tx, UUID(deployment_id))) is None


async def test_a_request_that_dies_at_any_statement_leaves_no_deployment_without_its_job(stage: Stage):
    await stage.deployed("1", stage.first.url + "/a2a")
    two = await stage.deployed("2", stage.second.url + "/a2a")
    for step in ("insert", "enqueue"):
        with pytest.MonkeyPatch.context() as patch:

            async def dies(*_: Any, **__: Any) -> None:
                raise asyncio.CancelledError

            target = store if step == "insert" else verifying.jobs
            patch.setattr(target, step, dies)
            with pytest.raises(asyncio.CancelledError):
                await stage.roll_back(two["deployment_id"])
        assert (await stage.read(two["deployment_id"]))["status"] == "active"
        assert await stage.check() == 0
    assert (await stage.roll_back(two["deployment_id"])).json()["status"] == "active"


async def test_a_rollback_whose_process_dies_in_the_check_is_ended_by_the_job(stage: Stage):
    await stage.deployed("1", stage.first.url + "/a2a")
    two = await stage.deployed("2", stage.second.url + "/a2a")
    with pytest.MonkeyPatch.context() as patch:

        async def dies(*_: Any, **__: Any) -> None:
            raise asyncio.CancelledError

        patch.setattr(verifying, "_check", dies)
        with pytest.raises(asyncio.CancelledError):
            await stage.roll_back(two["deployment_id"])
    assert await stage.url() == stage.second.url + "/a2a"
    assert await stage.check() == 0
    blocked = await stage.roll_back(two["deployment_id"])
    assert (blocked.status_code, blocked.json()["error"]["code"]) == (409, "DEPLOYMENT_UNDER_WAY")
    await time_passes(stage.registry.runtime, 3600)
    assert await stage.check() == 1
    assert (await stage.url(), await statuses(stage.agent)) == (
        stage.first.url + "/a2a",
        {"1": "active", "2": "retired"},
    )
    assert len(await events(stage.agent, "AgentDeployed")) == 3


async def test_a_result_that_comes_after_another_process_took_the_job_over_changes_nothing(stage: Stage):
    deployment_id = await asked(stage)
    runtime = stage.registry.runtime
    (slow,) = await claim(runtime, DEPLOYMENT_CHECKS, 1)
    await time_passes(runtime, 3600)
    stage.second.raw = said(b"", status=503)
    assert await stage.check() == 1
    failed = await stage.read(deployment_id)
    stage.second.raw = None
    await DEPLOYMENT_CHECKS.work(runtime, slow)
    assert await stage.read(deployment_id) == failed
    assert (failed["status"], await stage.url()) == ("failed", stage.first.url + "/a2a")
    assert await events(stage.agent, "AgentDeployed") == []


async def test_of_two_processes_with_one_job_the_one_that_holds_it_writes_the_end(stage: Stage):
    deployment_id = await asked(stage)
    runtime = stage.registry.runtime
    (slow,) = await claim(runtime, DEPLOYMENT_CHECKS, 1)
    await time_passes(runtime, 3600)
    (holder,) = await claim(runtime, DEPLOYMENT_CHECKS, 1)
    await DEPLOYMENT_CHECKS.work(runtime, slow)
    assert (await stage.read(deployment_id))["status"] == "verifying"
    await DEPLOYMENT_CHECKS.work(runtime, holder)
    await moved_once(stage, deployment_id)


async def test_of_rollbacks_and_deployments_at_once_one_is_made(stage: Stage):
    one = await stage.deployed("1", stage.first.url + "/a2a")
    two = await stage.deployed("2", stage.second.url + "/a2a")
    answers = await at_once(
        *(stage.roll_back(two["deployment_id"]) for _ in range(3)),
        *(stage.deploy(one["version_id"], stage.first.url + "/a2a") for _ in range(3)),
    )
    made = [answer for answer in answers if answer.is_success]
    refused = {answer.json()["error"]["code"] for answer in answers if not answer.is_success}
    assert refused <= {"DEPLOYMENT_UNDER_WAY", "DEPLOYMENT_NOT_ACTIVE"}
    await stage.check()
    # A rollback ends within its request, so that a deployment may begin after it.
    assert 1 <= len(made) <= 2
    open_or_active = await stage.registry.database.query(
        lambda tx: tx.fetch(
            "SELECT status FROM operations_deployment WHERE agent_did = $1 AND status <> ALL ('{superseded,failed}')",
            stage.agent.did,
        )
    )
    assert [row["status"] for row in open_or_active] == ["active"]
    assert await stage.url() == stage.first.url + "/a2a"
