"""The server's log file: kept by the service, so that the server needs no process and no rights for it."""

import os
import re
from pathlib import Path
from typing import BinaryIO

KEPT_MAX_BYTES = 16 * 1024 * 1024


def open_log(path: Path) -> BinaryIO:
    """The log opened for appending; a large one is first set aside as `postgres.log.1`."""
    if path.exists() and path.stat().st_size > KEPT_MAX_BYTES:
        path.replace(path.with_name(f"{path.name}.1"))
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    return os.fdopen(descriptor, "ab")


def last_complaint(path: Path, since: int, pid: int) -> str:
    """The last fatal line after position `since`, without its time; the process `pid` is believed first."""
    with path.open("rb") as file:
        file.seek(since)
        lines = file.read().decode(errors="replace").splitlines()
    fatal = [line for line in lines if "FATAL:" in line or "PANIC:" in line]
    # Backends of a killed server write to the same file; their last words say nothing about this start.
    own = [line for line in fatal if f"[{pid}]" in line]
    reason = (own or fatal or lines or ["it ended without a word"])[-1]
    return re.sub(r"^.*?(FATAL|PANIC):\s*", "", reason)
