"""Three machines of a database, each with Patroni and PostgreSQL, and etcd; configured by `deploy/ha`, on this machine."""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import asyncpg
import httpx2

from hansa.foundation.plumbing.storage.embedded.account import ServerAccount, server_account
from tests import debian_packages
from tests.operation import lowest_postgresql
from tests.operation.proxies import DEPLOYED
from tests.operation.registry_process import children_of, command_of, free_port

NAMES = ("db1", "db2", "db3")
PACKAGES = ("patroni", "python3-etcd", "etcd-server", "haproxy")
PYTHON = Path("/usr/bin/python3")
PASSWORD = "replace-this"
COME_TO_PASS_SECONDS = 120.0
PAUSE_SECONDS = 0.2
# The Patroni of Debian 12 loses operations when a leader hangs and goes on; what it requires is of its package all the same.
PATRONI = Path(__file__).parents[2] / "requirements" / "high_availability.txt"
LINES_SHOWN = 300


def install_patroni() -> Path:
    """The folder with the pinned Patroni, which every account can read."""
    folder = debian_packages.UNPACKED / f"patroni-{sha256(PATRONI.read_bytes()).hexdigest()[:16]}"
    with debian_packages.alone():
        if not folder.exists():
            with tempfile.TemporaryDirectory(dir=debian_packages.UNPACKED) as scratch:
                target = Path(scratch) / "patroni"
                pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--require-hashes"]
                subprocess.run([*pip, f"--target={target}", "-r", PATRONI], check=True, umask=0o022)
                target.rename(folder)
    return folder


def replaced(text: str, meant: Mapping[str, str]) -> str:
    """A file of `deploy/ha` with the places of this run; each of the stated ones is in it."""
    for stated, other in meant.items():
        assert stated in text, stated
        text = text.replace(stated, other)
    return text


async def until(condition: Callable[[], Awaitable[object]]) -> None:
    """Wait until the condition is true; a database or a Patroni that cannot be reached makes it false."""
    async with asyncio.timeout(COME_TO_PASS_SECONDS):
        while True:
            try:
                if await condition():
                    return
            except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError, httpx2.HTTPError):
                pass
            await asyncio.sleep(PAUSE_SECONDS)


@dataclass
class Machine:
    """One machine of the database: its Patroni, and the PostgreSQL that Patroni runs."""

    name: str
    folder: Path
    packages: debian_packages.Unpacked
    account: ServerAccount
    etcd: int
    database: int = field(default_factory=free_port)
    rest: int = field(default_factory=free_port)
    _process: subprocess.Popen[bytes] | None = None

    @property
    def is_running(self) -> bool:
        """Return whether its Patroni runs."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start Patroni, which makes or joins the cluster."""
        programs = lowest_postgresql.get()
        meant = {
            "name: db1": f"name: {self.name}",
            "10.0.0.11:8008": f"127.0.0.1:{self.rest}",
            "10.0.0.11:2379,10.0.0.12:2379,10.0.0.13:2379": f"127.0.0.1:{self.etcd}",
            "10.0.0.11:5432": f"127.0.0.1:{self.database}",
            "10.0.0.0/24": "127.0.0.0/8",
            "/var/lib/postgresql/hansa": str(self.folder / self.name),
            "/usr/lib/postgresql/15/bin": str(programs),
            "/var/run/postgresql": str(self.folder),
        }
        file = self.folder / f"{self.name}.yml"
        file.write_text(replaced((DEPLOYED / "patroni.yml").read_text(), meant))
        file.chmod(0o644)
        environment = {**lowest_postgresql.environment(programs), **self.packages.environment}
        environment["PATH"] = f"{programs}:{environment['PATH']}"
        environment["PYTHONPATH"] = f"{install_patroni()}:{environment['PYTHONPATH']}"
        with (self.folder / f"{self.name}.log").open("ab") as log:
            self._process = subprocess.Popen(
                self.account.command(PYTHON, "-m", "patroni", str(file)),
                env=environment,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def end_of_log(self) -> str:
        """The last lines of its Patroni and PostgreSQL, without those that say that nothing is to be done."""
        lines = (self.folder / f"{self.name}.log").read_text(errors="replace").splitlines()
        said = [line for line in lines if "INFO: no action." not in line]
        return "\n".join([f"{self.name}:", *said[-LINES_SHOWN:]])

    def signal(self, number: signal.Signals, *, database_alone: bool = False) -> None:
        """Send a signal to every process of the machine, or to its PostgreSQL alone."""
        processes = self._database_processes()
        if self._process is not None and not database_alone:
            processes.insert(0, self._process.pid)
        for process in processes:
            try:
                os.kill(process, number)
            except ProcessLookupError:
                continue

    def kill(self) -> None:
        """Lose the machine."""
        self.signal(signal.SIGKILL)
        if self._process is not None:
            self._process.wait()
            self._process = None

    def stall(self) -> None:
        """Stop the processes that send the log to the standbys."""
        for process in self._database_processes():
            if "walsender" in command_of(process):
                os.kill(process, signal.SIGSTOP)

    def _database_processes(self) -> list[int]:
        try:
            pid = int((self.folder / self.name / "postmaster.pid").read_text().split("\n", 1)[0])
        except (OSError, ValueError):
            return []
        return [pid, *children_of(pid)] if "postgres" in command_of(pid) else []

    async def value(self, statement: str, database: str = "hansa") -> Any:
        """The first value of a statement's answer, as the superuser."""
        address = f"postgresql://postgres:{PASSWORD}@127.0.0.1:{self.database}/{database}"
        connection = await asyncpg.connect(address, timeout=5, command_timeout=10)
        try:
            return await connection.fetchval(statement)
        finally:
            connection.terminate()


@dataclass
class Cluster:
    """The machines of the database."""

    folder: Path
    machines: list[Machine]

    @property
    def dsn(self) -> str:
        """The connection string of the registry, with every machine."""
        hosts = ",".join(f"127.0.0.1:{machine.database}" for machine in self.machines)
        return f"postgresql://hansa:{PASSWORD}@{hosts}/hansa?target_session_attrs=read-write"

    async def members(self) -> list[dict[str, Any]]:
        """The members, as any of their Patronis states them."""
        async with httpx2.AsyncClient(trust_env=False, timeout=5) as http:
            for machine in self.machines:
                try:
                    answer = await http.get(f"http://127.0.0.1:{machine.rest}/cluster")
                except httpx2.HTTPError:
                    continue
                return list(answer.json()["members"])
        return []

    async def leader(self) -> Machine:
        """The machine that leads, once there is one and it writes."""
        found: list[Machine] = []

        async def leads() -> bool:
            names = [one["name"] for one in await self.members() if one["role"] == "leader"]
            found[:] = [machine for machine in self.machines if machine.name in names]
            return bool(found) and not await found[0].value("SELECT pg_is_in_recovery()", "postgres")

        await until(leads)
        return found[0]

    async def until_whole(self) -> None:
        """Wait until every machine follows the leader, one of them synchronously."""

        async def is_whole() -> bool:
            roles = sorted(
                one["role"] for one in await self.members() if one["state"] in {"running", "streaming"}
            )
            if roles != ["leader", "replica", "sync_standby"]:
                return False
            leader = await self.leader()
            following = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'"
            return bool(await leader.value(following, "postgres") == len(NAMES) - 1)

        await self._until(is_whole, "not whole")

    async def _until(self, condition: Callable[[], Awaitable[object]], otherwise: str) -> None:
        try:
            await until(condition)
        except TimeoutError as error:
            logs = [machine.end_of_log() for machine in self.machines]
            raise AssertionError("\n".join([f"{otherwise}: {await self.members()}", *logs])) from error

    async def switch_over(self) -> None:
        """Have another machine lead, as an operator does before maintenance."""
        leader = await self.leader()
        async with httpx2.AsyncClient(trust_env=False, timeout=60) as http:
            answer = await http.post(
                f"http://127.0.0.1:{leader.rest}/switchover", json={"leader": leader.name}
            )
            assert answer.is_success, answer.text


@contextmanager
def _etcd(folder: Path, packages: debian_packages.Unpacked, account: ServerAccount) -> Iterator[int]:
    """One member alone; yields its port."""
    clients, peers = free_port(), free_port()
    meant = {"10.0.0.11:2380": f"127.0.0.1:{peers}", "10.0.0.11:2379": f"127.0.0.1:{clients}"}
    meant |= {",http://127.0.0.1:2379": "", "/var/lib/etcd/hansa": str(folder / "etcd")}
    meant |= {",db2=http://10.0.0.12:2380,db3=http://10.0.0.13:2380": ""}
    stated = replaced((DEPLOYED / "etcd.env").read_text(), meant)
    lines = [line for line in stated.splitlines() if not line.startswith("#")]
    with (folder / "etcd.log").open("ab") as log:
        process = subprocess.Popen(
            account.command(Path(packages.program("etcd"))),
            env={**packages.environment, **dict(line.split("=", 1) for line in lines)},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        yield clients
    finally:
        process.kill()
        process.wait()


@asynccontextmanager
async def running_cluster(folder: Path) -> AsyncIterator[Cluster]:
    """A new cluster with the database and the role of the registry."""
    packages = debian_packages.unpack(*PACKAGES)
    account = server_account(folder / "cluster")
    account.take_over(folder)
    with _etcd(folder, packages, account) as etcd:
        cluster = Cluster(folder, [Machine(name, folder, packages, account, etcd) for name in NAMES])
        try:
            for machine in cluster.machines:
                machine.start()
            leader = await cluster.leader()
            await cluster.until_whole()
            await leader.value(f"CREATE ROLE hansa LOGIN PASSWORD '{PASSWORD}'", "postgres")
            await leader.value("CREATE DATABASE hansa OWNER hansa", "postgres")
            yield cluster
        finally:
            for machine in cluster.machines:
                machine.kill()
