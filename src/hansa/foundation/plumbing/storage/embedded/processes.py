"""Facts of the operating system about a PostgreSQL server.

- A zombie is dead, and so is a process that merely inherited the number of a dead server.
- A claim file of a live server is never removed.
"""

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from time import monotonic, time

import msgspec

POLL_SECONDS = 0.02

# Fast shutdown rolls open transactions back and writes a checkpoint; immediate leaves recovery to the next start.
SHUTDOWN_STEPS = ((signal.SIGINT, 20.0), (signal.SIGQUIT, 5.0), (signal.SIGKILL, 5.0))

# A live server fills its claim file within microseconds of creating it.
EMPTY_CLAIM_MAX_AGE_SECONDS = 2.0


class PidFile(msgspec.Struct, frozen=True):
    """The lines of `postmaster.pid` that matter here."""

    pid: int
    port: int
    socket_directory: Path
    status: str

    @classmethod
    def read(cls, cluster: Path) -> "PidFile | None":
        """The file as it stands; None when it is absent or only half written."""
        try:
            lines = (cluster / "postmaster.pid").read_bytes().split(b"\n")
            status = lines[7].strip().decode()
            return cls(int(lines[0]), int(lines[3]), Path(os.fsdecode(lines[4])), status)
        except (FileNotFoundError, IndexError, ValueError):
            return None


class Postmaster:
    """One running server: our own child, or one that an earlier service left behind."""

    def __init__(self, cluster: Path, pid: int, child: subprocess.Popen[bytes] | None = None) -> None:
        self.cluster = cluster
        self.pid = pid
        self._child = child

    @classmethod
    def recorded(cls, cluster: Path) -> "Postmaster | None":
        """The live server that the cluster's claim file names, if any."""
        file = PidFile.read(cluster)
        if file is None or not is_postmaster(file.pid, cluster):
            return None
        return cls(cluster, file.pid)

    def alive(self) -> bool:
        if self._child is not None:
            # Asking also reaps the child, so no zombie stays.
            return self._child.poll() is None
        return is_postmaster(self.pid, self.cluster)

    def status(self) -> str:
        """`starting`, `ready`, `stopping` or `standby`; empty before the server says anything."""
        file = PidFile.read(self.cluster)
        return file.status if file is not None and file.pid == self.pid else ""

    async def ended(self, pause_seconds: float) -> None:
        """Return once the server is gone: at once where the system notifies of the end of a process, else within `pause_seconds`."""
        with suppress(OSError, AttributeError):
            await _end_of(os.pidfd_open(self.pid))
        while self.alive():  # noqa: ASYNC110
            await asyncio.sleep(pause_seconds)

    async def settled(self, seconds: float) -> bool:
        """Wait while the server starts; True once it is ready, False when it ended or took too long."""
        deadline = monotonic() + seconds
        while self.alive() and monotonic() < deadline:
            if self.status() == "ready":
                return True
            if self.status() == "stopping":
                return False
            await asyncio.sleep(POLL_SECONDS)
        return False

    async def stop(self) -> None:
        """Fast shutdown, then harsher ones; returns once the server is gone, after 30 s at most."""
        for step, seconds in SHUTDOWN_STEPS:
            if self.alive():
                with suppress(ProcessLookupError):
                    os.kill(self.pid, step)
            deadline = monotonic() + seconds
            while self.alive() and monotonic() < deadline:  # noqa: ASYNC110
                await asyncio.sleep(POLL_SECONDS)


async def _end_of(process: int) -> None:
    """Wait until a process has ended, by its descriptor, which is closed then."""
    loop, has_ended = asyncio.get_running_loop(), asyncio.Event()
    try:
        loop.add_reader(process, has_ended.set)
        try:
            await has_ended.wait()
        finally:
            loop.remove_reader(process)
    finally:
        os.close(process)


def is_postmaster(pid: int, cluster: Path) -> bool:
    """Return whether the process is a live PostgreSQL server of this cluster and not a backend, zombie or stranger."""
    program, *arguments = _command_line(pid) or [b""]
    named = os.fsencode(cluster), os.fsencode(cluster_option(cluster))
    return b"postgres" in program and any(name in arguments for name in named)


def cluster_option(cluster: Path) -> str:
    """A setting of ours on the server's command line: it says whose server it is, whatever name it reaches the folder by."""
    return f"hansa.cluster={cluster}"


def remove_stale_claim(file: Path, cluster: Path) -> None:
    """Remove a claim file whose process is proven not to be the server, where PostgreSQL itself would hesitate.

    PostgreSQL takes zombies and recycled process numbers for a live server. It still refuses to start while
    backends of the dead one are attached to the shared memory.
    """
    try:
        recorded = file.read_bytes().split(b"\n")[0]
        age_seconds = time() - file.stat().st_mtime
    except FileNotFoundError:
        return
    if recorded.isdigit():
        stale = _exists(int(recorded)) and not is_postmaster(int(recorded), cluster)
    else:
        stale = age_seconds > EMPTY_CLAIM_MAX_AGE_SECONDS
    if stale:
        file.unlink(missing_ok=True)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _command_line(pid: int) -> list[bytes]:
    if sys.platform == "linux":
        try:
            # Empty for zombies; readable for every account.
            return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError):
            return []
    listing = ["/bin/ps", "-ww", "-o", "command=", "-p", str(pid)]
    shown = subprocess.run(listing, capture_output=True, check=False)  # noqa: S603
    return shown.stdout.strip().split(b" ")
