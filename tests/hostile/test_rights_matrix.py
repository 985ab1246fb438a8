"""The rights matrix over HTTP: every operation, asked with every kind of credential."""

from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import cycle, islice
from pathlib import Path
from time import monotonic

import httpx2
import pytest

from hansa.doors.reference_map import empty_app, entrances
from tests.hostile.credentials import Credentials, every_credential
from tests.hostile.well_formed import EVERYTHING_ON, Stage, set_stage, well_formed
from tests.house.rights import KINDS, Rights, read_rights
from tests.properties.scale import by_tier
from tests.registry import StartRegistry

# Codes of an app, quotes and signed moments are good for half a minute, which is short on a machine with much else to do.
GOOD_FOR_SECONDS = 5
NOT_CARRIED_OUT = (401, 403, 404)
NOT_CARRIED_OUT_EXPECTED = tuple(map(str, NOT_CARRIED_OUT))
END_TOKENS = ("/logout", "/change-password", "/request-deletion", " /login", " /login/code", "/end-all")

# Credentials of nobody: no operation may answer one of them otherwise than a request without any.
DEAD = {
    "malformed",
    "expired_developer",
    "logged_out_developer",
    "expired_agent",
    "forged_agent",
    "bootstrap_as_bearer",
    "refresh_as_bearer",
    "partial_as_bearer",
    "agent_as_bootstrap",
    "revoked_api_key",
    "expired_api_key",
    "revoked_service_certificate",
    "revoked_licence",
    "ended_browser_session",
}
EXPECTED = {row.operation: tuple(row.expected[kind] for kind in KINDS) for row in read_rights()}
ALIKE_EACH = by_tier(1, len(KINDS), len(KINDS))
ANYONE = ("anyone",)

# By operation: who may enter, as its signature declares.
Callers = dict[str, tuple[str, ...]]


@pytest.fixture(scope="module")
def callers(tmp_path_factory: pytest.TempPathFactory) -> Callers:
    return declared_callers(tmp_path_factory.mktemp("house"))


@pytest.fixture
async def stage(start_registry: StartRegistry) -> Stage:
    """Whatever can be switched on is on."""
    return await set_stage(await start_registry(**EVERYTHING_ON))


@pytest.fixture
async def credentials(stage: Stage) -> Credentials:
    return await every_credential(stage)


async def test_every_operation_answers_every_credential_as_the_table_of_rights_says(
    stage: Stage, credentials: Credentials, callers: Callers
):
    deviations = []
    sent = kinds_to_send(callers)
    for row in read_rights():
        request, made_at = await well_formed(row.operation, stage), monotonic()
        for kind in sent[row.operation]:
            if monotonic() - made_at > GOOD_FOR_SECONDS:
                request, made_at = await well_formed(row.operation, stage), monotonic()
            async with still_logged_in(stage, row, kind):
                answer = await request.send(stage.registry, credentials.headers[kind])
            deviations.append(deviation(row, kind, answer))
            # A request that was not carried out is as good for the next credential.
            if answer.status_code not in NOT_CARRIED_OUT:
                request, made_at = await well_formed(row.operation, stage), monotonic()
    assert not any(deviations), "\n".join(filter(None, deviations))


def test_every_kind_of_credential_is_sent_to_operations_of_every_kind(callers: Callers):
    sent = defaultdict(set)
    for operation, kinds in kinds_to_send(callers).items():
        sent[callers[operation], EXPECTED[operation]] |= set(kinds)
    assert all(kinds == set(KINDS) for kinds in sent.values())


def declared_callers(directory: Path) -> Callers:
    return {
        f"{entrance.method} {entrance.path}": entrance.callers for entrance in entrances(empty_app(directory))
    }


def kinds_to_send(callers: Callers) -> dict[str, list[str]]:
    """The kinds of credential that each operation is asked with.

    These are all from which the table expects another answer than without a credential. The rest takes turns, for each
    commit, among the operations that declare the same callers and of which the table expects the same: every such kind
    is sent to one of them at least, and an operation that declares other callers than its like gets all. The deeper tiers
    send all.
    """
    alike: dict[tuple[object, ...], list[Rights]] = defaultdict(list)
    for row in read_rights():
        alike[callers[row.operation], EXPECTED[row.operation]].append(row)
    sent = {}
    for rows in alike.values():
        is_open = callers[rows[0].operation] == ANYONE
        in_turn = [kind for kind in KINDS if changes_nothing(rows[0], kind, is_open=is_open)]
        turns = cycle(in_turn)
        each = max(ALIKE_EACH, -(-len(in_turn) // len(rows)))
        for row in rows:
            drawn = set(islice(turns, each))
            sent[row.operation] = [kind for kind in KINDS if kind in drawn or kind not in in_turn]
    return sent


def changes_nothing(row: Rights, kind: str, *, is_open: bool) -> bool:
    """Return whether a credential of this kind is expected to make no difference and the operation does not read it."""
    if kind == "none" or row.expected[kind] != row.expected["none"]:
        return False
    # One that is open to anyone and refuses with a 401 judges credentials by itself.
    return kind in DEAD or not is_open or row.expected["none"] != "401"


@asynccontextmanager
async def still_logged_in(stage: Stage, row: Rights, kind: str | None = None) -> AsyncIterator[None]:
    """Keep the tokens good for the next operation, although this one ends the tokens it is called with.

    With `kind` only where the table expects that the operation is carried out for this credential.
    """
    is_refused = kind is not None and row.expected[kind] in NOT_CARRIED_OUT_EXPECTED
    if is_refused or not row.operation.endswith(END_TOKENS):
        yield
        return
    database = stage.registry.database
    sessions = await database.read(
        lambda tx: tx.fetch("SELECT id FROM people_session WHERE ended_at IS NULL")
    )
    hashes = await database.read(lambda tx: tx.fetch("SELECT id, password_hash FROM people_developer"))
    yield
    await database.transaction(
        lambda tx: tx.execute(
            "UPDATE people_session SET ended_at = NULL WHERE id = ANY($1::uuid[])",
            [session["id"] for session in sessions],
        )
    )
    await database.transaction(
        lambda tx: tx.executemany(
            "UPDATE people_developer SET password_hash = $2 WHERE id = $1", [tuple(kept) for kept in hashes]
        )
    )


def deviation(row: Rights, kind: str, answer: httpx2.Response) -> str | None:
    """Return the deviation of one cell, or None."""
    expected, status = row.expected[kind], str(answer.status_code)
    if status == "401" and "www-authenticate" not in answer.headers:
        return f"{row.operation} with {kind}: 401 without WWW-Authenticate"
    if status == expected or (expected == "2xx" and status[0] == "2"):
        return None
    return f"{row.operation} with {kind}: {status} instead of {expected}: {answer.text[:200]}"
