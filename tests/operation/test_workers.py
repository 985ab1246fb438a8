"""Several serving processes behind one socket."""

import os
import signal
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import httpx2
import pytest

from hansa.doors.serving.worker_forks import NAME_OF_SERVER, NAME_OF_WORKER
from hansa.foundation.plumbing.settings import read_settings
from tests.operation.conftest import end_postgres
from tests.operation.registry_process import (
    RegistryProcess,
    children_of,
    health,
    is_alive,
    postgres_pid,
    program_of,
    until,
    until_async,
)
from tests.properties.scale import by_tier


@pytest.fixture(scope="module")
async def shared(
    tmp_path_factory: pytest.TempPathFactory, founded_data: Path
) -> AsyncIterator[RegistryProcess]:
    """A registry with two workers, by its setting. Tests kill parts of it: it is started again where it does not run."""
    data_dir = tmp_path_factory.mktemp("workers") / "data"
    made = RegistryProcess(data_dir, workers=None, founded=founded_data, HANSA_WORKERS="2")
    yield made
    await made.kill()
    await end_postgres(made.data_dir)


@pytest.fixture
async def registry(shared: RegistryProcess) -> RegistryProcess:
    """The registry, with both its workers."""
    if not shared.running:
        await shared.start()
    await until(lambda: len(workers_of(shared)) == 2)
    return shared


@pytest.mark.parametrize(("option", "workers"), [(None, 3), (1, 1)])
def test_the_option_wins_over_the_setting(monkeypatch, option: int | None, workers: int):
    monkeypatch.setenv("HANSA_WORKERS", "3")
    assert read_settings(workers=option).workers == workers


def workers_of(registry: RegistryProcess) -> list[int]:
    return [pid for pid in children_of(registry.pid) if program_of(pid) == NAME_OF_WORKER]


def database_of(registry: RegistryProcess) -> list[int]:
    """The processes of its database."""
    return [pid for pid in children_of(registry.pid) if not program_of(pid).startswith("hansa")]


def fresh_connections(registry: RegistryProcess) -> httpx2.AsyncClient:
    """A connection of its own for each request: the workers take turns."""
    return httpx2.AsyncClient(
        base_url=registry.url, trust_env=False, timeout=60, headers={"Connection": "close"}
    )


async def is_healthy(registry: RegistryProcess) -> bool:
    return await health(registry.url) == 200


COUNTED = 'hansa_http_requests_total{method="GET",route="/api/v1/public/registry-config",status="200"} 20.0'


async def is_counted(http: httpx2.AsyncClient) -> bool:
    return COUNTED in (await http.get("/metrics")).text.splitlines()


async def test_metrics_are_added_up_whichever_worker_answers(registry: RegistryProcess):
    async with fresh_connections(registry) as http:
        for _ in range(20):
            assert (await http.get("/api/v1/public/registry-config")).status_code == 200
        # A worker counts a request after it has answered it.
        await until_async(lambda: is_counted(http))
        assert [await is_counted(http) for _ in range(6)] == [True] * 6


async def test_a_killed_worker_is_replaced_the_other_serves_meanwhile_and_what_it_counted_stays(
    registry: RegistryProcess,
):
    killed, survivor = workers_of(registry)
    os.kill(killed, signal.SIGKILL)
    assert await health(registry.url) == 200
    await until(lambda: len({*workers_of(registry)} - {killed}) == 2)
    assert survivor in workers_of(registry)
    async with fresh_connections(registry) as http:
        assert await is_counted(http)


async def test_the_process_that_forks_workers_is_replaced_with_its_workers_and_requests_are_answered(
    registry: RegistryProcess,
):
    [server] = [pid for pid in children_of(registry.pid) if program_of(pid) == NAME_OF_SERVER]
    before = workers_of(registry)
    os.kill(server, signal.SIGKILL)
    await until(lambda: not any(is_alive(pid) for pid in before))
    await until(lambda: len(workers_of(registry)) == 2)
    assert server not in children_of(registry.pid)
    await until_async(lambda: is_healthy(registry))


async def test_workers_end_when_their_parent_is_killed_and_the_next_start_serves(registry: RegistryProcess):
    orphans = workers_of(registry)
    await registry.kill()
    await until(lambda: not any(is_alive(pid) for pid in orphans))
    await registry.start()
    assert await health(registry.url) == 200


# A database that does not reply is the harder case: one that was killed refuses the next statement at once.
@pytest.mark.parametrize("number", by_tier([signal.SIGSTOP], *[[signal.SIGSTOP, signal.SIGKILL]] * 2))
async def test_workers_end_when_their_parent_is_killed_and_their_database_is_stuck_or_killed(
    registry: RegistryProcess, number: signal.Signals
):
    orphans = workers_of(registry)
    database = database_of(registry)
    for pid in database:
        os.kill(pid, number)
    await registry.kill()
    try:
        await until(lambda: not any(is_alive(pid) for pid in orphans), 60)
    finally:
        for pid in database:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
    await registry.start()
    assert await health(registry.url) == 200


async def test_workers_serve_together_and_stop_together(registry: RegistryProcess):
    processes = [registry.pid, *children_of(registry.pid)]
    assert len(workers_of(registry)) == 2
    async with fresh_connections(registry) as http:
        answers = [(await http.get("/health")).status_code for _ in range(20)]
    assert set(answers) == {200}
    ended = await registry.stop()
    assert ended.code == 0, ended
    assert ended.output == "", "the ready line is printed once"
    assert [pid for pid in processes if is_alive(pid)] == []
    assert postgres_pid(registry.data_dir) is None
