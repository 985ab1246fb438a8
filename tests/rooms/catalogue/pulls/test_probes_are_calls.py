"""A probe cannot be distinguished from a client's call: not by its bytes, nor by its time."""

import json
import math
import random
from collections.abc import Sequence
from uuid import UUID, uuid4

import pytest

from hansa.rooms import commerce
from hansa.rooms.catalogue.pulls.rules import PAUSE_MEANS_MAX, drawn
from hansa.rooms.commerce.payments.calling import call_service
from tests.properties.scale import by_tier, printed_seed
from tests.rooms.catalogue.pulls.agent_host import check_health, let_be_due, registry_beside_a_host

PAYMENT = {"X-Payment-Token": "token", "X-Payment-Issuer": "http://registry"}
# The distance of Kolmogorov and Smirnov that one sample in a million exceeds, times the root of its size.
RARE_DISTANCE = 2.7


@pytest.fixture(scope="module")
async def opened(database_farm, tmp_path_factory):
    dsn = await database_farm.fresh()
    async with registry_beside_a_host(dsn, tmp_path_factory.mktemp("calls")) as (registry, agents):
        yield registry, agents


def answering(asked):
    error = {"code": -32001, "message": "Task not found"}
    return 200, json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": error}).encode()


def bytes_of(agents) -> tuple[str, bytes]:
    """The head and the body of the last request, as they came."""
    return agents.listening.heads[-1], agents.asked[-1].body


def without_ids(body: bytes) -> bytes:
    """The body with its two ids replaced, which are UUIDs."""
    asked = json.loads(body)
    for unique in (asked["id"], asked["params"]["id"]):
        assert str(UUID(unique)) == unique
        body = body.replace(unique.encode(), b"-" * len(unique))
    return body


async def probe(registry) -> None:
    await let_be_due(registry)
    assert await check_health(registry) >= 1


@pytest.mark.parametrize("version", ["1.0", "0.3.0"])
async def test_the_bytes_of_a_probe_are_those_of_a_client_that_polls_a_task(opened, version):
    registry, agents = opened
    agents.reply = answering
    interface = {"url": agents.url + "/a2a", "protocolBinding": "JSONRPC", "protocolVersion": version}
    await registry.agent(supportedInterfaces=[interface])
    await probe(registry)
    head, body = bytes_of(agents)
    is_old = version.startswith("0.")
    method = "tasks/get" if is_old else "GetTask"
    request = commerce.ServiceRequest(method, {"id": str(uuid4())})
    unpaid = commerce.ServiceCall(commerce.Interface(interface["url"], is_old), request, str(uuid4()), 10.0)
    await call_service(registry.runtime.outgoing, unpaid)
    called_head, called_body = bytes_of(agents)
    assert (head, without_ids(body)) == (called_head, without_ids(called_body))

    paid = commerce.ServiceCall(unpaid.interface, request, str(uuid4()), 10.0, PAYMENT)
    await call_service(registry.runtime.outgoing, paid)
    paid_head, paid_body = bytes_of(agents)
    lines = [line for line in paid_head.split("\r\n") if line.partition(":")[0] not in PAYMENT]
    assert ("\r\n".join(lines), without_ids(paid_body)) == (head, without_ids(body))
    await registry.database.transaction(lambda tx: tx.execute("DELETE FROM catalogue_visit"))


async def test_a_probe_is_never_paid_and_starts_no_work(opened):
    registry, agents = opened
    agents.reply = answering
    await registry.agent(
        supportedInterfaces=agents.card()["supportedInterfaces"],
        pricing={"model": "per_call", "price": "5"},
    )
    await probe(registry)
    head, body = bytes_of(agents)
    assert not any(name.lower() in head.lower() for name in PAYMENT)
    assert json.loads(body)["method"] == "GetTask"


def distance(sample: Sequence[float], mean: float) -> float:
    """The largest distance between the sample and the exponential distribution, times the root of the size."""
    count, largest = len(sample), 0.0
    for number, pause in enumerate(sorted(sample)):
        expected = 1 - math.exp(-pause / mean)
        largest = max(largest, abs(expected - number / count), abs(expected - (number + 1) / count))
    return largest * math.sqrt(count)


def test_pauses_are_exponential_so_that_the_past_says_nothing_about_the_next_probe():
    rng = random.Random(printed_seed())
    pauses = [drawn(900, rng.random()) for _ in range(by_tier(5_000, 50_000, 500_000))]
    assert distance(pauses, 900) < RARE_DISTANCE
    assert max(pauses) <= 900 * PAUSE_MEANS_MAX
    # Sharp times would gather at the multiples of a step.
    steps = [int(pause % 300 // 30) for pause in pauses]
    expected = len(steps) / 10
    assert max(steps.count(step) for step in range(10)) < 1.35 * expected


async def test_the_next_probes_of_agents_are_due_at_drawn_times(opened):
    registry, agents = opened
    agents.reply = answering
    for _ in range(120):
        await registry.agent(supportedInterfaces=agents.card()["supportedInterfaces"])
    await probe(registry)
    rows = await registry.database.query(
        lambda tx: tx.fetch(
            "SELECT extract(epoch FROM due_at - now())::float8 AS wait FROM plumbing_job WHERE kind = 'health check'"
        )
    )
    waits = [row["wait"] for row in rows]
    mean = registry.settings.card_liveness_interval_seconds
    # They were drawn within some seconds of the round.
    assert distance([max(0.0, wait + 5) for wait in waits], mean) < RARE_DISTANCE
    assert len(set(map(round, waits))) > len(waits) / 2
