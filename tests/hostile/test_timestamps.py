"""A time in a query is ISO 8601 text; a bare number is no time."""

import pytest

from tests.hostile.refusals import fault_of
from tests.registry import TestRegistry


@pytest.mark.parametrize(
    "timestamp", ["0", "0.5", "1e9", "-1", "1767225600", "1767225600000", "now", "infinity", "२०२६-०१-०१"]
)
async def test_what_is_no_iso_time_is_refused(timestamp: str, registry: TestRegistry):
    answer = await registry.get("/agent-cards/", params={"updated_since": timestamp})
    assert (answer.status_code, fault_of(answer)) == (422, None)


@pytest.mark.parametrize(
    "timestamp", ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00+02:00", "2026-01-01T00:00:00.123456"]
)
async def test_an_iso_time_is_taken(timestamp: str, registry: TestRegistry):
    assert (await registry.get("/agent-cards/", params={"updated_since": timestamp})).status_code == 200
