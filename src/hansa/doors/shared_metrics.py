"""Metrics of several serving processes, added up: `/metrics` answers the same whichever process is asked.

Each process keeps its numbers in files of one directory, and whoever is asked reads all of them (the multiprocess mode of
prometheus_client). The directory is in memory where the system has such a file system: a full disk stops no counter.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

# The name that prometheus_client looks for when it is imported.
DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"
MEMORY = Path("/dev/shm")  # noqa: S108


@contextmanager
def shared_metrics() -> Iterator[str]:
    """A directory for the processes to be started with it in `DIRECTORY`."""
    place = MEMORY if os.access(MEMORY, os.W_OK | os.X_OK) else None
    with tempfile.TemporaryDirectory(
        prefix="hansa-metrics-", dir=place, ignore_cleanup_errors=True
    ) as directory:
        yield directory


def forget_process(directory: str, pid: int) -> None:
    """Leave out what an ended process was doing; what it had done is still counted."""
    mark_process_dead(pid, directory)  # type: ignore[no-untyped-call]


def current_metrics() -> bytes:
    """The metrics of this process, or of all that share a directory, as Prometheus text."""
    directory = os.environ.get(DIRECTORY)
    if directory is None:
        return generate_latest()
    registry = CollectorRegistry()
    MultiProcessCollector(registry, directory)  # type: ignore[no-untyped-call]
    return generate_latest(registry)
