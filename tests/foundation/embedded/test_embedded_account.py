import os
import stat
import subprocess
import sys
from pathlib import Path

import asyncpg
import pytest
from running_server import server_pid

from hansa.foundation.plumbing.storage.embedded import EmbeddedPostgresFailed, account, cluster
from hansa.foundation.plumbing.storage.embedded.layout import Layout

AS_ROOT = os.geteuid() == 0


async def test_a_parent_directory_closed_to_others_is_no_obstacle_and_stays_as_it_was(embedded, tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    connection = await asyncpg.connect(await embedded(closed / "data", is_first=True).start())
    await connection.execute("CREATE EXTENSION pg_trgm")
    await connection.close()
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700
    assert closed.stat().st_uid == os.geteuid()
    account_uid = server_uid(closed / "data")
    assert (account_uid != 0) if AS_ROOT else (account_uid == os.geteuid())


def server_uid(data_dir: Path) -> int:
    return Path(f"/proc/{server_pid(data_dir)}").stat().st_uid


def test_the_server_gets_no_capability_of_root(tmp_path):
    chosen = account.server_account(tmp_path / "postgres")
    status = subprocess.run(
        chosen.command(Path("/bin/cat"), "/proc/self/status"), capture_output=True, text=True, check=True
    ).stdout
    values = dict(line.split(":\t", 1) for line in status.splitlines())
    assert {int(values[name], 16) for name in ("CapPrm", "CapEff", "CapInh", "CapAmb")} == {0}
    assert int(values["NoNewPrivs"]) == (1 if AS_ROOT else 0)


def test_an_account_that_cannot_be_taken_on_ends_with_one_sentence_of_advice():
    program = ["/nonexistent"] if AS_ROOT else ["/bin/true"]
    command = [sys.executable, "-I", "-S", str(account.LAUNCHER), "65534", "65534", *program]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr.startswith("FATAL:")
    assert "set DATABASE_URL" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


async def test_an_account_without_a_name_is_refused_with_advice(embedded, tmp_path, monkeypatch):
    def unknown(uid):
        raise KeyError(uid)

    monkeypatch.setattr("pwd.getpwuid", unknown)
    with pytest.raises(
        EmbeddedPostgresFailed, match=r"no account name; add it to /etc/passwd, or set DATABASE_URL\.$"
    ):
        await embedded(is_first=True).start()
    assert not (tmp_path / "data" / "postgres").exists()


async def test_a_cluster_copied_back_by_root_goes_to_the_servers_account(embedded, tmp_path):
    postgres = embedded()
    await postgres.start()
    await postgres.stop()
    layout = Layout.of(tmp_path / "data")
    for path in (layout.cluster, *layout.cluster.rglob("*")):
        os.chown(path, os.geteuid(), os.getegid())
    await embedded().start()
    assert layout.cluster.stat().st_uid == account.server_account(layout.cluster).uid


@pytest.mark.parametrize("kept", [True, False])
def test_an_existing_cluster_keeps_its_owner(tmp_path, kept):
    chosen = account.server_account(tmp_path / "postgres")
    folder = tmp_path / "postgres"
    folder.mkdir()
    if kept:
        chosen.take_over(folder)
    assert account.server_account(folder) == chosen
    assert not cluster.exists(Layout.of(tmp_path))
