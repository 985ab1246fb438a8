"""Processes that serve a data directory: one file in DIR/serving for each `hansa serve`.

- Its process holds a lock on the file as long as it lives, however it dies: a file that is not locked says nothing.
- A signal goes only to the process that wrote the file, never to another one that has its number now.
"""

import fcntl
import json
import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import msgspec
import structlog
from msgspec.structs import asdict

FOLDER = "serving"
POLL_SECONDS = 0.05

_log = structlog.get_logger()


class ServingProcess(msgspec.Struct, frozen=True):
    """One serving process: the parent where there are several workers. `boot_ticks` is its start since the boot.

    `settings` are its settings without secrets; None where a process of an older version wrote none.
    """

    pid: int
    boot_ticks: int
    started_at: str
    url: str
    version: str
    workers: int
    database: str
    settings: dict[str, Any] | None = None
    settings_file: str | None = None


def describe_this_process(
    *,
    url: str,
    version: str,
    workers: int,
    database: str,
    settings: dict[str, Any] | None = None,
    settings_file: str | None = None,
) -> ServingProcess:
    """The record of this process; `database` is `embedded` or `external`, `settings` have no secrets."""
    pid = os.getpid()
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return ServingProcess(
        *(pid, _boot_ticks(pid), now, url, version, workers, database, settings, settings_file)
    )


@contextmanager
def recorded(data_dir: Path, process: ServingProcess) -> Iterator[None]:
    """Keep the record while the block runs. A disk that does not take it is no reason not to serve."""
    try:
        path, descriptor = _written(data_dir / FOLDER, process)
    except OSError as error:
        _log.warning("this process cannot be found by `hansa status` and `hansa stop`", trouble=str(error))
        yield
        return
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink()
        os.close(descriptor)


def serving_processes(data_dir: Path) -> list[ServingProcess]:
    """The live processes that serve this data directory from this machine."""
    found = (_live(path) for path in sorted((data_dir / FOLDER).glob("*.json")))
    return [process for process in found if process is not None]


def terminate(data_dir: Path, process: ServingProcess, *, seconds: float) -> bool:
    """Send SIGTERM and wait until the process is gone; False when it is still there after `seconds`.

    Raises: PermissionError when the process is another account's.
    """
    if not hasattr(os, "pidfd_open"):
        return _terminate_by_number(data_dir, process, seconds)
    try:
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return True
    try:
        # From here on the handle is of one process: either the one recorded, or nothing is sent.
        if _live(_path(data_dir / FOLDER, process.pid)) != process:
            return True
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, signal.SIGTERM)
        return _ended(handle, seconds)
    finally:
        os.close(handle)


def _ended(handle: int, seconds: float) -> bool:
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def _terminate_by_number(data_dir: Path, process: ServingProcess, seconds: float) -> bool:
    """Terminate the process by its number, where the system has no handles of processes: a moment passes between the check and the signal."""
    path = _path(data_dir / FOLDER, process.pid)
    deadline = monotonic() + seconds
    if _live(path) == process:
        os.kill(process.pid, signal.SIGTERM)
    while _live(path) == process:
        if monotonic() > deadline:
            return False
        sleep(POLL_SECONDS)
    return True


def _path(folder: Path, pid: int) -> Path:
    return folder / f"{pid}.json"


def _written(folder: Path, process: ServingProcess) -> tuple[Path, int]:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for path in folder.glob("*.json"):
        if _live(path) is None:
            path.unlink(missing_ok=True)
    path = _path(folder, process.pid)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    os.write(descriptor, json.dumps(asdict(process)).encode())
    return path, descriptor


def _live(path: Path) -> ServingProcess | None:
    """Return the content of the file, while its process lives."""
    try:
        with path.open() as file:
            if not _is_locked(file.fileno()):
                return None
            process = ServingProcess(**json.load(file))
    except (OSError, ValueError, TypeError):
        return None
    # The lock may be held from another container, whose process numbers are not ours.
    return process if _boot_ticks(process.pid) == process.boot_ticks else None


def _is_locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


def _boot_ticks(pid: int) -> int:
    """When the process started, in clock ticks since the boot; 0 where the system does not say."""
    try:
        # The command in parentheses may itself hold blanks and parentheses.
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return 0
