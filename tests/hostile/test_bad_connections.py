"""Bad connections of twenty kinds, many at once: each ends as it should, and the registry serves on in bounded memory."""

import asyncio
import re
from collections.abc import AsyncIterator

import psutil
import pytest

from hansa.doors.http.bounded import ConnectionBounds
from hansa.doors.http.deadlines import Deadlines
from hansa.doors.http.per_address import AddressCounts
from tests.hostile.bad_connections import GET, KINDS, play
from tests.properties.scale import by_tier
from tests.registry import StartRegistry, TestRegistry

AT_ONCE = by_tier(50, 200, 1000)
# Ten seconds of patience with a head become one.
TICK_SECONDS = 0.1
END_SECONDS = 300
GROWTH_MAX_BYTES = 400 << 20
STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")


@pytest.fixture
async def registry_with_little_patience(start_registry: StartRegistry) -> TestRegistry:
    registry = await start_registry(rate_limit_reads="off")
    registry.app.state.connection_bounds = ConnectionBounds(Deadlines(TICK_SECONDS))
    registry.app.state.address_counts = AddressCounts(1, exempt=["127.0.0.1"])
    return registry


@pytest.fixture
async def address(registry_with_little_patience: TestRegistry) -> AsyncIterator[tuple[str, int]]:
    async with registry_with_little_patience.listening() as place:
        host, _, port = place.rpartition(":")
        yield host, int(port)


def test_there_are_twenty_kinds():
    assert len({kind.name for kind in KINDS}) >= 20


async def test_many_bad_connections_of_each_kind_end_and_the_registry_serves_on(address: tuple[str, int]):
    faults = []
    before = psutil.Process().memory_info().rss
    for kind in KINDS:
        playing = [asyncio.create_task(play(kind, address)) for _ in range(AT_ONCE)]
        if not await serves(address):
            faults.append(f"{kind.name}: nobody else is served")
        async with asyncio.timeout(END_SECONDS):
            answers = await asyncio.gather(*playing)
        statuses = {int(status) for answer in answers for status in STATUS.findall(answer)}
        if not statuses <= kind.allowed or (kind.allowed and kind.reads and not statuses):
            faults.append(f"{kind.name}: {sorted(statuses)} instead of {sorted(kind.allowed)}")
        if (grown := psutil.Process().memory_info().rss - before) > GROWTH_MAX_BYTES:
            faults.append(f"{kind.name}: the memory has grown by {grown >> 20} MiB")
    assert not faults, "\n".join(faults)
    assert await serves(address)


async def serves(address: tuple[str, int]) -> bool:
    """Whether a good request is answered."""
    async with asyncio.timeout(END_SECONDS):
        reader, writer = await asyncio.open_connection(*address)
        writer.write(GET + b"Connection: close\r\n\r\n")
        answer = await reader.read()
        writer.close()
    return STATUS.findall(answer) == [b"200"]
