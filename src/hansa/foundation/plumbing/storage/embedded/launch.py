"""Runs one PostgreSQL program as an ordinary account; started by root as a script of its own.

    python -I -S launch.py UID GID PROGRAM [ARGUMENT…]

All root power is given up before the program runs, and it cannot come back: no capability is kept, and programs with
a set-user-ID bit give none. Open descriptors are passed on.

It imports nothing of this project, so that it runs wherever the interpreter does.
"""

import ctypes
import os
import sys

PR_SET_NO_NEW_PRIVS = 38


def become(uid: int, gid: int) -> None:
    """Take on the account for good. Raises: OSError."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
            raise OSError(ctypes.get_errno(), f"prctl {PR_SET_NO_NEW_PRIVS}")
    os.setgroups([gid])
    os.setregid(gid, gid)
    # From user id 0 to another one: the kernel clears every capability.
    os.setreuid(uid, uid)


def main(uid: str, gid: str, program: str, *arguments: str) -> None:
    """Become the account and replace this process by the program; ends with one line when that fails."""
    try:
        become(int(uid), int(gid))
        os.execv(program, [program, *arguments])  # noqa: S606
    except OSError as error:
        sys.exit(
            f"FATAL:  The account with user id {uid} cannot run {program} ({error.strerror or error});"
            " make it reachable for this account, or set DATABASE_URL."
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
