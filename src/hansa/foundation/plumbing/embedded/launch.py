"""Runs one PostgreSQL program as an ordinary account; started by root as a script of its own.

    python -I -S launch.py UID GID FOLDER PROGRAM [ARGUMENT…]

- All root power is given up before the program runs.
- Only when the account cannot reach FOLDER or PROGRAM, because a parent directory is closed to it, one
  capability is kept: reading past permissions, or, where that is not available, reading and writing.
- Nothing on disk is changed.

It imports nothing of this project, so that it runs wherever the interpreter does.
"""

import ctypes
import os
import sys
from collections.abc import Iterator

CAP_DAC_OVERRIDE = 1
CAP_DAC_READ_SEARCH = 2
CAPABILITY_VERSION_3 = 0x20080522

PR_SET_KEEPCAPS = 8
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_RAISE = 2
PR_CAP_AMBIENT_CLEAR_ALL = 4

libc = ctypes.CDLL(None, use_errno=True)


def become(uid: int, gid: int) -> None:
    if sys.platform == "linux":
        _prctl(PR_SET_KEEPCAPS, 1)
        _prctl(PR_SET_NO_NEW_PRIVS, 1)
    os.setgroups([gid])
    os.setregid(gid, gid)
    os.setreuid(uid, uid)


def run(folder: str, program: str, arguments: list[str]) -> None:
    """Replace this process by the program with the least power that reaches it; returns when none does."""
    for _ in _rising_power():
        try:
            os.chdir(folder)
            with open(program, "rb"):  # noqa: PTH123
                os.execv(program, [program, *arguments])  # noqa: S606
        except PermissionError:
            continue


def _rising_power() -> Iterator[None]:
    yield
    if sys.platform != "linux":
        return
    kept = _permitted() & (1 << CAP_DAC_OVERRIDE | 1 << CAP_DAC_READ_SEARCH)
    for capability in (CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE):
        if kept & 1 << capability:
            _hold(capability, kept)
            yield


def _permitted() -> int:
    sets = (ctypes.c_uint32 * 6)()
    if libc.capget(_header(), sets):
        return 0
    return int(sets[1])


def _hold(capability: int, permitted: int) -> None:
    held = 1 << capability
    _prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    # Effective, permitted, inheritable; the upper halves stay empty. The program itself gets the ambient one only.
    if libc.capset(_header(), (ctypes.c_uint32 * 6)(held, permitted, held)):
        raise OSError(ctypes.get_errno(), "capset")
    _prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability)


def _header() -> "ctypes.Array[ctypes.c_uint32]":
    return (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)


def _prctl(option: int, value: int, detail: int = 0) -> None:
    if libc.prctl(option, value, detail, 0, 0):
        raise OSError(ctypes.get_errno(), f"prctl {option}")


def main(uid: str, gid: str, folder: str, program: str, *arguments: str) -> None:
    advice = "set DATABASE_URL, or choose a --data-dir that this account can reach."
    try:
        become(int(uid), int(gid))
        run(folder, program, list(arguments))
        trouble = f"cannot reach both {folder} and {program}"
    except OSError as error:
        trouble = f"cannot be taken on ({error.strerror or error})"
    sys.exit(f"FATAL:  The account with user id {uid} that should run PostgreSQL {trouble}; {advice}")


if __name__ == "__main__":
    main(*sys.argv[1:])
