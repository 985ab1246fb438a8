"""`hansa jobs` on the database of a registry: waiting jobs are listed, retried, dropped and recorded."""

import json
from pathlib import Path

from hansa.foundation.plumbing.jobs import enqueue, store
from tests.operation.registry_process import run
from tests.registry import DatabaseFarm, open_registry

REASON = "--reason=the host is back"


async def test_the_operator_lists_retries_and_drops_jobs(database_farm: DatabaseFarm, tmp_path: Path):
    dsn, data_dir = await database_farm.fresh(), tmp_path / "data"

    async def jobs(*arguments: str) -> tuple[int, str]:
        ended = await run("jobs", *arguments, data_dir=data_dir, DATABASE_URL=dsn)
        return ended.code, ended.output or ended.complaint

    async with open_registry(dsn, data_dir) as registry:
        job_id = await registry.database.transaction(lambda tx: enqueue(tx, "mail", "key"))
        (job,) = await registry.database.transaction(lambda tx: store.claim(tx, "mail", 1, 30.0))
        assert await registry.database.transaction(lambda tx: store.bury(tx, job, "the host is gone"))
        code, listed = await jobs("list", "--state=dead")
        assert (code, listed.startswith(f"{job_id} mail key: dead")) == (0, True), listed
        assert "the host is gone" in listed
        assert await jobs("retry", str(job_id), REASON) == (0, f"job {job_id} is due now\n")
        _, shown = await jobs("list", "--json")
        waiting = [one for one in json.loads(shown)["jobs"] if one["kind"] == "mail"]
        assert [(one["id"], one["state"]) for one in waiting] == [(job_id, "waiting")]
        assert await jobs("drop", str(job_id)) == (0, f"job {job_id} is dropped\n")
        assert "mail key" not in (await jobs("list"))[1]
        assert await jobs("list", "--state=dead") == (0, "no jobs\n")
        code, refused = await jobs("drop", str(job_id))
        assert (code, refused) == (1, "hansa: No job has this id; it may have finished.\n")
        acts = await registry.database.query(
            lambda tx: tx.fetch("SELECT act, subject, reason FROM plumbing_admin_act ORDER BY id")
        )
    assert [tuple(act) for act in acts] == [
        ("job.retry", f"job:{job_id} mail", "the host is back"),
        ("job.drop", f"job:{job_id} mail", None),
    ]
