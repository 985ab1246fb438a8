"""Account that PostgreSQL runs as: the service's own, or an ordinary one when the service is root."""

import os
import pwd
import sys
from pathlib import Path

import msgspec

from .errors import EmbeddedPostgresFailed

# In order of preference; `nobody` exists everywhere and comes last because others may run as it too.
ORDINARY_ACCOUNTS = ("hansa", "postgres", "nobody")
LAUNCHER = Path(__file__).with_name("launch.py")


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
