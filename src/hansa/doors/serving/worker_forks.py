"""Workers as forks of one process that has the code loaded: a start costs each of them no second of CPU, and they share its memory.

That process, the fork server, has one thread, no event loop and no connection. It is a fork of the one that runs `hansa serve`,
made before that has an event loop.

- It forks for each line that it is sent, and reports how each fork ended.
- It ends when the process that asks for workers ends, however that happens.
- Its forks hold the reading end of a pipe, which the kernel closes at its other end when the fork server ends.
- Should it die, a program takes its place, which has to load the code first.
"""

import asyncio
import gc
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

REQUEST_MAX_BYTES = 1 << 16
NAME_OF_SERVER = "hansa-forks"
NAME_OF_WORKER = "hansa-worker"
"""What `ps` and `top` show as the command; the system allows 15 bytes."""

Work = Callable[[int], object]
"""What a worker does until it ends; it gets the reading end of the pipe."""


class ForkedWorker:
    """A worker, as the process sees it that asked for it."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.exit_code: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()
        """Negative for a signal; None when the fork server died, with which its workers stop."""

    def send_signal(self, number: signal.Signals) -> None:
        """Nothing happens where it has ended."""
        if not self.exit_code.done():
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)


class WorkerForks:
    """The fork server, as the process sees it that asks for workers."""

    def __init__(
        self, requests: socket.socket, pid: int, program: Sequence[str], shared: Sequence[int]
    ) -> None:
        """`program` takes its place should it die, with the number of a socket added; `shared`: the files it is to have open."""
        self._requests = requests
        self._pid = pid
        self._program = program
        self._shared = shared
        self._writer: asyncio.StreamWriter | None = None
        self._asked: list[asyncio.Future[ForkedWorker]] = []
        self._workers: dict[int, ForkedWorker] = {}
        self._reading: asyncio.Task[None] | None = None
        self._connecting = asyncio.Lock()

    async def start(self, variables: Mapping[str, str]) -> ForkedWorker:
        """A new worker with these variables in its environment. Raises: ConnectionError, where the fork server dies meanwhile."""
        async with self._connecting:
            if self._reading is not None and self._reading.done():
                await self._replace()
            if self._reading is None:
                reader, self._writer = await asyncio.open_connection(sock=self._requests)
                self._reading = asyncio.create_task(self._read(reader))
        assert self._writer is not None
        asked: asyncio.Future[ForkedWorker] = asyncio.get_running_loop().create_future()
        self._asked.append(asked)
        self._writer.write(json.dumps(dict(variables)).encode() + b"\n")
        return await asked

    async def close(self) -> None:
        """End the fork server, whose workers have ended."""
        if self._writer is not None:
            self._writer.close()
        self._requests.close()
        if self._reading is not None:
            await self._reading
        await asyncio.to_thread(os.waitpid, self._pid, 0)

    async def _read(self, reader: asyncio.StreamReader) -> None:
        with suppress(ConnectionError):
            while line := await reader.readline():
                report = json.loads(line)
                if "exit_code" in report:
                    self._workers.pop(report["pid"]).exit_code.set_result(report["exit_code"])
                else:
                    worker = self._workers[report["pid"]] = ForkedWorker(report["pid"])
                    self._answer(worker)
        for worker in self._workers.values():
            worker.exit_code.set_result(None)
        self._workers.clear()
        while self._asked:
            self._answer(ConnectionResetError("the process that forks workers ended"))

    def _answer(self, answer: "ForkedWorker | Exception") -> None:
        asked = self._asked.pop(0)
        if asked.done():
            return
        if isinstance(answer, Exception):
            asked.set_exception(answer)
        else:
            asked.set_result(answer)

    async def _replace(self) -> None:
        assert self._writer is not None
        self._writer.close()
        await asyncio.to_thread(os.waitpid, self._pid, 0)
        self._requests, theirs = socket.socketpair()
        with theirs:
            files = [*self._shared, theirs.fileno()]
            # It runs until `close`, which waits for it.
            self._pid = subprocess.Popen(  # noqa: ASYNC220, S603
                [*self._program, f"--requests={theirs.fileno()}"], pass_fds=files, stdin=subprocess.DEVNULL
            ).pid
        self._reading = None


def fork_server(work: Work, program: Sequence[str], shared: Sequence[int]) -> WorkerForks:
    """Make the fork server. To be called while there is one thread and no event loop."""
    ours, theirs = socket.socketpair()
    if (pid := os.fork()) == 0:
        ours.close()
        serve_forks(theirs, work)
    theirs.close()
    return WorkerForks(ours, pid, program, shared)


def serve_forks(requests: socket.socket, work: Work) -> NoReturn:
    """Be the fork server. In each fork that it makes, this does `work`."""
    _name_process(NAME_OF_SERVER)
    gc.collect()
    gc.freeze()
    parent = _Server(requests).serve()
    code: object = 0
    try:
        if parent is not None:
            _name_process(NAME_OF_WORKER)
            work(parent)
    except SystemExit as end:
        code = end.code
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
        code = 1
    # To take down what was loaded would first copy all memory that the forks share.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 1)


class _Server:
    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests
        # Signals that stop reach a whole group of processes; the workers and the one that asks for them act on them.
        self._signals: dict[signal.Signals, Any] = {
            number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGTERM, signal.SIGINT)
        }
        self._pipe = os.pipe()
        self._ended, self._ending = socket.socketpair()
        self._ended.setblocking(False)
        self._ending.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._ending.fileno(), warn_on_full_buffer=False)

    def serve(self) -> int | None:
        """Returns None when the socket for requests is closed, and the reading end of the pipe in a fork."""
        waiting = b""
        with selectors.DefaultSelector() as selector:
            selector.register(self._requests, selectors.EVENT_READ)
            selector.register(self._ended, selectors.EVENT_READ)
            while True:
                ready = {key.fileobj for key, _ in selector.select()}
                if self._ended in ready:
                    self._report_ended()
                if self._requests in ready:
                    message = self._requests.recv(REQUEST_MAX_BYTES)
                    if not message:
                        return None
                    *lines, waiting = (waiting + message).split(b"\n")
                    for line in lines:
                        if (parent := self._fork(json.loads(line))) is not None:
                            return parent

    def _fork(self, variables: dict[str, str]) -> int | None:
        pid = os.fork()
        if pid:
            self._report(pid=pid)
            return None
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for number, handler in self._signals.items():
            signal.signal(number, handler)
        for own in (self._requests, self._ended, self._ending):
            own.close()
        reading, writing = self._pipe
        os.close(writing)
        os.environ.update(variables)
        return reading

    def _report_ended(self) -> None:
        self._ended.recv(REQUEST_MAX_BYTES)
        with suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    return
                self._report(pid=pid, exit_code=os.waitstatus_to_exitcode(status))

    def _report(self, **report: int) -> None:
        with suppress(BrokenPipeError, ConnectionResetError):
            self._requests.sendall(json.dumps(report).encode() + b"\n")


def _name_process(name: str) -> None:
    # Where there is no such file, it keeps the name of the program.
    with suppress(OSError):
        Path("/proc/self/comm").write_text(name, encoding="ascii")
