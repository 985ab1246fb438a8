"""Runs files of tests beside each other: `pytest -p tests.workers --workers 4 tests`.

The process that collected the tests forks the workers, so that importing and collecting are paid for once. A worker asks for a file
when it has nothing to do, in the order of the collection, and returns the reports of its tests. Without `--workers` pytest runs as usual.

- A test runs in one worker, once. Session fixtures are set up by each worker that needs them.
- When a worker ends unexpectedly, the test that it ran has failed, and a new worker runs the rest of the file.
- After `-x`, or when the run is interrupted, each worker ends its session fixtures before it ends.
"""

import atexit
import multiprocessing
import os
import signal
import traceback
from collections import deque
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any, cast

import pytest
from _pytest._io import TerminalWriter

CORES = len(os.sched_getaffinity(0))
WORKERS_MAX = 6
END_SECONDS = 60
FORK = multiprocessing.get_context("fork")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--workers",
        default="0",
        help="processes that run files of tests beside each other: a number, or auto",
    )


def number_of_workers(option: str) -> int:
    """With `auto` more than cores, because tests that start processes wait for them half of the time."""
    return min(3 * CORES, WORKERS_MAX) if option == "auto" else int(option)


def is_worker() -> bool:
    """Return whether this process is one of several that run tests."""
    return multiprocessing.parent_process() is not None


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run the collected tests in workers, if there are to be any."""
    number = number_of_workers(session.config.getoption("--workers"))
    if not number or session.testsfailed or session.config.option.collectonly:
        return None
    files: dict[str, list[int]] = {}
    for place, item in enumerate(session.items):
        files.setdefault(str(item.path), []).append(place)
    Workers(session, deque(files.values())).run(min(number, len(files)))
    return True


class Workers:
    """The workers, as the process that collected the tests sees them."""

    def __init__(self, session: pytest.Session, files: deque[list[int]]) -> None:
        self._session = session
        self._files = files
        self._workers: dict[Connection, Worker] = {}
        self._numbers = iter(range(1 << 16))

    def run(self, number: int) -> None:
        """Run all tests. Raises the exceptions that stop a session: Session.Failed, Session.Interrupted, KeyboardInterrupt."""
        # Here, because the workers put their folders into it.
        temporary_folders(self._session).getbasetemp()
        try:
            for _ in range(number):
                self._fork()
            while self._workers:
                for connection in wait(list(self._workers)):
                    self._receive(cast("Connection", connection))
        finally:
            self._stop()
        if self._session.shouldfail:
            raise self._session.Failed(self._session.shouldfail)
        if self._session.shouldstop:
            raise self._session.Interrupted(self._session.shouldstop)

    def _fork(self) -> None:
        ours, theirs = FORK.Pipe()
        worker = Worker(self._session, next(self._numbers), theirs, [*self._workers, ours])
        worker.process.start()
        theirs.close()
        self._workers[ours] = worker

    def _receive(self, connection: Connection) -> None:
        worker = self._workers[connection]
        try:
            kind, content = connection.recv()
        except (EOFError, ConnectionResetError):
            del self._workers[connection]
            worker.process.join()
            self._replace(worker)
            return
        if kind == "next":
            worker.file = self._files.popleft() if self._files and not self._is_to_stop() else []
            # Of a worker that has just ended there is an end of file to come.
            with suppress(OSError):
                connection.send(worker.file)
        elif kind == "test":
            worker.file = worker.file[worker.file.index(content) :]
        elif kind == "end":
            worker.file, worker.has_ended = [], True
        elif kind == "error":
            raise RuntimeError(f"in worker {worker.number}:\n{content}")
        else:
            hook = self._session.config.hook
            report = hook.pytest_report_from_serializable(config=self._session.config, data=content)
            hook.pytest_runtest_logreport(report=report)
            if self._is_to_stop():
                for other in self._workers:
                    with suppress(OSError):
                        other.send([])

    def _is_to_stop(self) -> bool:
        return bool(self._session.shouldfail or self._session.shouldstop)

    def _replace(self, ended: "Worker") -> None:
        """Report the test that a worker ran when it ended, and have another one run the rest."""
        if ended.has_ended:
            return
        end = f"worker {ended.number} ended with exit code {ended.process.exitcode}"
        if not ended.file:
            raise RuntimeError(f"{end} while it tore down its session fixtures")
        item, cause = self._session.items[ended.file[0]], f"{end} while it ran this test"
        report = pytest.TestReport(item.nodeid, item.location, {}, "failed", cause, "call")
        self._session.config.hook.pytest_runtest_logreport(report=report)
        if not self._is_to_stop():
            if ended.file[1:]:
                self._files.appendleft(ended.file[1:])
            if self._files:
                self._fork()

    def _stop(self) -> None:
        """End workers that still run because the session does not go on."""
        for connection, worker in self._workers.items():
            connection.close()
            if worker.process.pid and worker.process.is_alive():
                os.kill(worker.process.pid, signal.SIGINT)
        for worker in self._workers.values():
            worker.process.join(END_SECONDS)
            worker.process.kill()
            worker.process.join()


class Worker:
    """A fork that runs files of tests."""

    def __init__(
        self, session: pytest.Session, number: int, connection: Connection, others: list[Connection]
    ) -> None:
        self.number = number
        self.process = FORK.Process(target=self._main)
        self.file: list[int] = []
        """Places in the collection of the tests that are still to be run; the first is under way."""
        self.has_ended = False
        """Whether its session fixtures are torn down."""
        self._session = session
        self._connection = connection
        self._others = others

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        config = self._session.config
        self._send("report", config.hook.pytest_report_to_serializable(config=config, report=report))

    def _main(self) -> None:
        # Open here, they would stay so when the process that has the other ends is gone.
        for other in self._others:
            other.close()
        try:
            self._become_separate()
            with suppress(KeyboardInterrupt, EOFError, BrokenPipeError, ConnectionResetError):
                self._run()
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            self._session._setupstate.teardown_exact(None)
            self._send("end", None)
        except BrokenPipeError:
            pass
        except (Exception, pytest.exit.Exception):  # noqa: BLE001
            self._send("error", traceback.format_exc())
        finally:
            # A fork ends without what is registered for the end of a program.
            atexit._run_exitfuncs()

    def _become_separate(self) -> None:
        """Replace the objects that two processes cannot share: captured output, the terminal, the folder for temporary files."""
        # Ctrl-C interrupts the process group of the terminal: the workers end by one signal of the process that forked them.
        os.setpgid(0, 0)
        plugins = self._session.config.pluginmanager
        capture = plugins.get_plugin("capturemanager")
        capture.stop_global_capturing()
        capture.start_global_capturing()
        capture.suspend_global_capture()
        terminal = plugins.unregister(name="terminalreporter")
        plugins.register(TerminalOfAWorker(terminal._tw), "terminalreporter")
        plugins.register(self)
        factory = temporary_folders(self._session)
        factory._basetemp = factory.getbasetemp() / f"worker-{self.number}"
        factory._basetemp.mkdir(mode=0o700)

    def _run(self) -> None:
        items = self._session.items
        while file := self._next_file():
            # Named as the item that follows, the session keeps its fixtures, and only these.
            following = [*(items[place] for place in file[1:]), cast("pytest.Item", self._session)]
            for place, next_item in zip(file, following, strict=True):
                if self._session.shouldfail or self._session.shouldstop or self._connection.poll():
                    return
                self._send("test", place)
                items[place].config.hook.pytest_runtest_protocol(item=items[place], nextitem=next_item)

    def _next_file(self) -> list[int]:
        self._send("next", None)
        return self._connection.recv()

    def _send(self, kind: str, content: Any) -> None:
        self._connection.send((kind, content))


class TerminalOfAWorker:
    """Shows no results; pytest finds the terminal here for its output when a test exceeds its time limit."""

    def __init__(self, writer: TerminalWriter) -> None:
        self._tw = writer


def temporary_folders(session: pytest.Session) -> pytest.TempPathFactory:
    return session.config._tmp_path_factory
