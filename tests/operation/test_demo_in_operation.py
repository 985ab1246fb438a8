"""`hansa demo` as a user runs it: with a registry of its own, and against one with two workers."""

import asyncio
import json

import httpx2
import pytest

from tests.operation import registry_process
from tests.operation.conftest import Launch
from tests.operation.registry_process import run


@pytest.fixture(autouse=True)
def short_timeouts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A demo makes hundreds of requests: a busy machine needs minutes for it."""
    monkeypatch.setattr(registry_process, "START_SECONDS", 600)


async def test_the_demo_starts_a_registry_of_its_own_whatever_is_set_for_another(tmp_path):
    ended = await run(
        "demo",
        "--json",
        data_dir=tmp_path / "data",
        PORT="1",
        DATABASE_URL="postgresql://nobody@127.0.0.1:1/none",
        BETA_INVITE_REQUIRED="true",
        GENESIS_GRANT_ENABLED="false",
    )
    assert (ended.code, ended.complaint) == (0, "")
    report = json.loads(ended.output)
    assert (report["supply"]["status"], report["supply"]["delta"]) == ("OK", "0")
    assert report["transfers"] + report["refused"] == 200
    assert report["supply"]["tokens_destroyed"] == "1", "the administrator of this registry ruled"
    assert report["flares"] == 1
    assert not (tmp_path / "data").exists()


async def test_the_demo_succeeds_with_two_workers_and_both_find_its_agents(operated: Launch):
    registry = operated(workers=2)
    await registry.start()
    ended = await run("demo", registry.url, data_dir=registry.data_dir)
    assert ended.code == 0, ended
    # A connection of its own for each search: the workers take turns.
    async with httpx2.AsyncClient(
        base_url=registry.url, trust_env=False, timeout=60, headers={"Connection": "close"}
    ) as http:
        for _ in range(8):
            await until_found(http, "Lingua")
    assert (await registry.stop()).code == 0


async def until_found(http: httpx2.AsyncClient, name: str) -> None:
    async with asyncio.timeout(60):
        while True:
            answer = await http.get("/api/v1/discover", params={"query": name})
            if answer.status_code == 200 and len(answer.json()["results"]) == 1:
                return
            await asyncio.sleep(0.05)
