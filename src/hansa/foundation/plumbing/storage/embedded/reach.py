"""How PostgreSQL reaches its folders where a parent directory is closed to its account.

The service opens each folder and the server inherits the descriptor: `/proc/self/fd/N` leads to the folder whatever
the permissions above it. No mode is changed, and the server needs no capability.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec

from .account import ServerAccount

DESCRIPTORS = "/proc/self/fd/"


class Reached(msgspec.Struct, frozen=True):
    """Names under which a child process finds folders, and the descriptors it must inherit for that."""

    names: tuple[str, ...]
    descriptors: tuple[int, ...]


@contextmanager
def reached(account: ServerAccount, *folders: Path) -> Iterator[Reached]:
    """Names of `folders` for a program of this account, valid for a child that is started meanwhile."""
    if account.is_own or sys.platform != "linux":
        yield Reached(tuple(map(str, folders)), ())
        return
    with ExitStack() as opened:
        descriptors = []
        for folder in folders:
            descriptors.append(os.open(folder, os.O_PATH | os.O_DIRECTORY))
            opened.callback(os.close, descriptors[-1])
        yield Reached(tuple(f"{DESCRIPTORS}{number}" for number in descriptors), tuple(descriptors))
