"""Metrics of several serving processes, added up: `/metrics` answers the same whichever process is asked.

Each process keeps its numbers in files of one directory, and whoever is asked reads all of them (the multiprocess mode of
prometheus_client). The directory is in memory where the system has such a file system: a full disk stops no counter.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from prometheus_client import REGISTRY, CollectorRegistry, generate_latest, values
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

# The name that prometheus_client looks for.
DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"
MEMORY = Path("/dev/shm")  # noqa: S108


@contextmanager
def shared_metrics() -> Iterator[str]:
    """A directory for processes that have it in `DIRECTORY` and call `share_metrics`."""
    place = MEMORY if os.access(MEMORY, os.W_OK | os.X_OK) else None
    with tempfile.TemporaryDirectory(
        prefix="hansa-metrics-", dir=place, ignore_cleanup_errors=True
    ) as directory:
        yield directory


def share_metrics() -> None:
    """Keep the numbers of this process in the directory, from 0: those of a fork were made before it had one."""
    values.ValueClass = values.MultiProcessValue()  # type: ignore[no-untyped-call]
    for metric in set(REGISTRY._names_to_collectors.values()):  # noqa: SLF001
        if isinstance(metric, MetricWrapperBase):
            for counted in (metric, *getattr(metric, "_metrics", {}).values()):
                if counted._is_observable():  # noqa: SLF001
                    counted._metric_init()  # noqa: SLF001


def forget_process(directory: str, pid: int) -> None:
    """Leave out the present work of an ended process; its past work is still counted."""
    mark_process_dead(pid, directory)  # type: ignore[no-untyped-call]


def current_metrics() -> bytes:
    """The metrics of this process, or of all that share a directory, as Prometheus text."""
    directory = os.environ.get(DIRECTORY)
    if directory is None:
        return generate_latest()
    registry = CollectorRegistry()
    MultiProcessCollector(registry, directory)  # type: ignore[no-untyped-call]
    return generate_latest(registry)
