"""Directory of nightly backups: each has a name with its time, and the newest ones are kept.

- A file is deleted only if its name is that of a backup of this registry and it ends as a whole backup does.
- The name has the registry's name, percent-encoded, and its trust domain: registries may share a directory.
"""

import fcntl
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote

import msgspec

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.backup import is_whole

_TIME = r"[0-9]{8}T[0-9]{6}Z"


class BackupDirectory(msgspec.Struct, frozen=True):
    """The backups of one registry in a directory."""

    path: Path
    prefix: str

    @classmethod
    def of(cls, settings: Settings, path: Path) -> "BackupDirectory":
        """The backups of the registry with these settings."""
        return cls(path, f"{quote(settings.registry_name, safe='')}.{settings.trust_domain}-")

    def new_file(self) -> Path:
        """The name of a backup of now; of the next second that has none yet."""
        moment = datetime.now(UTC)
        while (file := self.path / f"{self.prefix}{moment:%Y%m%dT%H%M%SZ}.hansa").exists():
            moment += timedelta(seconds=1)
        return file

    def prune(self, newest: Path, keep: int) -> list[Path]:
        """Delete all but `newest` and the `keep` - 1 before it, and the drafts of backups that were killed; returns the backups deleted.

        Raises: OSError.
        """
        for draft in self._files(rf"\.{re.escape(self.prefix)}{_TIME}\.hansa\.[0-9]+"):
            _delete_abandoned(draft)
        found = sorted(self._files(rf"{re.escape(self.prefix)}{_TIME}\.hansa"), reverse=True)
        others = [file for file in found if file != newest and is_whole(file)]
        for file in (deleted := others[keep - 1 :]):
            file.unlink(missing_ok=True)
        return deleted

    def _files(self, name: str) -> Iterator[Path]:
        pattern = re.compile(name)
        return (
            file
            for file in self.path.iterdir()
            if pattern.fullmatch(file.name) and file.is_file() and not file.is_symlink()
        )


def _delete_abandoned(draft: Path) -> None:
    with suppress(BlockingIOError, FileNotFoundError), draft.open("rb+") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        draft.unlink()
