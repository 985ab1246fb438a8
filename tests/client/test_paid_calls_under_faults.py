"""Paid calls over three service processes that are killed, as their payer and the registry are, on a faulty network.

Afterwards: no token was worked for twice, no call was paid twice, every payment has an answer that can still be fetched, and
the books of the registry add up.
"""

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.client.judged_calls import require_each_call_paid_once
from tests.client.paid_market import open_market
from tests.client.paid_processes import start
from tests.operation.conftest import end_postgres
from tests.operation.forked_commands import ForkedCommand
from tests.operation.registry_process import RegistryProcess, free_port
from tests.properties.scale import by_tier, printed_seed

CALLS = by_tier(2_500, 100_000, 300_000)
SERVICES = 3
KILLS = by_tier(6, 400, 1200)
SECONDS = by_tier(1_100, 14_000, 40_000)
# Of every payment it is known that its answer is stored; of so many the answer is fetched again.
FETCHED_AGAIN = by_tier(200, 2_000, 2_000)


@dataclass
class Fleet:
    """The processes of the run."""

    log: Path
    stated: dict[str, Any] = field(default_factory=dict)
    services: dict[int, ForkedCommand] = field(default_factory=dict)
    payer: ForkedCommand | None = None
    killed: Counter[str] = field(default_factory=Counter)

    async def start_service(self, port: int) -> None:
        self.services[port] = await start("service", {**self.stated, "port": port}, self.log)

    async def start_payer(self) -> None:
        self.payer = await start("payer", self.stated, self.log)

    async def kill(self, process: ForkedCommand | None) -> None:
        if process and process.returncode is None:
            process.kill()
            await process.wait()


@pytest.mark.timeout(SECONDS + 100)
async def test_paid_calls_survive_a_faulty_network_and_killed_processes(
    tmp_path: Path, founded_data: Path
) -> None:
    chance = random.Random(printed_seed())
    registry = RegistryProcess(
        tmp_path / "registry",
        port=free_port(),
        founded=founded_data,
        HANSA_RATE_LIMIT_READS="off",
    )
    await registry.start()
    ports = [free_port() for _ in range(SERVICES)]
    fleet = Fleet(tmp_path / "processes.log")
    try:
        fleet.stated = await open_market(registry.url, ports, tmp_path, CALLS)
        for port in ports:
            await fleet.start_service(port)
        await fleet.start_payer()
        async with asyncio.timeout(SECONDS):
            await _disturb(fleet, registry, chance)
            await _finish(fleet)
            paid = await require_each_call_paid_once(fleet.stated, await registry.database(), FETCHED_AGAIN)
            print(f"{CALLS} calls, {paid} paid; killed: {dict(fleet.killed)}")
    finally:
        for process in [*fleet.services.values(), fleet.payer]:
            await fleet.kill(process)
        await registry.kill()
        await end_postgres(registry.data_dir)


async def _disturb(fleet: Fleet, registry: RegistryProcess, chance: random.Random) -> None:
    """Kill a process each time that some more calls are done."""
    done = Lines(Path(fleet.stated["done"]))
    for number in range(KILLS):
        while done.count() < CALLS * (number + 1) // (KILLS + 2):
            await _restart_payer(fleet)
            await asyncio.sleep(0.05)
        victim = (
            chance.choice(["service", "service", "payer", "registry"])
            if number > 2
            else ("service", "payer", "registry")[number]
        )
        fleet.killed[victim] += 1
        if victim == "service":
            port = chance.choice(list(fleet.services))
            await fleet.kill(fleet.services[port])
            await fleet.start_service(port)
        elif victim == "payer":
            await fleet.kill(fleet.payer)
        else:
            await registry.kill()
            await registry.start()


async def _finish(fleet: Fleet) -> None:
    while await _restart_payer(fleet):
        assert fleet.payer
        await fleet.payer.wait()


async def _restart_payer(fleet: Fleet) -> bool:
    """Start the payer again unless it runs, or is done."""
    if fleet.payer and fleet.payer.returncode is None:
        return True
    if fleet.payer and fleet.payer.returncode == 0:
        return False
    await fleet.start_payer()
    return True


class Lines:
    """Counts the lines of a growing file, reading each once."""

    def __init__(self, file: Path) -> None:
        self._file, self._read_bytes, self._counted = file, 0, 0

    def count(self) -> int:
        if self._file.exists():
            with self._file.open("rb") as opened:
                opened.seek(self._read_bytes)
                new = opened.read()
            self._read_bytes += len(new)
            self._counted += new.count(b"\n")
        return self._counted
