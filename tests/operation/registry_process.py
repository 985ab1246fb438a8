"""A registry as its operator meets it: the `hansa` command, a process of its own, a data directory."""

import asyncio
import os
import re
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from random import SystemRandom
from socket import SO_REUSEADDR, SOL_SOCKET, socket
from time import monotonic

import httpx2

from tests.data_directories import copy_data_directory
from tests.operation.forked_commands import CommandServer, ForkedCommand, can_fork

COMMAND = Path(sys.executable).with_name("hansa")
COMMANDS = CommandServer()
READY_LINE = re.compile(r"ready (http://127\.0\.0\.1:[0-9]+)\n")
# Bounds on what hangs, on a machine with much else to do.
START_SECONDS = 240
STOP_SECONDS = 240
COME_TO_PASS_SECONDS = 120

# What founding a registry does not read.
SETTINGS_AFTER_FOUNDING = {
    "DATABASE_POOL_SIZE",
    "FEDERATION_PORT",
    "HANSA_RATE_LIMIT_READS",
    "HANSA_WORKERS",
    "LOG_FORMAT",
    "LOG_LEVEL",
    "NOTIFY_SOCKET",
    "RATE_LIMIT_READS",
    "TRUSTED_PROXIES",
}

# Below the range that the system assigns to clients: one that connects while nobody listens could meet itself.
PORTS = range(20_000, 30_000)
RESERVED: list[socket] = []


@dataclass(frozen=True)
class Ended:
    """Exit code and output of a command that ended."""

    code: int
    output: str
    complaint: str

    @property
    def complaints(self) -> list[str]:
        return self.complaint.splitlines()


class RegistryProcess:
    """One `hansa serve`, which may be started again after its end."""

    def __init__(
        self,
        data_dir: Path,
        *,
        port: int = 0,
        workers: int | None = 1,
        as_account: Sequence[str] = (),
        as_program: bool = False,
        founded: Path | None = None,
        migrated: Path | None = None,
        **settings: str,
    ) -> None:
        """With `founded`, the data directory of a registry that was stopped, the first start is of a copy of it.

        With `migrated`, whose database has the schema and no registry, it founds one in a copy where it is no copy of `founded`.
        """
        self.data_dir = data_dir
        self.log = data_dir.with_name(f"{data_dir.name}.log")
        self.url = ""
        self.seconds_to_ready = 0.0
        # Without a number the setting decides.
        counted = [] if workers is None else [f"--workers={workers}"]
        self._arguments = [f"--port={port}", f"--data-dir={data_dir}", *counted]
        self._settings = settings
        self._as_account = as_account
        self._as_program = as_program
        is_ordinary = not as_account and not as_program and "DATABASE_URL" not in settings
        is_founded = is_ordinary and settings.keys() <= SETTINGS_AFTER_FOUNDING
        self._copied = (founded if is_founded else None) or (migrated if is_ordinary else None)
        self._process: Process | ForkedCommand | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    async def start(self) -> None:
        """Returns once the ready line is out."""
        started = monotonic()
        await self.start_without_waiting()
        assert self._process is not None
        assert self._process.stdout is not None
        async with asyncio.timeout(START_SECONDS):
            line = (await self._process.stdout.readline()).decode()
        ready = READY_LINE.fullmatch(line)
        assert ready, f"instead of the ready line: {line!r}; {self.log.read_text()}"
        self.url = ready[1]
        self.seconds_to_ready = monotonic() - started

    def copy(self) -> None:
        """Be the copy that the first start would be of; one of a founded registry has served and was stopped."""
        assert self._copied is not None
        copy_data_directory(self._copied, self.data_dir)

    async def start_without_waiting(self) -> None:
        if self._copied is not None and not self.data_dir.exists():
            self.copy()
        with self.log.open("ab") as log:
            self._process = await launch(
                *("serve", *self._arguments),
                environment=environment(self.data_dir, **self._settings),
                stderr=log.fileno(),
                as_account=self._as_account,
                as_program=self._as_program,
            )

    def send_signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    async def stop(self, number: signal.Signals = signal.SIGTERM) -> Ended:
        self.send_signal(number)
        return await self.ended()

    async def ended(self) -> Ended:
        assert self._process is not None
        assert self._process.stdout is not None
        async with asyncio.timeout(STOP_SECONDS):
            output = await self._process.stdout.read()
            return Ended(await self._process.wait(), output.decode(), self.log.read_text())

    async def kill(self) -> None:
        if self.running:
            # It may have ended by an earlier signal, which is not known here yet.
            with suppress(ProcessLookupError):
                self.send_signal(signal.SIGKILL)
        if self._process is not None:
            await self._process.wait()

    async def database(self) -> str:
        """The DSN of the database in use."""
        printed = await run("db", "url", data_dir=self.data_dir, **self._settings)
        assert printed.code == 0, printed
        return printed.output.strip()


async def run(*arguments: str, data_dir: Path, as_program: bool = False, **settings: str) -> Ended:
    """Run one command to its end."""
    process = await launch(
        *arguments, environment=environment(data_dir, **settings), stderr=PIPE, as_program=as_program
    )
    async with asyncio.timeout(START_SECONDS):
        output, complaint = await process.communicate()
        return Ended(await process.wait(), output.decode(), complaint.decode())


async def launch(
    *arguments: str,
    environment: dict[str, str],
    stderr: int,
    as_account: Sequence[str] = (),
    as_program: bool = False,
) -> Process | ForkedCommand:
    """Start a command: as a fork, or as the program that is installed, where that is asked for or not the same."""
    if not as_account and not as_program and can_fork(environment):
        return await COMMANDS.run(*arguments, environment=environment, stderr=stderr)
    return await asyncio.create_subprocess_exec(
        *as_account, COMMAND, *arguments, stdin=DEVNULL, stdout=PIPE, stderr=stderr, env=environment
    )


def environment(data_dir: Path, **settings: str) -> dict[str, str]:
    """Return the environment of a command of this checkout."""
    ours = {"PATH": os.defpath, "HOME": str(data_dir.parent), "HANSA_DATA_DIR": str(data_dir)}
    # Where this variable names a checkout, the command is that checkout's.
    code = {"PYTHONPATH": os.environ["PYTHONPATH"]} if "PYTHONPATH" in os.environ else {}
    # Tests create more agents in an hour from one address than a registry grants units to.
    grants = {"GENESIS_GRANTS_PER_ADDRESS": "1000000", "GENESIS_GRANTS_PER_HOUR": "1000000"}
    return {**ours, **code, **grants, **settings}


def free_port() -> int:
    """A port that nobody listens on, that no client is given by chance, and that no other call here or elsewhere returns.

    The socket that reserves it lives as long as this process, and lets a service listen there.
    """
    for port in SystemRandom().sample(PORTS, 100):
        candidate = socket()
        try:
            candidate.bind(("127.0.0.1", port))
        except OSError:
            candidate.close()
            continue
        # Only now: sockets that reuse addresses would not have kept each other out.
        candidate.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
        RESERVED.append(candidate)
        return port
    raise AssertionError("a hundred ports are taken")


def postgres_pid(data_dir: Path) -> int | None:
    """The process id that the embedded server recorded; None when it is shut down."""
    try:
        return int((data_dir / "postgres" / "postmaster.pid").read_text().split("\n", 1)[0])
    except (FileNotFoundError, ValueError):
        return None


def children_of(pid: int) -> list[int]:
    """The live processes started by `pid`, and by those in turn."""
    parents = {child: parent for child, parent, state in _processes() if state != "Z"}
    found, generation = [], {pid}
    while generation := {child for child, parent in parents.items() if parent in generation}:
        found += sorted(generation)
    return found


def is_alive(pid: int) -> bool:
    """Return whether the process runs; a zombie does not."""
    return (found := _parent_and_state(pid)) is not None and found[1] != "Z"


def command_of(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return ""


def program_of(pid: int) -> str:
    """The name that the system shows for the process."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().rstrip("\n")
    return ""


def _processes() -> list[tuple[int, int, str]]:
    """Every process with its parent and its state."""
    pids = [int(name) for name in os.listdir("/proc") if name.isdecimal()]  # noqa: PTH208
    return [(pid, *found) for pid in pids if (found := _parent_and_state(pid)) is not None]


def _parent_and_state(pid: int) -> tuple[int, str] | None:
    try:
        with FileIO(f"/proc/{pid}/stat") as file:
            # The command in parentheses may itself hold blanks and parentheses.
            state, parent = file.read().rpartition(b")")[2].split(maxsplit=2)[:2]
    except OSError:
        return None
    return int(parent), state.decode()


async def until(condition: Callable[[], object], seconds: float = COME_TO_PASS_SECONDS) -> None:
    """Wait until the condition is true."""
    deadline = monotonic() + seconds
    while not condition():
        assert monotonic() < deadline, "it did not come to pass in time"
        await asyncio.sleep(0.02)


async def health(url: str) -> int:
    """The status of /health, or 0 when nothing answers."""
    return await _status_of(f"{url}/health")


async def readiness(url: str) -> int:
    """The status of /readyz, or 0 when nothing answers."""
    return await _status_of(f"{url}/readyz")


async def _status_of(url: str) -> int:
    async with httpx2.AsyncClient(trust_env=False, timeout=10) as http:
        try:
            return (await http.get(url)).status_code
        except httpx2.TransportError:
            return 0


async def until_async(condition: Callable[[], Awaitable[object]]) -> None:
    """Wait like `until`, for a condition that a database or a service is asked for."""
    async with asyncio.timeout(COME_TO_PASS_SECONDS):
        while not await condition():  # noqa: ASYNC110
            await asyncio.sleep(0.02)
