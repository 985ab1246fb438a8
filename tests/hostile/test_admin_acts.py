"""Every act of an administrator leaves its row in the audit log, and every refused one leaves none."""

import pytest

from hansa.doors.reference_map import entrances
from hansa.foundation.values.areas import ADMIN_AREAS
from tests.hostile.well_formed import EVERYTHING_ON, Stage, set_stage, well_formed
from tests.registry import StartRegistry, TestDeveloper

# Carried out with a peer of another currency only: tests/neighbours/test_pools.py and test_fixed_rates.py read their rows.
WITH_A_PEER = frozenset(
    {
        "POST /api/v1/admin/fx/pools",
        "POST /api/v1/admin/fx/pools/{currency}/close",
        "POST /api/v1/admin/fx/pools/{currency}/drain",
        "POST /api/v1/admin/fx/pools/{currency}/fund",
        "PUT /api/v1/admin/fx/rates/{currency}",
    }
)


@pytest.fixture
async def stage(start_registry: StartRegistry) -> Stage:
    return await set_stage(await start_registry(**EVERYTHING_ON))


def acts_of_administrators(stage: Stage) -> list[str]:
    """Every operation that changes something and is for administrators."""
    areas = tuple(f"developer holding `{area}`" for area in ADMIN_AREAS)
    return [
        f"{entrance.method} {entrance.path}"
        for entrance in entrances(stage.registry.app)
        if entrance.method != "GET" and entrance.callers[0].startswith(areas)
    ]


async def logged(stage: Stage) -> int:
    return await stage.registry.database.read(
        lambda tx: tx.fetchval("SELECT count(*) FROM plumbing_admin_act")
    )


async def ask(stage: Stage, operation: str, who: TestDeveloper) -> tuple[int, int]:
    """The status, and how many rows the log gained."""
    request = await well_formed(operation, stage)
    before = await logged(stage)
    answer = await request.send(stage.registry, who.headers)
    return answer.status_code, await logged(stage) - before


async def test_every_act_of_an_administrator_is_logged_once_and_no_refused_one_is(stage: Stage):
    operations = acts_of_administrators(stage)
    assert "PUT /api/v1/admin/event-emission-policies/{event_type}" in operations
    deviations = []
    for operation in operations:
        status, rows = await ask(stage, operation, stage.administrator)
        expected = (4, 0) if operation in WITH_A_PEER else (2, 1)
        if (status // 100, rows) != expected:
            deviations.append(f"{operation}: {status} with {rows} rows")
        refused, rows = await ask(stage, operation, stage.developer)
        if refused != 403 or rows:
            deviations.append(f"{operation} of another: {refused} with {rows} rows")
    assert not deviations, "\n".join(deviations)
