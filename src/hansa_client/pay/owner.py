"""Process that a payment belongs to, and the check that it still runs."""

import os
from functools import lru_cache
from pathlib import Path

_OF_STATE = 0
_OF_START_TIME = 19


def this_process() -> str:
    """`<pid>:<start time>`; the second keeps a later process with the same number apart."""
    return _named(os.getpid())


@lru_cache(1)
def _named(pid: int) -> str:
    """The name of this process; a fork has a number of its own."""
    return f"{pid}:{_started(pid) or ''}"


def is_running(owner: str) -> bool:
    """Return whether the process of an owner still runs."""
    number, _, started = owner.partition(":")
    if not number.isdecimal():
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return not started or _started(int(number)) == started


def _started(pid: int) -> str | None:
    """The start time of a running process in clock ticks; None for a zombie, and where /proc does not exist."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    members = text.rpartition(")")[2].split()
    return None if members[_OF_STATE] == "Z" else members[_OF_START_TIME]
