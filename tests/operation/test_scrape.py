"""A scrape of a registry that has just started: counters at 0, measured gauges, and every metric that alerts and dashboard use."""

import re
from time import time

import httpx2
from prometheus_client import Counter
from prometheus_client.parser import text_string_to_metric_families

from hansa.foundation.plumbing.telemetry import metrics
from tests.house import dashboard
from tests.operation.registry_process import RegistryProcess, until_async
from tests.operation.test_alert_rules import RULES

NAME = re.compile(r"\bhansa_[a-z0-9_]+")
PART = re.compile(r"_(?:bucket|sum|count)$")

Samples = dict[str, dict[tuple[str, ...], float]]


async def scrape(url: str) -> str:
    async with httpx2.AsyncClient(base_url=url, trust_env=False, timeout=60) as http:
        answer = await http.get("/metrics")
        assert answer.status_code == 200
        return answer.text


def samples_of(text: str) -> Samples:
    found: Samples = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(sample.labels.values())] = sample.value
    return found


async def measured(registry: RegistryProcess) -> Samples:
    """A scrape after the first measurements of the process."""

    async def is_measured() -> bool:
        found = samples_of(await scrape(registry.url))
        return bool(
            found["hansa_database_primary"][()]
            and found.get("hansa_certificate_expires_timestamp_seconds", {}).get(("service",))
            and found["hansa_search_index_current_timestamp_seconds"][()]
        )

    await until_async(is_measured)
    return samples_of(await scrape(registry.url))


async def test_every_labelled_counter_begins_at_zero(running: RegistryProcess):
    await scrape(running.url)
    found = await measured(running)
    labelled = [one for one in vars(metrics).values() if isinstance(one, Counter) and one._labelnames]
    assert len(labelled) >= 14
    assert [one._name for one in labelled if not found.get(f"{one._name}_total")] == []


async def test_the_errors_of_a_route_begin_at_zero_with_its_first_answer(running: RegistryProcess):
    async with httpx2.AsyncClient(base_url=running.url, trust_env=False, timeout=60) as http:
        assert (await http.get("/livez")).status_code == 200

    async def are_begun() -> bool:
        found = samples_of(await scrape(running.url))["hansa_http_requests_total"]
        return found.get(("GET", "/livez", "500")) == found.get(("GET", "/livez", "503")) == 0

    await until_async(are_begun)


async def test_the_process_its_disk_and_its_database_are_measured(running: RegistryProcess):
    found = await measured(running)
    assert list(found["hansa_build_info"].values()) == [1]
    assert found["hansa_database_primary"][()] == 1
    assert found["hansa_database_synchronous_replication"][()] == 0
    assert found["hansa_database_synchronous_standbys"][()] == 0
    assert found["hansa_database_connections_max"][()] >= 2
    assert 0 < found["hansa_disk_free_bytes"][()] <= found["hansa_disk_size_bytes"][()]
    assert time() - found["hansa_search_index_current_timestamp_seconds"][()] < 600
    ends = found["hansa_certificate_expires_timestamp_seconds"]
    assert ends["authority",] > time() + 9 * 365 * 86400
    assert ends["service",] == float("inf")
    assert found["hansa_database_commit_seconds_count"][()] > 0


async def test_every_metric_of_the_alerts_and_of_the_dashboard_is_in_a_scrape(running: RegistryProcess):
    text = await scrape(running.url)
    known = set(re.findall(r"^# TYPE (\w+)", text, re.MULTILINE))
    used = {PART.sub("", name) for one in dashboard.expressions() for name in NAME.findall(one)}
    ruled = {PART.sub("", name) for name in NAME.findall(RULES.read_text())}
    assert sorted((used | ruled) - known) == []
    assert len(used) >= 30
