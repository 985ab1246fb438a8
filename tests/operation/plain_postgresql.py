"""A PostgreSQL cluster of the lowest supported version, made and run by its own programs, as an operator does."""

import asyncio
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg

from hansa.foundation.plumbing.storage.database import LOWEST_POSTGRESQL
from hansa.foundation.plumbing.storage.embedded.account import server_account
from tests.operation import lowest_postgresql

# A crash of the machine ends the tests as well.
CARELESS = ("fsync=off", "full_page_writes=off")


class PlainPostgresql:
    """The clusters below one folder, which belongs to the account that runs them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._programs = lowest_postgresql.get()
        self._account = server_account(folder / "cluster")
        self._environment = lowest_postgresql.environment(self._programs)
        folder.chmod(0o755)
        self._account.take_over_tree(folder)

    def run(self, program: str, *options: str) -> None:
        """Run a program to its end, as that account."""
        command = self._account.command(self._programs / program, *options)
        ended = subprocess.run(
            command, env=self._environment, capture_output=True, text=True, check=False, cwd=self.folder
        )
        assert ended.returncode == 0, ended.stderr

    def command(self, program: str, *options: str) -> list[str]:
        """The command line of another program that runs as that account."""
        return self._account.command(Path(program), *options)

    def make(self, name: str) -> Path:
        """A new cluster; returns its directory."""
        cluster = self.folder / name
        options = ["--username=hansa", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"]
        self.run("initdb", *options, f"--pgdata={cluster}")
        return cluster

    def ask_for_passwords(self, cluster: Path) -> None:
        """Let connections over TCP state a password, but for the superuser."""
        lines = [
            "local all all trust",
            "host all hansa 127.0.0.1/32 trust",
            "host all all 127.0.0.1/32 scram-sha-256",
        ]
        (cluster / "pg_hba.conf").write_text("\n".join([*lines, ""]))

    def make_directory(self, path: Path) -> None:
        """A directory of that account."""
        path.mkdir(mode=0o700)
        self._account.take_over(path)

    def make_file(self, path: Path) -> None:
        """An empty file of that account."""
        path.touch(mode=0o600)
        self._account.take_over(path)

    @contextmanager
    def running(self, cluster: Path, *settings: str) -> Iterator[str]:
        """Run its server meanwhile; yields the DSN, which may not answer yet."""
        place = (f"unix_socket_directories={self.folder}", "listen_addresses=")
        command = self._account.command(
            self._programs / "postgres",
            "-D",
            str(cluster),
            *(f"--{setting}" for setting in (*place, *settings)),
        )
        with (self.folder / f"{cluster.name}.log").open("ab") as log:
            process = subprocess.Popen(
                command, env=self._environment, stdout=log, stderr=log, cwd=self.folder
            )
        try:
            yield f"postgresql://hansa@/postgres?host={self.folder}"
        finally:
            process.send_signal(signal.SIGINT)
            process.wait()


async def until_it_answers(dsn: str) -> None:
    """Wait until the server takes connections, and is of that version."""
    async with asyncio.timeout(60):
        while True:
            try:
                connection = await asyncpg.connect(dsn)
            except (OSError, asyncpg.CannotConnectNowError):
                await asyncio.sleep(0.05)
                continue
            assert connection.get_server_version().major == LOWEST_POSTGRESQL
            return await connection.close()


@contextmanager
def plain_postgresql() -> Iterator[PlainPostgresql]:
    """A folder for clusters, which is removed afterwards."""
    # Short, because the path of a socket is.
    folder = Path(tempfile.mkdtemp(prefix="hansa-"))
    try:
        yield PlainPostgresql(folder)
    finally:
        shutil.rmtree(folder)
