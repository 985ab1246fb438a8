"""The rights matrix over HTTP: every operation, asked with every kind of credential."""

import pytest

from tests.hostile.credentials import Credentials, every_credential
from tests.hostile.well_formed import Stage, set_stage, well_formed
from tests.house.rights import KINDS, Rights, read_rights
from tests.registry import StartRegistry


@pytest.fixture
async def stage(start_registry: StartRegistry) -> Stage:
    """Whatever can be switched on is on."""
    return await set_stage(
        await start_registry(staking_rewards_enabled=True, enable_projection_snapshots=True)
    )


@pytest.fixture
async def credentials(stage: Stage) -> Credentials:
    return await every_credential(stage)


async def test_every_operation_answers_every_credential_as_the_table_of_rights_says(
    stage: Stage, credentials: Credentials
):
    # A logout ends the tokens that the other operations are asked with.
    rows = sorted(read_rights(), key=lambda row: row.operation.endswith("/logout"))
    deviations = [
        deviation
        for row in rows
        for kind in KINDS
        if (deviation := await judged(row, kind, stage, credentials))
    ]
    assert not deviations, "\n".join(deviations)


async def judged(row: Rights, kind: str, stage: Stage, credentials: Credentials) -> str | None:
    """What is wrong with one cell, or None."""
    request = await well_formed(row.operation, stage)
    answer = await request.send(stage.registry, credentials.headers[kind])
    expected, status = row.expected[kind], str(answer.status_code)
    if status == expected or (expected == "2xx" and status[0] == "2"):
        return None
    return f"{row.operation} with {kind}: {status} instead of {expected}: {answer.text[:200]}"
