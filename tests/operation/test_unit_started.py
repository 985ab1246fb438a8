"""`deploy/systemd/hansa.service`, started as systemd does: its command, account and umask, its notifications, its signals.

The places of the unit are those of the test; its settings file is that of the production guide.
"""

import asyncio
import os
import shlex
import signal
import socket
import struct
from asyncio.subprocess import DEVNULL, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from hansa.doors.serving.service_manager import watchdog_seconds
from tests.operation.confined import Confinement, open_to_others
from tests.operation.plain_postgresql import CARELESS, plain_postgresql, until_it_answers
from tests.operation.registry_process import (
    COMMAND,
    READY_LINE,
    START_SECONDS,
    children_of,
    free_port,
    is_alive,
    readiness,
    run,
    until,
)
from tests.operation.test_production_guide import database_of_guide, stated_settings
from tests.operation.test_systemd import service_of

SERVICE = service_of("hansa.service")
CREDENTIALS = struct.Struct("3i")
WATCHDOG = b"WATCHDOG=1"
# Stands for the process of the test, which is not that in which tests are collected.
OWN = "own"
WATCHDOG_SECONDS = 2


class Manager:
    """Socket of a service manager that accepts states of the main process alone (`NotifyAccess=main`)."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self._socket.bind(str(place))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        place.chmod(0o666)

    async def state(self, main: int) -> bytes:
        """Wait for the next state that is no report for the watchdog."""
        while (found := await self._next(main)) == WATCHDOG:
            pass
        return found

    async def report_of_the_watchdog(self, main: int) -> None:
        """Wait for one."""
        async with asyncio.timeout(START_SECONDS):
            assert await self._next(main) == WATCHDOG

    def drop(self) -> None:
        """Forget the states that wait to be read."""
        with suppress(BlockingIOError):
            while True:
                self._socket.recv(4096)

    async def is_silent(self, seconds: float) -> bool:
        """Return whether no state comes in this time."""
        try:
            async with asyncio.timeout(seconds):
                await self._readable()
        except TimeoutError:
            return True
        self.drop()
        return False

    def close(self) -> None:
        self._socket.close()

    async def _next(self, main: int) -> bytes:
        await self._readable()
        state, more, _, _ = self._socket.recvmsg(4096, socket.CMSG_SPACE(CREDENTIALS.size))
        sender, _, _ = CREDENTIALS.unpack(more[0][2])
        assert sender == main, state
        return state

    async def _readable(self) -> None:
        loop, readable = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(self._socket, readable.set)
        try:
            await readable.wait()
        finally:
            loop.remove_reader(self._socket)


@dataclass
class Machine:
    """The places of the unit on this machine."""

    directory: Path
    manager: Manager
    port: int
    confinement: Confinement

    @property
    def data_dir(self) -> Path:
        return self.directory / "srv"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def command(self) -> list[str]:
        """ExecStart with these places."""
        words = shlex.split(SERVICE["ExecStart"])
        meant = {
            "/opt/hansa/.venv/bin/hansa": str(COMMAND),
            "/etc/hansa/hansa.env": str(self.directory / "hansa.env"),
            "/srv/hansa": str(self.data_dir),
            "8000": str(self.port),
        }
        assert meant.keys() <= {*words}
        return [meant.get(word, word) for word in words]

    def variables(self) -> dict[str, str]:
        """The environment that systemd gives a service."""
        return {
            "PATH": os.defpath,
            "LANG": "C.UTF-8",
            "HOME": str(self.data_dir),
            "LOGNAME": SERVICE["User"],
            "USER": SERVICE["User"],
            "SHELL": "/usr/sbin/nologin",
            "INVOCATION_ID": "0" * 32,
            "NOTIFY_SOCKET": str(self.manager.place),
        }

    @asynccontextmanager
    async def started(self, **more: str) -> AsyncIterator[Process]:
        """Start the service and wait until it is ready."""
        with (self.directory / "log").open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                *self.confinement.command(*self.command()),
                stdin=DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                env={**self.variables(), **more},
                cwd="/",
            )
        try:
            ready, ended = (
                asyncio.ensure_future(self.manager.state(process.pid)),
                asyncio.ensure_future(process.wait()),
            )
            async with asyncio.timeout(START_SECONDS):
                await asyncio.wait({ready, ended}, return_when=asyncio.FIRST_COMPLETED)
            ended.cancel()
            assert ready.done(), self.log()
            assert ready.result() == b"READY=1"
            yield process
        finally:
            if process.returncode is None:
                process.kill()
            await process.communicate()

    async def is_backed_up(self) -> None:
        """Require that the unit of the backup writes one, with the keys, to its directory alone."""
        unit = service_of("hansa-backup.service")
        backups = self.directory / "backups"
        backups.mkdir()
        confinement = Confinement((backups, self.data_dir), int(unit["UMask"], 8))
        confinement.own()
        meant = {
            "/opt/hansa/.venv/bin/hansa": str(COMMAND),
            "/backups": str(backups),
            "/srv/hansa": str(self.data_dir),
        }
        words = [meant.get(word, word) for word in shlex.split(unit["ExecStart"])]
        process = await asyncio.create_subprocess_exec(
            *confinement.command(*words),
            stdin=DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={**self.variables(), "HANSA_KEYS_PASSPHRASE": "Quiet-Harbour-41-Lantern"},
            cwd="/",
        )
        async with asyncio.timeout(START_SECONDS):
            printed, _ = await process.communicate()
        assert process.returncode == 0, printed.decode()
        [file] = backups.iterdir()
        assert (file.suffix, file.stat().st_mode & 0o777) == (".hansa", 0o600)

    async def stops(self, process: Process) -> None:
        """Require that the stop of the unit ends it as systemd expects."""
        assert "KillSignal" not in SERVICE, "SIGTERM"
        self.manager.drop()
        process.send_signal(signal.SIGTERM)
        assert await self.manager.state(process.pid) == b"STOPPING=1"
        async with asyncio.timeout(int(SERVICE["TimeoutStopSec"])):
            assert await process.wait() == 0, self.log()

    def log(self) -> str:
        return (self.directory / "log").read_text()


@pytest.fixture
async def machine(tmp_path: Path) -> AsyncIterator[Machine]:
    """The database and the settings file of the guide; mails are files, because there is no mail server of that name."""
    open_to_others(tmp_path)
    (tmp_path / "srv").mkdir()
    confinement = Confinement((tmp_path / "srv",), int(SERVICE["UMask"], 8))
    confinement.own()
    settings = {name: value for name, value in stated_settings().items() if name != "SMTP_URL"}
    manager = Manager(tmp_path / "notify")
    listening = ("listen_addresses=127.0.0.1", f"port={(port := free_port())}")
    with (
        plain_postgresql() as postgresql,
        postgresql.running(postgresql.make("cluster"), *CARELESS, *listening),
    ):
        server = f"postgresql://hansa@127.0.0.1:{port}/postgres"
        await until_it_answers(server)
        async with database_of_guide(server, settings["DATABASE_URL"]) as database:
            lines = [f"{name}={value}\n" for name, value in {**settings, "DATABASE_URL": database}.items()]
            (tmp_path / "hansa.env").write_text("".join(lines))
            confinement.lend(tmp_path / "hansa.env")
            yield Machine(tmp_path, manager, free_port(), confinement)
    manager.close()


async def test_the_unit_serves_with_its_rights_is_restarted_after_a_crash_and_stops_in_time(machine: Machine):
    async with machine.started() as service:
        assert await readiness(machine.url) == 200
        assert service.stdout is not None
        assert READY_LINE.fullmatch((await service.stdout.readline()).decode())
        workers = children_of(service.pid)
        assert len(workers) > int(shlex.split(SERVICE["ExecStart"])[-1])
        for pid in (service.pid, *workers):
            machine.confinement.require(pid)
        await machine.is_backed_up()
        status = await run("status", data_dir=machine.data_dir)
        assert status.code == 0, status
        assert SERVICE["Restart"] == "on-failure"
        service.kill()
        await service.wait()
        await until(lambda: not any(map(is_alive, workers)))
    async with machine.started() as service:
        assert await readiness(machine.url) == 200
        await machine.stops(service)
    assert "Traceback" not in machine.log()
    kept = {path.lstat().st_mode & 0o077 for path in machine.data_dir.rglob("*") if not path.is_symlink()}
    assert kept == {0}


async def test_a_service_that_answers_no_request_reports_nothing_to_the_watchdog(machine: Machine):
    # Without the time of the unit: that of a test.
    assert int(SERVICE["WatchdogSec"]) >= 10 * WATCHDOG_SECONDS
    async with machine.started(WATCHDOG_USEC=str(WATCHDOG_SECONDS * 1_000_000)) as service:
        await machine.manager.report_of_the_watchdog(service.pid)
        workers = children_of(service.pid)
        for pid in workers:
            os.kill(pid, signal.SIGSTOP)
        async with asyncio.timeout(START_SECONDS):
            while not await machine.manager.is_silent(WATCHDOG_SECONDS):
                pass
        for pid in workers:
            os.kill(pid, signal.SIGCONT)
        await machine.manager.report_of_the_watchdog(service.pid)
        await machine.stops(service)


@pytest.mark.parametrize(
    ("variables", "seconds"),
    [
        ({"WATCHDOG_USEC": "60000000"}, 60),
        ({"WATCHDOG_USEC": "60000000", "WATCHDOG_PID": OWN}, 60),
        ({"WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({}, None),
    ],
    ids=str,
)
def test_the_watchdog_of_another_process_or_without_a_time_expects_nothing(
    variables: dict[str, str], seconds
):
    own = {name: str(os.getpid()) if value == OWN else value for name, value in variables.items()}
    assert watchdog_seconds(own) == seconds
