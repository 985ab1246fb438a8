"""Commands of an operator whose DATABASE_URL names the hosts of a cluster, one of which writes."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.faults.standby import Pair, leader_and_standby, migrated_cluster
from tests.operation.conftest import Launch
from tests.operation.registry_process import Ended, run


@pytest.fixture(scope="module")
async def pair() -> AsyncIterator[Pair]:
    async with migrated_cluster() as cluster, leader_and_standby(cluster) as made:
        yield made


async def test_a_start_on_a_standby_is_refused_in_one_line(tmp_path: Path, pair: Pair):
    ended = await run("serve", "--port=0", data_dir=tmp_path / "data", DATABASE_URL=pair.standby)
    assert (ended.code, ended.output) == (1, "")
    [line] = ended.complaints
    assert line.endswith(": the server is read-only")
    assert not (tmp_path / "data").exists()


async def test_every_command_finds_the_host_that_writes(operated: Launch, pair: Pair, tmp_path: Path):
    settings = {"DATABASE_URL": pair.both, "HANSA_KEYS_PASSPHRASE": "Quiet-Harbour-41-Lantern"}
    registry = operated(DATABASE_URL=pair.both)
    await registry.start()

    async def ran(*words: str) -> Ended:
        ended = await run(*words, data_dir=registry.data_dir, **settings)
        assert ended.code == 0, ended
        return ended

    doctor = await run("doctor", "--json", data_dir=registry.data_dir, **settings)
    findings = json.loads(doctor.output)["findings"]
    assert {one["severity"] for one in findings if one["subject"] in {"database", "schema"}} == {"ok"}
    # The servers of tests are careless of crashes.
    faults = {one["message"].partition(":")[0] for one in findings if one["severity"] == "problem"}
    assert faults == {"fsync is off", "full_page_writes is off"}
    await ran("mint", "--amount", "7", "--ref", "cluster")
    await ran("db", "migrate")
    await ran("db", "backup", str(tmp_path / "registry.hansa"))
    address = (await ran("db", "url")).output.strip()
    assert address == f"{pair.both}&target_session_attrs=read-write"
    pair.run("psql", address, "--command=CREATE TABLE written_by_psql ()")
    dump = pair.folder / "dump.sql"
    pair.run("pg_dump", address, f"--file={dump}")
    assert "written_by_psql" in dump.read_text()
    pair.run("psql", address, "--command=DROP TABLE written_by_psql")
    ended = await registry.stop()
    assert ended.code == 0, ended
