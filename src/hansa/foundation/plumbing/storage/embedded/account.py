"""Account that PostgreSQL runs as: the service's own, or an ordinary one when the service is root.

How PostgreSQL reaches its folders where a parent directory is closed to its account.

The service opens each folder and the server inherits the descriptor: `/proc/self/fd/N` leads to the folder whatever
the permissions above it. No mode is changed, and the server needs no capability.
"""

import os
import pwd
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec

from .errors import EmbeddedPostgresFailed

# In order of preference; `nobody` exists everywhere and comes last because others may run as it too.
ORDINARY_ACCOUNTS = ("hansa", "postgres", "nobody")
LAUNCHER = Path(__file__).with_name("launch.py")
DESCRIPTORS = "/proc/self/fd/"


class ServerAccount(msgspec.Struct, frozen=True):
    """The user and group that own the cluster and run its server."""

    uid: int
    gid: int

    @property
    def is_own(self) -> bool:
        return self.uid == os.geteuid()

    def take_over(self, path: Path) -> None:
        """Make the account the owner of `path` itself, never of the target of a link."""
        if not self.is_own:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)

    def take_over_tree(self, folder: Path) -> None:
        """Make the account the owner of everything below `folder`."""
        for parent, folders, files in os.walk(folder):
            for name in folders + files:
                self.take_over(Path(parent, name))
        self.take_over(folder)

    def command(self, program: Path, *arguments: str) -> list[str]:
        """Command line that runs `program` as this account, without any power of root."""
        if self.is_own:
            return [str(program), *arguments]
        # Isolated and without site packages: the launcher needs neither and starts in 10 ms.
        launcher = [sys.executable, "-I", "-S", str(LAUNCHER)]
        return [*launcher, str(self.uid), str(self.gid), str(program), *arguments]


def server_account(cluster: Path) -> ServerAccount:
    """The account for this cluster: its owner, or the best existing one for a new cluster.

    Raises: EmbeddedPostgresFailed when root finds no ordinary account.
    """
    if os.geteuid() != 0:
        return ServerAccount(os.geteuid(), os.getegid())
    if cluster.exists():
        owner = cluster.stat()
        if owner.st_uid != 0:
            return ServerAccount(owner.st_uid, owner.st_gid)
    return _first_ordinary_account()


def _first_ordinary_account() -> ServerAccount:
    for name in ORDINARY_ACCOUNTS:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        if entry.pw_uid != 0:
            return ServerAccount(entry.pw_uid, entry.pw_gid)
    raise EmbeddedPostgresFailed(
        "PostgreSQL refuses to run as root and none of the accounts "
        f"{', '.join(ORDINARY_ACCOUNTS)} exists; create one, or set DATABASE_URL."
    )


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
