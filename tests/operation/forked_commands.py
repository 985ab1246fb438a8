"""Commands of `hansa` or `hansa-client`, and programs of the tests, as forks of a process that has the code loaded: each is spared a second
of CPU.

That process is started once for all processes that run tests. It imports the code and does nothing else: one thread, no event
loop. A fork gets the arguments, environment, directory and standard streams of the command and runs the same `main`.
"""

import asyncio
import gc
import json
import os
import pkgutil
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
from asyncio.subprocess import PIPE
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from io import FileIO
from pathlib import Path
from typing import Any

REQUEST_MAX_BYTES = 1 << 17
OPEN_FILES_MAX = 1 << 12
SCRYPT_COST = 1 << 10
"""Of key files that tests write and read: 1 MiB of memory and 3 ms for each, instead of 128 MiB and half a second."""
STANDARD_STREAMS = 3
END_SECONDS = 60
# Python and what prints to terminals read these while they are loaded, which for a fork is over.
READ_WHILE_LOADED = ("PYTHON", "LANG", "LC_", "TERM", "COLUMNS", "NO_COLOR", "FORCE_COLOR")


@dataclass(frozen=True)
class Program:
    """A program: its name, the package to load, the module with its `main`, and the interpreter.

    The module of an installed program also has a `run`, that of a program of the tests a `prepare`: the first work of each fork.
    """

    name: str
    package: str
    module: str
    python: str
    checkout: Path | None = None
    """Where the module is found that is not installed."""


HANSA = Program("hansa", "hansa", "hansa.doors.operate", sys.executable)


def can_fork(environment: Mapping[str, str]) -> bool:
    """Return whether a fork does the same with this environment as the program."""
    return hasattr(os, "pidfd_open") and not any(name.startswith(READ_WHILE_LOADED) for name in environment)


class ForkedCommand:
    """Command under way: the members of `asyncio.subprocess.Process` that tests use."""

    def __init__(self, pid: int, exit_code: "asyncio.Task[int]", *outputs: asyncio.StreamReader) -> None:
        self.pid = pid
        self.stdout, *self._stderr = outputs
        self._exit_code = exit_code

    @property
    def returncode(self) -> int | None:
        return self._exit_code.result() if self._exit_code.done() else None

    @property
    def stderr(self) -> asyncio.StreamReader:
        [stderr] = self._stderr
        return stderr

    def send_signal(self, number: signal.Signals) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    async def wait(self) -> int:
        return await asyncio.shield(self._exit_code)

    async def communicate(self) -> tuple[bytes, bytes]:
        output, complaint = await asyncio.gather(self.stdout.read(), self.stderr.read())
        await self.wait()
        return output, complaint


class CommandServer:
    """The process that is forked; it ends when the one that runs the tests does."""

    def __init__(self, program: Program = HANSA) -> None:
        self._program = program
        self._requests: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def begin(self) -> None:
        """Start the process, which otherwise starts with the first command. Processes forked afterwards share it."""
        self._server()

    def end(self) -> None:
        """End the process, if this one started it."""
        if self._requests is not None and self._process is not None:
            self._requests.close()
            self._process.wait(END_SECONDS)

    async def run(self, *arguments: str, environment: Mapping[str, str], stderr: int) -> ForkedCommand:
        """Start a command; its standard error goes to the file `stderr`, or to a pipe (PIPE)."""
        outputs = [os.pipe() for _ in range(2 if stderr == PIPE else 1)]
        status, status_of_server = socket.socketpair()
        ends = [outputs[0][1], outputs[1][1] if stderr == PIPE else stderr, status_of_server.fileno()]
        with FileIO(os.devnull) as nothing, status_of_server:
            request = {"arguments": arguments, "environment": dict(environment), "directory": str(Path.cwd())}
            socket.send_fds(self._server(), [json.dumps(request).encode()], [nothing.fileno(), *ends])
        for _, writing_end in outputs:
            os.close(writing_end)
        reader, writer = await asyncio.open_connection(sock=status)
        pid = int(await reader.readline())
        exit_code = asyncio.create_task(_exit_code(reader, writer))
        return ForkedCommand(pid, exit_code, *[await _reading(end) for end, _ in outputs])

    def _server(self) -> socket.socket:
        if self._requests is None:
            program, places = self._program, (self._program.package, self._program.module)
            self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs:
                os.set_inheritable(theirs.fileno(), True)
                self._process = subprocess.Popen(
                    # Of another environment it needs nothing but the program: the tests are not on its path.
                    [program.python, "-P", __file__, str(theirs.fileno()), program.name, *places],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    env=_environment_of(program),
                    pass_fds=[theirs.fileno()],
                    # It ends with the tests that ask it, not by Ctrl-C.
                    process_group=0,
                )
        return self._requests


def _environment_of(program: Program) -> dict[str, str]:
    stated = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    if program.checkout is None:
        return stated
    paths = [str(program.checkout), stated.get("PYTHONPATH")]
    return {**stated, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


async def _exit_code(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
    try:
        return int(await reader.readline())
    finally:
        writer.close()


async def _reading(descriptor: int) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, FileIO(descriptor))
    return reader


def load(package: str, prepare: Callable[[], None]) -> None:
    """Import and make everything that a command may need, and exclude it from the collections of each fork."""
    for module in pkgutil.walk_packages(
        import_module(package).__path__, f"{package}.", onerror=lambda _: None
    ):
        # An extra of the package may not be installed.
        with suppress(ModuleNotFoundError):
            import_module(module.name)
    prepare()
    for trust_env in (True, False):
        import_module("hansa_client.trust").trusted_authorities(trust_env=trust_env)
    if package == HANSA.package:
        prepare_service()
    gc.collect()
    gc.freeze()


def read_a_command_line(run: Callable[[], None]) -> None:
    """Run a command that reads nothing, which imports the modules that reading a command line needs."""
    sys.argv[1:] = ["completion", "bash"]
    with suppress(SystemExit):
        run()


def prepare_service() -> None:
    """Make the objects that each `hansa serve` would make, with less than in use: work for passwords and key files, memory for tables."""
    passwords = import_module("hansa.rooms.people.passwords")
    passwords._hasher = type(passwords._hasher)(time_cost=1, memory_cost=8, parallelism=1)
    import_module("hansa.foundation.plumbing.keys.key_bundle").SCRYPT_COST = SCRYPT_COST
    configuration = import_module("hansa.foundation.plumbing.storage.embedded.configuration")
    configuration.BUFFERS_MAX_MIB = configuration.BUFFERS_MIN_MIB
    for route in import_module("hansa.doors.http.app").service_routes().routes:
        # The framework builds it now.
        getattr(route, "dependant", None)


def serve(requests: socket.socket) -> dict[str, Any] | None:
    """Fork for each request. Returns the request in the fork, and None here when no more can come."""
    with requests, selectors.DefaultSelector() as selector:
        selector.register(requests, selectors.EVENT_READ, partial(_begin, selector, requests))
        while requests.fileno() in selector.get_map():
            for key, _ in selector.select():
                request: dict[str, Any] | None = key.data()
                if request is not None:
                    return request
        _end_all(selector)
    return None


def _begin(selector: selectors.BaseSelector, asking: socket.socket) -> dict[str, Any] | None:
    """Begin the request of a socket. Return the request in the fork that is to run it."""
    message, files, *_ = socket.recv_fds(asking, REQUEST_MAX_BYTES, STANDARD_STREAMS + 1)
    if not message:
        selector.unregister(asking)
        return None
    *streams, status = files
    if (pid := os.fork()) == 0:
        for stream, file in enumerate(streams):
            os.dup2(file, stream)
        request: dict[str, Any] = json.loads(message)
        return request
    for file in streams:
        os.close(file)
    os.write(status, b"%d\n" % pid)
    handle = os.pidfd_open(pid)
    selector.register(handle, selectors.EVENT_READ, Running(selector, handle, pid, status))
    return None


@dataclass(frozen=True)
class Running:
    """A fork under way; called when it has ended."""

    selector: selectors.BaseSelector
    handle: int
    pid: int
    status: int

    def __call__(self) -> None:
        """Report its exit code."""
        self.selector.unregister(self.handle)
        os.close(self.handle)
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        with suppress(BrokenPipeError):
            os.write(self.status, b"%d\n" % code)
        os.close(self.status)


def _end_all(selector: selectors.BaseSelector) -> None:
    """Nobody is left who would end the commands that still run."""
    for key in list(selector.get_map().values()):
        if isinstance(key.data, Running):
            os.kill(key.data.pid, signal.SIGTERM)


def become(name: str, request: dict[str, Any]) -> None:
    """Be the process that the request asks for; its standard streams are there already."""
    os.closerange(STANDARD_STREAMS, OPEN_FILES_MAX)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["directory"])
    sys.argv = [name, *request["arguments"]]
    tempfile.tempdir = None
    time.tzset()


if __name__ == "__main__":
    requests_from, program_name, loaded, module_of_main = sys.argv[1:]
    entry = import_module(module_of_main)
    load(loaded, entry.prepare if hasattr(entry, "prepare") else partial(read_a_command_line, entry.run))
    command = serve(socket.socket(fileno=int(requests_from)))
    if command is not None:
        become(program_name, command)
        entry.main()
