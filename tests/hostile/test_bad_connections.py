"""Bad connections of twenty kinds, many at once: each ends as it should, and the registry serves on in bounded memory."""

import asyncio
import re
from collections.abc import AsyncIterator

import httpx2
import psutil
import pytest

from hansa.doors.http.connection.bounds import CONNECTION_BOUNDS, ConnectionBounds
from hansa.doors.http.connection.deadlines import Deadlines
from hansa.doors.http.connection.per_address import ADDRESS_COUNTS, AddressCounts
from tests.hostile.bad_connections import GET, KINDS, play
from tests.properties.scale import by_tier
from tests.registry import StartRegistry, TestAgent, TestRegistry

AT_ONCE = by_tier(50, 200, 1000)
# The timeout of a head, ten seconds, becomes one.
TICK_SECONDS = 0.1
END_SECONDS = 300
GROWTH_MAX_BYTES = 400 << 20
SWITCHING_PROTOCOLS = 101
STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")


@pytest.fixture
async def registry_with_little_patience(start_registry: StartRegistry) -> TestRegistry:
    registry = await start_registry(rate_limit_reads="off")
    CONNECTION_BOUNDS.put(registry.runtime, ConnectionBounds(Deadlines(TICK_SECONDS)))
    ADDRESS_COUNTS.put(registry.runtime, AddressCounts(1, exempt=["127.0.0.1"]))
    return registry


@pytest.fixture
async def address(registry_with_little_patience: TestRegistry) -> AsyncIterator[tuple[str, int]]:
    async with registry_with_little_patience.listening() as place:
        host, _, port = place.rpartition(":")
        yield host, int(port)


def test_there_are_twenty_kinds():
    assert len({kind.name for kind in KINDS}) >= 20


async def test_many_bad_connections_of_every_kind_end_and_the_registry_serves_on(
    registry_with_little_patience: TestRegistry, address: tuple[str, int]
):
    registry = registry_with_little_patience
    payer, payee = await registry.agent(), await registry.agent()
    transfers = 0
    before = psutil.Process().memory_info().rss
    playing = {
        kind.name: [asyncio.create_task(play(kind, address)) for _ in range(AT_ONCE)] for kind in KINDS
    }
    ended = asyncio.gather(*(task for tasks in playing.values() for task in tasks))
    async with asyncio.timeout(END_SECONDS):
        while not ended.done():
            assert await serves(address)
            assert await transfers_a_unit(address, payer, payee) == 200
            transfers += 1
            assert psutil.Process().memory_info().rss - before < GROWTH_MAX_BYTES
        await ended
    faults = []
    for kind in KINDS:
        answers = [task.result() for task in playing[kind.name]]
        statuses = {int(status) for answer in answers for status in STATUS.findall(answer)}
        # A socket whose frames come too early ends without an answer.
        is_answered = kind.reads and not kind.allowed <= {SWITCHING_PROTOCOLS}
        if not statuses <= kind.allowed or (is_answered and not statuses):
            faults.append(f"{kind.name}: {sorted(statuses)} instead of {sorted(kind.allowed)}")
    assert not faults, "\n".join(faults)
    assert await serves(address)
    assert transfers
    assert float(await payee.balance()) == round(100 + transfers * 0.01, 2)
    assert (await registry.supply())["delta"] == "0"


async def transfers_a_unit(address: tuple[str, int], payer: TestAgent, payee: TestAgent) -> int:
    """The status of a small transfer over a connection of its own, as another client sends it."""
    host, port = address
    body = {"receiver_agent_id": payee.did, "amount": "0.01"}
    async with httpx2.AsyncClient(timeout=END_SECONDS, trust_env=False) as http:
        url = f"http://{host}:{port}/api/v1/teg/transfer"
        return (await http.post(url, json=body, headers=payer.headers)).status_code


async def serves(address: tuple[str, int]) -> bool:
    """Return whether a good request is answered."""
    async with asyncio.timeout(END_SECONDS):
        reader, writer = await asyncio.open_connection(*address)
        writer.write(GET + b"Connection: close\r\n\r\n")
        answer = await reader.read()
        writer.close()
    return STATUS.findall(answer) == [b"200"]
