"""Runs a command as an ordinary account that may read past the permissions of this checkout; started by root.

    python -I -S as_ordinary.py UID GID PROGRAM [ARGUMENT…]

A checkout of root's may lie below a directory that is closed to others; the command is to start all the same, and to
write nowhere but in its own folders. It can gain no other right, by whatever program it starts. access(2) takes the capability into account only with the flag that is set here.
"""

import ctypes
import os
import sys

CAP_DAC_READ_SEARCH = 2
CAPABILITIES = 64
CAPABILITY_VERSION_3 = 0x20080522

PR_CAPBSET_READ, PR_CAPBSET_DROP = 23, 24
PR_SET_NO_NEW_PRIVS = 38
PR_SET_SECUREBITS = 28
SECBIT_NO_SETUID_FIXUP = 1 << 2
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_RAISE = 2

libc = ctypes.CDLL(None, use_errno=True)


def main(uid: int, gid: int, command: list[str]) -> None:
    _call(libc.prctl, PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0)
    for capability in range(CAPABILITIES):
        is_held = libc.prctl(PR_CAPBSET_READ, capability, 0, 0, 0) == 1
        if is_held and capability != CAP_DAC_READ_SEARCH:
            _call(libc.prctl, PR_CAPBSET_DROP, capability, 0, 0, 0)
    _call(libc.prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    os.setgroups([gid])
    os.setregid(gid, gid)
    os.setreuid(uid, uid)
    held = 1 << CAP_DAC_READ_SEARCH
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    # Effective, permitted, inheritable; the upper halves stay empty.
    _call(libc.capset, header, (ctypes.c_uint32 * 6)(held, held, held))
    _call(libc.prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_READ_SEARCH, 0, 0)
    os.execv(command[0], command)


def _call(function: "ctypes._NamedFuncPointer", *arguments: object) -> None:
    if function(*arguments):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
