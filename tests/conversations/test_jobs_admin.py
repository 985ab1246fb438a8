"""Administrators of the platform and the operator list background jobs, retry them and drop them."""

from typing import Any

import pytest

from hansa.doors.assembly import ASSEMBLY
from hansa.foundation.plumbing.jobs import JobFilter, enqueue, list_jobs, retry_job, store
from tests.registry import TestDeveloper, TestRegistry
from tests.running_jobs import jobs_of, working

KIND = "test"
DROPPED = {"mail", "forgotten password"}
# Each with what would be lost with a job.
KEPT = {
    "auditor: notice of a breach": "a message to the administrators of the treasury",
    "auditor: keys of a peer": "the keys under which a log counts",
    "card pull": "the next visit of a card",
    "exchange: stock card": "the closes of a day in the registry card",
    "commerce: acceptances of contracts at other registries": "units of a payer that are held",
    "commerce: contract deadlines": "the end of a hold",
    "commerce: contracts of revoked agents": "the end of holds",
    "commerce: contracts stated to the registry of their provider": "a message to a peer",
    "commerce: dispute deadlines": "the decision about a hold",
    "commerce: settlements with a peer": "a message to a peer about units",
    "commerce: slashes for peers": "stakes that are to be taken",
    "deployment check": "the end of a deployment, which keeps others from beginning",
    "exchange: cancel subscriptions": "the end of holds",
    "exchange: close launches": "the end of holds",
    "exchange: expire listings": "the end of a listing",
    "exchange: open launches": "the begin of a launch, and its end where it never opens",
    "exchange: expiry of orders": "the end of holds",
    "exchange: orders of ended listings": "the end of holds",
    "exchange: orders of stopped agents": "the end of holds",
    "exchange: settle launches": "the end of holds",
    "exchange: levy revenue": "the levy of a day",
    "exchange: pay distributions": "the payment of holders",
    "federation: claim DIDs at the frame": "a message to the frame",
    "federation: read a peer": "the next reading of a peer",
    "governance: deadlines": "the end of a proposal, or the effect of what it decided",
    "pipelines: runs": "all that goes on with a run",
    "health check": "the next visit of a card",
    "people: end connections of an agent": "the end of what an application may do",
    "namespace proof": "the next check of a namespace",
    "organizations: mails of a delay": "a message to members about a payment that they may still stop",
    "payments: end purchases": "the end of a purchase that is paid",
    "peer cards": "the next reading of a peer",
    "peer enforcement": "suspensions at a peer",
    "peer hint": "a message to a peer",
    "peers: look for enforcement": "suspensions at peers",
    "reputation: record signals": "evidence for scores",
    "treasury: crossings": "the end of a payment that is under way",
    "treasury: expire work orders": "the end of a hold",
    "transfers: acts on pools to a peer": "a message to a peer about units",
    "transfers: bridge messages to a peer": "a message to a peer about units",
    "transfers: messages to a peer": "a message to a peer about units",
    "webhook": "deliveries that wait for an owner",
    "parameters: take effect": "the registry card that states a value in force",
}


@pytest.fixture
async def admin(registry: TestRegistry) -> TestDeveloper:
    return await registry.administrator("admin_platform")


async def add(registry: TestRegistry, key: str, kind: str = KIND) -> int:
    return await registry.database.transaction(
        lambda tx: enqueue(tx, kind, key, {"to": "somebody@example.org"})
    )


async def kill(registry: TestRegistry, job_id: int) -> None:
    """Let the next attempt of a job be its last."""
    (job,) = await registry.database.transaction(lambda tx: store.claim(tx, KIND, 1, 30.0))
    assert job.id == job_id
    assert (
        await registry.database.transaction(lambda tx: store.bury(tx, job, "the receiver is gone")) == "dead"
    )


async def listed(admin: TestDeveloper, **query: Any) -> dict[str, Any]:
    answer = await admin.registry.get("/admin/jobs", params=query, headers=admin.headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def retry(admin: TestDeveloper, job_id: int) -> Any:
    return await admin.registry.post(f"/admin/jobs/{job_id}/retry", headers=admin.headers)


async def drop(admin: TestDeveloper, job_id: int) -> Any:
    return await admin.registry.http.delete(f"/api/v1/admin/jobs/{job_id}", headers=admin.headers)


async def acts(admin: TestDeveloper) -> list[tuple[str, str]]:
    answer = await admin.registry.get("/admin/audit-log", headers=admin.headers)
    return [(act["act"], act["subject"]) for act in answer.json()["items"]]


async def test_jobs_are_listed_in_pages_by_kind_and_state_without_their_payload(
    registry: TestRegistry, admin: TestDeveloper
):
    ids = [await add(registry, f"key-{number}") for number in range(3)]
    await add(registry, "other", kind="other")
    await kill(registry, ids[0])
    page = await listed(admin, kind=KIND, limit=2)
    assert page["pagination"]["total_items"] == 3
    assert [job["id"] for job in page["items"]] == ids[:2]
    (dead,) = (await listed(admin, kind=KIND, state="dead"))["items"]
    assert (dead["key"], dead["attempts"], dead["last_error"]) == ("key-0", 1, "the receiver is gone")
    assert dead["dead_at"]
    await registry.database.transaction(lambda tx: store.claim(tx, KIND, 1, 30.0))
    (running,) = (await listed(admin, state="running"))["items"]
    assert (running["id"], running["lease_until"] is None) == (ids[1], False)
    assert "somebody@example.org" not in str(await listed(admin))


async def test_a_dead_job_is_retried_and_recorded(registry: TestRegistry, admin: TestDeveloper):
    job_id = await add(registry, "key")
    await kill(registry, job_id)
    assert (await retry(admin, job_id)).status_code == 204
    (job,) = (await listed(admin, kind=KIND))["items"]
    assert (job["state"], job["attempts"], job["dead_at"]) == ("waiting", 0, None)
    assert await acts(admin) == [("job.retry", f"job:{job_id} {KIND}")]


async def test_a_job_is_dropped_and_recorded(registry: TestRegistry, admin: TestDeveloper):
    kind = "forgotten password"
    job_id = await add(registry, "key", kind)
    assert (await drop(admin, job_id)).status_code == 204
    assert (await listed(admin, kind=kind))["items"] == []
    assert await acts(admin) == [("job.drop", f"job:{job_id} {kind}")]
    assert (await drop(admin, job_id)).status_code == 404
    assert (await retry(admin, job_id)).status_code == 404


async def test_a_job_that_runs_is_neither_retried_nor_dropped(registry: TestRegistry, admin: TestDeveloper):
    job_id = await add(registry, "key")
    await registry.database.transaction(lambda tx: store.claim(tx, KIND, 1, 30.0))
    for act in (retry, drop):
        answer = await act(admin, job_id)
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "JOB_RUNNING")
    assert await acts(admin) == []


async def test_a_job_that_others_wait_for_is_not_dropped(registry: TestRegistry, admin: TestDeveloper):
    for kind in sorted(KEPT):
        job_id = await add(registry, "key", kind)
        answer = await drop(admin, job_id)
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "JOB_KEPT")
        assert [job["id"] for job in (await listed(admin, kind=kind))["items"]] == [job_id]
    assert await acts(admin) == []


def test_every_kind_of_job_is_decided_and_none_on_a_schedule_is_dropped():
    in_turns = {kind.name for kind in ASSEMBLY.jobs if kind.every_seconds is None and kind.has_work is None}
    assert in_turns == DROPPED | set(KEPT)
    assert ASSEMBLY.droppable_jobs == DROPPED


async def test_work_on_a_schedule_is_not_dropped(registry: TestRegistry, admin: TestDeveloper):
    scheduled = next(kind for kind in ASSEMBLY.jobs if kind.every_seconds)
    async with working(registry.runtime, scheduled):
        while not (rows := await jobs_of(registry.runtime, scheduled.name)):
            pass
    answer = await drop(admin, rows[0]["id"])
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "JOB_SCHEDULED")


async def test_the_operator_is_recorded_as_such(registry: TestRegistry, admin: TestDeveloper):
    job_id = await add(registry, "key")
    await registry.database.transaction(lambda tx: retry_job(tx, job_id, None, "the mail server is back"))
    logged = await registry.get("/admin/audit-log", headers=admin.headers)
    (act,) = logged.json()["items"]
    assert (act["developer_id"], act["act"], act["reason"]) == (None, "job.retry", "the mail server is back")
    found, total = await registry.database.read(lambda tx: list_jobs(tx, JobFilter(KIND, None, 10, 0)))
    assert ([job.id for job in found], total) == ([job_id], 1)


async def test_only_administrators_of_the_platform_see_jobs(registry: TestRegistry):
    other = await registry.administrator("admin_enforcement")
    assert (await registry.get("/admin/jobs", headers=other.headers)).status_code == 403
    assert (await retry(other, 1)).status_code == 403
    assert (await drop(other, 1)).status_code == 403
