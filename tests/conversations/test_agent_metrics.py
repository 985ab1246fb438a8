"""Metrics of agents: payments, requests, checks and errors of a log, for those who may read the agent."""

import itertools
import time
from datetime import datetime, timedelta
from decimal import Decimal

import pytest
from prometheus_client.parser import text_string_to_metric_families

from hansa.foundation.plumbing.storage import clock
from hansa.rooms.operations.metrics import NOTED, counting, rules, store, write_noted
from hansa.rooms.operations.metrics.counting import add_settled
from hansa.rooms.operations.metrics.records import Figures
from tests.organizations import found
from tests.paying import Payments


@pytest.fixture
def registry(registry_of_file):
    return registry_of_file


@pytest.fixture
async def owner(registry):
    return await registry.developer()


@pytest.fixture
async def agent(owner):
    return await owner.agent()


@pytest.fixture
async def payments(registry):
    return await Payments.between_two(registry)


async def counted(registry):
    await registry.transactions_ended()
    await registry.database.transaction(lambda tx: add_settled(tx, registry.runtime))
    await write_noted(registry.runtime)


async def read(who, agent, **query):
    return await agent.registry.get(f"/agent-metrics/{agent.did}", params=query, headers=who.headers)


async def metrics(who, agent, **query):
    answer = await read(who, agent, **query)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def totals(who, agent, **query):
    return (await metrics(who, agent, **query))["totals"]


@pytest.mark.parametrize(
    ("time_range", "points", "seconds"),
    [("1h", 60, 60), ("24h", 48, 1800), ("7d", 56, 10_800), ("30d", 60, 43_200)],
)
async def test_a_range_is_a_series_of_even_steps_with_zeros_in_its_gaps(agent, time_range, points, seconds):
    found = await metrics(agent, agent, time_range=time_range)
    assert (found["agent_did"], found["time_range"], len(found["series"])) == (agent.did, time_range, points)
    times = [datetime.fromisoformat(one["at"]) for one in found["series"]]
    assert {later - earlier for earlier, later in itertools.pairwise(times)} == {timedelta(seconds=seconds)}
    begins, ends = datetime.fromisoformat(found["from"]), datetime.fromisoformat(found["to"])
    assert times[0] == begins
    assert times[-1] <= ends < times[-1] + timedelta(seconds=seconds)
    assert {one["earned"] for one in found["series"]} == {"0"}
    assert {one["success_rate"] for one in found["series"]} == {None}


async def test_payments_are_counted_on_both_sides_with_exact_amounts(payments):
    paid = await payments.caller.transfer(payments.service, "1.00000001")
    made = await payments.authorized("2.5")
    assert (await payments.settle(made["token"], wait=10)).json()["status"] == "settled"
    await counted(payments.registry)
    assert paid.is_success
    fees = 100 - Decimal("3.50000001") - Decimal(await payments.caller.balance())
    for time_range in rules.RANGES:
        earned = await totals(payments.service, payments.service, time_range=time_range)
        spent = await totals(payments.caller, payments.caller, time_range=time_range)
        assert (earned["paid_calls"], earned["earned"], earned["spent"], earned["fees"]) == (
            1,
            "3.50000001",
            "0",
            "0",
        )
        assert (spent["paid_calls"], spent["earned"], spent["spent"]) == (1, "0", "3.50000001")
        assert Decimal(spent["fees"]) == fees
        assert (earned["success_rate"], earned["failed"]) == (1.0, 0)
        assert earned["settle_p50_ms"] == spent["settle_p95_ms"] is not None


async def test_a_failed_payment_counts_for_both_parties(payments):
    made = await payments.authorized("50", reserve=False)
    await payments.caller.transfer(await payments.registry.agent(), "80")
    assert (await payments.settle(made["token"], wait=10)).json()["status"] == "failed"
    await counted(payments.registry)
    for party in (payments.caller, payments.service):
        found = await totals(party, party)
        assert (found["failed"], found["paid_calls"], found["success_rate"]) == (1, 0, 0.0)
        assert found["settle_p50_ms"] is None


async def test_requests_of_the_agent_and_their_errors_are_counted(registry, owner, agent):
    await write_noted(registry.runtime)
    before = await totals(owner, agent)
    for path in ("/teg/balance", "/agent-metrics/did:web:other"):
        await registry.get(path, headers=agent.headers)
    await agent.transfer(await registry.agent(), "1")
    await counted(registry)
    after = await totals(owner, agent)
    assert after["api_requests"] - before["api_requests"] == 3
    assert after["api_errors"] - before["api_errors"] == 1


async def test_errors_of_the_log_are_counted_and_stay_counted(registry, owner, agent):
    entries = [{"level": level, "message": "x"} for level in ("ERROR", "CRITICAL", "WARN")]
    path = f"/agents/{agent.did}/logs"
    assert (await registry.post(path, json={"entries": entries}, headers=agent.headers)).status_code == 201
    assert (await registry.http.delete(f"/api/v1{path}", headers=owner.headers)).status_code == 200
    assert (await totals(owner, agent))["log_errors"] == 2


async def test_uptime_is_the_share_of_health_checks_that_were_answered(registry, agent):
    noted = NOTED.of(registry.runtime)
    assert (await totals(agent, agent))["uptime"] is None
    for is_alive in (True, True, False):
        noted.note_check(agent.did, time.time(), is_alive=is_alive)
    await counted(registry)
    assert (await totals(agent, agent))["uptime"] == 0.6667


async def test_the_totals_are_the_sums_of_the_series(payments):
    for amount in ("0.1", "0.2"):
        await payments.caller.transfer(payments.service, amount)
    await counted(payments.registry)
    found = await metrics(payments.service, payments.service, time_range="1h")
    assert sum(Decimal(one["earned"]) for one in found["series"]) == Decimal(found["totals"]["earned"])


async def test_figures_that_wait_are_stated_by_computed_at(payments):
    await counted(payments.registry)
    at_rest = await metrics(payments.caller, payments.caller)
    assert at_rest["computed_at"] == at_rest["to"]
    await payments.caller.transfer(payments.service, "1")
    waiting = await metrics(payments.caller, payments.caller)
    assert waiting["computed_at"] < waiting["to"]
    assert waiting["totals"]["spent"] == at_rest["totals"]["spent"]
    await counted(payments.registry)
    assert (await totals(payments.caller, payments.caller))["spent"] == "1"


async def test_only_the_agent_and_those_who_may_read_it_have_its_metrics(registry, owner, agent):
    stranger, administrator = await registry.developer(), await registry.administrator()
    for other in (stranger, administrator, await stranger.agent()):
        for query in ({}, {"format": "prometheus"}):
            answer = await read(other, agent, **query)
            assert (answer.status_code, answer.json()["error"]["code"]) == (404, "RESOURCE_NOT_FOUND")
    assert (await registry.get(f"/agent-metrics/{agent.did}")).status_code == 401
    assert (await read(await owner.api_key("agents:read"), agent)).status_code == 200
    assert (await read(await owner.api_key("profile:read"), agent)).status_code == 403


async def test_members_of_an_organization_read_the_metrics_of_its_agents(registry):
    organization = await found(registry)
    agent = await organization.born()
    viewer = await organization.member("viewer")
    assert (await read(viewer, agent)).status_code == 200
    await organization.remove(organization.owner, viewer)
    assert (await read(viewer, agent)).status_code == 404


async def test_an_unknown_range_or_form_is_refused(agent):
    for refused in ({"time_range": "2h"}, {"format": "csv"}):
        assert (await read(agent, agent, **refused)).status_code == 422, refused


async def test_prometheus_reads_counters_of_the_agent(payments):
    await payments.caller.transfer(payments.service, "1.5")
    made = await payments.authorized("2")
    await payments.settle(made["token"], wait=10)
    await counted(payments.registry)
    asked = await read(payments.service, payments.service, format="prometheus")
    path = f"/agent-metrics/{payments.service.did}"
    accepted = await payments.registry.get(
        path, headers={**payments.service.headers, "Accept": "text/plain;version=0.0.4"}
    )
    for answer in (asked, accepted):
        assert answer.headers["content-type"].startswith("text/plain")
        families = {one.name: one for one in text_string_to_metric_families(answer.text)}
        (earned,) = families["hansa_agent_earned"].samples
        assert (earned.name, earned.labels, earned.value) == (
            "hansa_agent_earned_total",
            {"agent": payments.service.did},
            3.5,
        )
        labels = [sample.labels for sample in families["hansa_agent_settle_seconds"].samples]
        assert [(one["range"], one["quantile"]) for one in labels] == [("24h", "0.5"), ("24h", "0.95")]
        assert len(families) == 11


async def test_figures_go_after_48_hours_of_minutes_and_400_days_of_hours(registry_of_test):
    registry = registry_of_test
    agent = await registry.agent()
    now = await registry.database.read(clock.now)
    hours = (1, 47, 49, 24 * 399, 24 * 401)
    figures = {
        (agent.did, counting.minute_of(now - timedelta(hours=back))): Figures(earned=1) for back in hours
    }
    await registry.database.transaction(lambda tx: store.add(tx, figures))
    times = {key: {3: 1} for key in figures}
    await registry.database.transaction(lambda tx: store.add_settle_times(tx, times))
    await registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE operations_metric SET at = at - interval '2 hours' WHERE step = 'minute' AND at < now() - interval '46 hours'"
        )
    )
    assert await registry.database.read(store.has_old)
    await registry.database.transaction(store.forget_old)
    assert not await registry.database.read(store.has_old)
    for table in ("operations_metric", "operations_settle_time"):
        left = await registry.database.read(
            lambda tx, table=table: tx.fetch(
                f"SELECT step, count(*) AS rows FROM {table} WHERE agent_did = $1 GROUP BY step", agent.did
            )
        )
        minutes = 1 if table == "operations_metric" else 2
        assert {row["step"]: row["rows"] for row in left} == {"minute": minutes, "hour": 4, "ever": 1}


def test_a_time_in_a_bucket_is_known_within_four_and_a_half_percent():
    for taken in (1, 2, 3, 10, 99, 1000, 12_345, 86_400_000, 31_536_000_000):
        assert abs(rules.milliseconds_of(rules.bucket_of(taken)) - taken) <= max(0.5, 0.045 * taken)
    assert rules.milliseconds_of(rules.bucket_of(0)) == 1
