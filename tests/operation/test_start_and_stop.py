"""How a registry starts and stops, seen by the one who operates it."""

import asyncio
import signal
import socket
from pathlib import Path

import asyncpg
import httpx2

from tests.operation.conftest import Launch
from tests.operation.registry_process import (
    RegistryProcess,
    children_of,
    health,
    is_alive,
    postgres_pid,
    run,
    until,
)


async def test_it_says_ready_once_serves_a_signal_stops_it_and_its_database_and_a_later_start_finds_everything_again(
    operated: Launch,
):
    registry = operated(as_program=True)
    await serves_until_a_signal_stops_it(registry, signal.SIGTERM)
    print(f"first start: {registry.seconds_to_ready:.2f} s")
    key = (registry.data_dir / "keys" / "agent-token.pem").read_bytes()
    later = RegistryProcess(registry.data_dir)
    await serves_until_a_signal_stops_it(later, signal.SIGINT)
    assert (registry.data_dir / "keys" / "agent-token.pem").read_bytes() == key
    print(f"later start: {later.seconds_to_ready:.2f} s")


async def serves_until_a_signal_stops_it(registry: RegistryProcess, number: signal.Signals) -> None:
    await registry.start()
    assert await health(registry.url) == 200
    assert (await _supply(registry))["tokens_issued"] == "1000000", "founded once"
    processes = [registry.pid, *children_of(registry.pid)]
    assert postgres_pid(registry.data_dir) in processes
    ended = await registry.stop(number)
    assert ended.code == 0, ended
    assert ended.output == "", "nothing follows the ready line on standard output"
    assert [pid for pid in processes if is_alive(pid)] == []
    assert postgres_pid(registry.data_dir) is None


async def test_a_request_under_way_is_answered_before_the_service_stops(operated: Launch):
    registry = operated()
    await registry.start()
    blocker = await asyncpg.connect(await registry.database())
    async with httpx2.AsyncClient(base_url=registry.url, trust_env=False, timeout=60) as http:
        async with blocker.transaction():
            await blocker.execute("LOCK TABLE plumbing_rate_limit")
            request = asyncio.create_task(http.get("/api/v1/public/registry-config"))
            await _waits_for_a_lock(blocker)
            registry.send_signal(signal.SIGTERM)
            await until(lambda: not _accepts(registry.url))
        answer = await request
    await blocker.close()
    assert answer.status_code == 200
    assert (await registry.ended()).code == 0


async def test_a_service_killed_hard_adopts_its_running_database_at_the_next_start(operated: Launch):
    registry = operated()
    await registry.start()
    server = postgres_pid(registry.data_dir)
    await registry.kill()
    await registry.start()
    assert postgres_pid(registry.data_dir) == server
    assert await health(registry.url) == 200
    await registry.stop()
    print(f"start after a kill: {registry.seconds_to_ready:.2f} s")


async def test_a_signal_before_the_service_is_ready_leaves_nothing_running(operated: Launch):
    registry = operated()
    await registry.start_without_waiting()
    await until(lambda: postgres_pid(registry.data_dir) is not None)
    ended = await registry.stop()
    assert ended.code == 0, ended
    assert ended.output == ""
    assert postgres_pid(registry.data_dir) is None


async def test_two_registries_live_side_by_side(operated: Launch):
    north, south = operated("north", REGISTRY_NAME="north"), operated("south", REGISTRY_NAME="south")
    await asyncio.gather(north.start(), south.start())
    async with httpx2.AsyncClient(trust_env=False, timeout=60) as http:
        names = [(await http.get(f"{one.url}/health")).json()["registry_name"] for one in (north, south)]
    assert names == ["north", "south"]
    assert postgres_pid(north.data_dir) != postgres_pid(south.data_dir)


async def test_a_second_service_on_one_data_directory_is_refused_in_one_line(running: RegistryProcess):
    second = await run("serve", "--port=0", data_dir=running.data_dir)
    assert second.code == 1
    assert second.output == ""
    [line] = second.complaints
    assert line == (
        f"hansa: The data directory {running.data_dir} is in use by another service (process {running.pid}); "
        "stop it or choose another --data-dir."
    )
    assert await health(running.url) == 200


async def test_a_port_in_use_is_refused_in_one_line_and_starts_nothing(
    running: RegistryProcess, tmp_path: Path
):
    port = running.url.rpartition(":")[2]
    second = await run("serve", f"--port={port}", data_dir=tmp_path / "second")
    assert second.code == 1
    assert second.complaints == [
        f"hansa: HANSA_HOST='127.0.0.1', PORT={port}: cannot bind: address already in use"
    ]
    assert not (tmp_path / "second").exists()


async def test_the_port_may_come_from_the_environment(running: RegistryProcess, tmp_path: Path):
    port = running.url.rpartition(":")[2]
    second = await run("serve", data_dir=tmp_path / "second", PORT=port)
    assert second.complaints == [
        f"hansa: HANSA_HOST='127.0.0.1', PORT={port}: cannot bind: address already in use"
    ]


async def _waits_for_a_lock(connection: asyncpg.Connection) -> None:
    while not await connection.fetchval("SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)"):  # noqa: ASYNC110
        await asyncio.sleep(0.01)


def _accepts(url: str) -> bool:
    host, _, port = url.removeprefix("http://").partition(":")
    with socket.socket() as visitor:
        return visitor.connect_ex((host, int(port))) == 0


async def _supply(registry: RegistryProcess) -> dict[str, str]:
    async with httpx2.AsyncClient(base_url=registry.url, trust_env=False, timeout=60) as http:
        return (await http.get("/api/v1/public/supply-invariant")).json()
