"""A database of several hosts: the one that writes is used, and left when another one writes."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hansa.foundation.plumbing.settings import BadSetting, read_settings
from hansa.foundation.plumbing.storage import connection
from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.plumbing.storage.hosts import for_programs, one_for_each_host
from hansa.foundation.values.errors import Unavailable
from tests.faults.standby import Pair, leader_and_standby, migrated_cluster, until
from tests.registry import open_registry

# Longer than a test: a statement of a host that hangs ends because another host writes.
WITHOUT_END_SECONDS = 600.0
WHO_WRITES = "SELECT current_setting('port')"


@pytest.fixture(scope="module")
async def cluster() -> AsyncIterator[Path]:
    async with migrated_cluster() as made:
        yield made


@pytest.fixture
async def pair(cluster: Path) -> AsyncIterator[Pair]:
    async with leader_and_standby(cluster) as made:
        yield made


@pytest.mark.parametrize(
    ("dsn", "hosts"),
    [
        ("postgresql://u:p@h:5432/db", ["postgresql://u:p@h:5432/db"]),
        ("postgresql:///db?host=/run", ["postgresql:///db?host=/run"]),
        ("postgresql://u:p@h1:1,h2/db", ["postgresql://u:p@h1:1/db", "postgresql://u:p@h2/db"]),
        (
            "postgres://[::1]:5432,[::2]:5433/db?sslmode=require",
            ["postgres://[::1]:5432/db?sslmode=require", "postgres://[::2]:5433/db?sslmode=require"],
        ),
        (
            "postgresql://u@/db?host=/a,/b&port=1,2",
            ["postgresql://u@/db?host=/a&port=1", "postgresql://u@/db?host=/b&port=2"],
        ),
        (
            "postgresql:///db?host=/a,/b&port=7",
            ["postgresql:///db?host=/a&port=7", "postgresql:///db?host=/b&port=7"],
        ),
    ],
)
def test_a_connection_string_names_one_host_or_several(dsn: str, hosts: list[str], tmp_path: Path):
    assert one_for_each_host(dsn) == hosts
    assert read_settings(database_url=dsn, data_dir=tmp_path).database_url == dsn
    stated = "target_session_attrs=read-write" in for_programs(dsn)
    assert stated is (len(hosts) > 1)


def test_a_database_of_readers_is_refused(tmp_path: Path):
    standbys = "postgresql://one,two/hansa?target_session_attrs=prefer-standby"
    with pytest.raises(BadSetting, match="any, primary, read-write: the registry writes"):
        read_settings(database_url=standbys, data_dir=tmp_path)


async def test_the_host_that_writes_is_found_behind_one_that_does_not_and_after_a_failover(
    pair: Pair, tmp_path: Path
):
    async with open_registry(pair.both, tmp_path / "data") as registry:
        payer, payee = await registry.agent(), await registry.agent()
        assert (await payer.transfer(payee, "10", key="first")).status_code == 200
        await pair.fail_over()

        async def is_served() -> bool:
            return (await payer.transfer(payee, "10", key="second")).status_code == 200

        await until(is_served)
        assert await payee.balance() == "120"
        assert await registry.database.query(lambda tx: tx.fetchval(WHO_WRITES)) == "5433"


async def test_a_host_that_hangs_keeps_no_statement_once_another_one_writes(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(connection, "STATEMENT_SECONDS", WITHOUT_END_SECONDS)
    database = Database(pair.both)
    await database.open()
    try:
        assert await database.query(lambda tx: tx.fetchval(WHO_WRITES)) == "5432"
        pair.hang()
        waiting = asyncio.create_task(database.query(lambda tx: tx.fetchval(WHO_WRITES)))
        await pair.promote()
        with pytest.raises(Unavailable):
            await waiting
        assert await database.query(lambda tx: tx.fetchval(WHO_WRITES)) == "5433"
    finally:
        await database.close()


async def test_hosts_of_which_none_writes_are_refused_in_one_sentence(pair: Pair):
    database = Database(pair.both.replace("port=5433,5432", "port=5433,5433"))
    with pytest.raises(Unavailable, match="the server is read-only"):
        await database.open()
