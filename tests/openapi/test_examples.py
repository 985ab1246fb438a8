"""The served application and its description agree: on the answer to each operation, and on the example of each body."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import httpx2
import pytest

from hansa.doors.http.api.example_bodies import DID, PAYEE
from hansa.doors.http.api.example_values import VALUES
from tests.hostile.credentials import Credentials, every_credential
from tests.hostile.test_rights_matrix import still_logged_in
from tests.hostile.well_formed import BACKUP_CODE, EVERYTHING_ON, Stage, WellFormed, set_stage, well_formed
from tests.house.rights import KINDS, Rights, read_rights
from tests.openapi.judge import Judge
from tests.registry import StartRegistry

WHO_MAY = (
    "none",
    "developer",
    "agent",
    "administrator",
    "internal",
    "password_setter",
    "bootstrap",
    "browser_session",
)
# What the state of the registry may answer to a request of the right form.
REFUSED_BY_STATE = {401, 402, 403, 404, 409}

SIGNED = {"certificate", "chain", "invitation", "acceptance", "bundle", "registry_url", "messages"}


@pytest.fixture
async def stage(start_registry: StartRegistry) -> Stage:
    """A registry with everything switched on that can be."""
    return await set_stage(await start_registry(**EVERYTHING_ON))


@pytest.fixture
async def credentials(stage: Stage) -> Credentials:
    return await every_credential(stage)


@pytest.fixture
def described(stage: Stage) -> dict[str, Any]:
    return stage.registry.app.openapi()


async def test_an_answer_is_what_the_description_declares(
    stage: Stage, credentials: Credentials, described: dict[str, Any]
):
    deviations = []
    judge = Judge(described)
    for row in carried_out():
        if operation_of(described, row):
            async with still_logged_in(stage, row):
                request = await well_formed(row.operation, stage)
                headers = await who_may(row, stage, credentials)
                answer = await request.send(stage.registry, headers)
            deviations += [
                f"{row.operation}: {wrong}" for wrong in differences(described, judge, row, answer)
            ]
    assert deviations == []


async def test_the_example_of_a_request_is_accepted(
    stage: Stage, credentials: Credentials, described: dict[str, Any]
):
    refused, tried = [], 0
    for row in carried_out():
        for media_type, body in bodies(described, row):
            async with still_logged_in(stage, row):
                request = await well_formed(row.operation, stage)
                example = with_certificates_of(request, staged(stage, body["example"]))
                sent = {"json": None, "form": None, "form" if "form" in media_type else "json": example}
                headers = await who_may(row, stage, credentials)
                answer = await replace(request, **sent).send(stage.registry, headers)
            tried += 1
            if answer.status_code >= 300 and answer.status_code not in REFUSED_BY_STATE:
                refused.append(f"{row.operation}: {answer.status_code} {answer.text[:300]}")
    assert tried > 40
    assert refused == []


def carried_out() -> list[Rights]:
    """The operations that a well-formed request with the right credential is enough for."""
    return [row for row in read_rights() if any(status.startswith("2") for status in row.expected.values())]


def operation_of(described: Mapping[str, Any], row: Rights) -> dict[str, Any]:
    """The description of the operation; empty for a page, which has none."""
    method, _, path = row.operation.partition(" ")
    return described["paths"].get(re.sub(r":\w+}", "}", path), {}).get(method.lower(), {})


def bodies(described: Mapping[str, Any], row: Rights) -> list[tuple[str, dict[str, Any]]]:
    return list(operation_of(described, row).get("requestBody", {}).get("content", {}).items())


async def who_may(row: Rights, stage: Stage, credentials: Credentials) -> Mapping[str, str]:
    """A credential with which the operation is carried out."""
    kind = next(kind for kind in [*WHO_MAY, *KINDS] if row.expected[kind].startswith("2"))
    if kind == "bootstrap":
        return {"Bootstrap-Token": await stage.developer.bootstrap_token()}
    return credentials.headers[kind]


def differences(
    described: Mapping[str, Any], judge: Judge, row: Rights, answer: httpx2.Response
) -> list[str]:
    """Return the differences between an answer and its declaration."""
    declared = operation_of(described, row)["responses"].get(str(answer.status_code))
    if declared is None or answer.status_code >= 300:
        return [f"{answer.status_code}: {answer.text[:200]}"]
    media_type = answer.headers.get("content-type", "").partition(";")[0]
    body = declared.get("content", {}).get(media_type)
    if body is None:
        return [] if not answer.content and "content" not in declared else [f"media type {media_type!r}"]
    if "json" not in media_type:
        return []
    faults = judge.faults(body["schema"], answer.json())
    return [f"{fault.instance_path}: {fault.message[:200]}" for fault in faults]


def with_certificates_of(request: WellFormed, example: Any) -> Any:
    """The example with certificates and signed documents that are for this registry, and who is named in them."""
    if not isinstance(example, dict) or not example.keys() & SIGNED:
        return example
    return example | {name: request.json[name] for name in SIGNED & request.json.keys()}


def staged(stage: Stage, example: Any) -> Any:
    """The example with agents that there are, and with a code of the two-factor login that is set up."""
    text = json.dumps(example).replace(DID, stage.agent.did).replace(PAYEE, stage.payee.did)
    return json.loads(text.replace(VALUES["code"], BACKUP_CODE))
