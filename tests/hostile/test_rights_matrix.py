"""The rights matrix over HTTP: every operation, asked with every kind of credential."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import pytest

from tests.hostile.credentials import Credentials, every_credential
from tests.hostile.well_formed import EVERYTHING_ON, Stage, set_stage, well_formed
from tests.house.rights import KINDS, Rights, read_rights
from tests.registry import StartRegistry

NOT_CARRIED_OUT = (401, 403, 404)
END_TOKENS = ("/logout", "/change-password", "/request-deletion", " /login", " /login/code", "/end-all")


@pytest.fixture
async def stage(start_registry: StartRegistry) -> Stage:
    """Whatever can be switched on is on."""
    return await set_stage(await start_registry(**EVERYTHING_ON))


@pytest.fixture
async def credentials(stage: Stage) -> Credentials:
    return await every_credential(stage)


async def test_every_operation_answers_every_credential_as_the_table_of_rights_says(
    stage: Stage, credentials: Credentials
):
    deviations = []
    for row in read_rights():
        request = await well_formed(row.operation, stage)
        for kind in KINDS:
            async with still_logged_in(stage, row):
                answer = await request.send(stage.registry, credentials.headers[kind])
            deviations.append(deviation(row, kind, answer))
            # A request that was not carried out is as good for the next credential.
            if answer.status_code not in NOT_CARRIED_OUT:
                request = await well_formed(row.operation, stage)
    assert not any(deviations), "\n".join(filter(None, deviations))


@asynccontextmanager
async def still_logged_in(stage: Stage, row: Rights) -> AsyncIterator[None]:
    """What ends the tokens that it is asked with leaves them good for the next operation."""
    if not row.operation.endswith(END_TOKENS):
        yield
        return
    database = stage.registry.database
    sessions = await database.read(
        lambda tx: tx.fetch("SELECT id FROM people_session WHERE ended_at IS NULL")
    )
    hashes = await database.read(lambda tx: tx.fetch("SELECT id, password_hash FROM people_developer"))
    yield
    await database.act(
        lambda tx: tx.execute(
            "UPDATE people_session SET ended_at = NULL WHERE id = ANY($1::uuid[])",
            [session["id"] for session in sessions],
        )
    )
    await database.act(
        lambda tx: tx.executemany(
            "UPDATE people_developer SET password_hash = $2 WHERE id = $1", [tuple(kept) for kept in hashes]
        )
    )


def deviation(row: Rights, kind: str, answer: httpx2.Response) -> str | None:
    """What is wrong with one cell, or None."""
    expected, status = row.expected[kind], str(answer.status_code)
    if status == expected or (expected == "2xx" and status[0] == "2"):
        return None
    return f"{row.operation} with {kind}: {status} instead of {expected}: {answer.text[:200]}"
