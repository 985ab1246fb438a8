"""Processes are killed hard while clients move units; afterwards nothing is lost and nothing was made up."""

import asyncio
import os
import signal
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random, SystemRandom
from time import monotonic

import asyncpg
import pytest

from hansa.foundation.plumbing.storage.embedded import EmbeddedPostgres
from tests.operation.conftest import Launch
from tests.operation.history import History, Operation, Outcome, read_history
from tests.operation.nothing_lost import find_what_is_wrong, rude_answers
from tests.operation.registry_process import (
    RegistryProcess,
    children_of,
    command_of,
    free_port,
    health,
    is_alive,
    postgres_pid,
    until,
)
from tests.operation.storm import Storm

TIER = int(os.environ.get("HANSA_TEST_TIER", "0"))
SEED = int(os.environ.get("HANSA_TEST_SEED", SystemRandom().randrange(2**32)))
CLIENTS = (16, 24, 32)[TIER]
KILLS = {
    "service": (2, 40, 400)[TIER],
    "service and database": (1, 10, 100)[TIER],
    "database": (1, 15, 150)[TIER],
    "one database connection": (1, 15, 150)[TIER],
}
# Between two kills; clients occupy all cores meanwhile.
QUIET_SECONDS = ((0.1, 0.5), (0.3, 1.5), (0.3, 1.5))[TIER]
RECOVERY_SECONDS = 120


@pytest.fixture
def stormy(operated: Launch) -> RegistryProcess:
    """A registry on a port that stays the same over its restarts, for clients that come from everywhere."""
    return operated(port=free_port(), TRUSTED_PROXIES="127.0.0.1", GENESIS_SUPPLY="100000000")


async def test_nothing_is_lost_when_the_service_and_its_database_are_killed_at_any_moment(
    stormy: RegistryProcess, tmp_path: Path
):
    print(f"HANSA_TEST_SEED={SEED}")
    random = Random(SEED)
    await stormy.start()
    history = History(tmp_path / "history.jsonl")
    storm = Storm(stormy.url, history, SEED, clients=CLIENTS, agents=CLIENTS)
    await storm.gather()
    storm.rage()
    recoveries = await _kill_at_random(stormy, random)
    await storm.calm()
    operations = read_history(history.path)
    assert await _wrong(stormy, operations) == []
    unknown = [operation for operation in operations if operation.outcome is Outcome.UNKNOWN]
    await stormy.start()
    await storm.settle(unknown)
    await storm.close()
    history.close()
    settled = read_history(history.path)
    assert await _wrong(stormy, settled) == []
    outcomes = Counter(operation.outcome.value for operation in settled)
    assert outcomes[Outcome.UNKNOWN] == 0
    assert outcomes[Outcome.ACKNOWLEDGED] > 0
    assert rude_answers(settled) == []
    print(f"{dict(outcomes)}, of which {len(unknown)} were unknown before they were asked for again")
    for kind, seconds in recoveries.items():
        print(f"back after a kill of the {kind}: {', '.join(f'{one:.2f}' for one in sorted(seconds))} s")


async def _wrong(registry: RegistryProcess, operations: list[Operation]) -> list[object]:
    """Stop the registry and look at its database alone."""
    ended = await registry.stop()
    assert ended.code == 0, ended
    postgres = EmbeddedPostgres(registry.data_dir)
    connection = await asyncpg.connect(await postgres.start())
    try:
        return list(await find_what_is_wrong(connection, operations))
    finally:
        await connection.close()
        await postgres.stop()


async def _kill_at_random(registry: RegistryProcess, random: Random) -> dict[str, list[float]]:
    kills = [kind for kind, count in KILLS.items() for _ in range(count)]
    random.shuffle(kills)
    recoveries: dict[str, list[float]] = {kind: [] for kind in KILLS}
    for kind in kills:
        await asyncio.sleep(random.uniform(*QUIET_SECONDS))
        killed_at = monotonic()
        await VICTIMS[kind](registry, random)
        await until_healthy(registry)
        recoveries[kind].append(monotonic() - killed_at)
    await asyncio.sleep(random.uniform(*QUIET_SECONDS))
    return recoveries


async def _kill_service(registry: RegistryProcess, random: Random) -> None:
    await registry.kill()
    await registry.start()


async def _kill_both(registry: RegistryProcess, random: Random) -> None:
    kill_hard(database_of(registry))
    await registry.kill()
    await registry.start()


async def _kill_database(registry: RegistryProcess, random: Random) -> None:
    killed = database_of(registry)
    kill_hard(killed)
    # Its connections live a moment longer and would still answer.
    await until(lambda: postgres_pid(registry.data_dir) not in {killed, None})


async def _kill_connection(registry: RegistryProcess, random: Random) -> None:
    server = database_of(registry)
    while not (connections := [pid for pid in children_of(server) if "hansa hansa" in command_of(pid)]):  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    killed = random.choice(connections)
    kill_hard(killed)
    await until(lambda: not is_alive(killed))


VICTIMS = {
    "service": _kill_service,
    "service and database": _kill_both,
    "database": _kill_database,
    "one database connection": _kill_connection,
}


def database_of(registry: RegistryProcess) -> int:
    pid = postgres_pid(registry.data_dir)
    assert pid is not None
    return pid


def kill_hard(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


async def until_healthy(registry: RegistryProcess) -> None:
    async with asyncio.timeout(RECOVERY_SECONDS):
        while await health(registry.url) != 200:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
