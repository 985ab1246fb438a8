"""Backups: one file that holds a registry's database at one moment, and its keys.

- The content of every table is read in one snapshot while the registry runs; nothing waits for it.
- The schema is not in the file: a restore makes it by the migrations, so that versions of PostgreSQL do not matter.
- A file is verified whole before anything is restored, and restored in one transaction.
"""

from .archive import (
    FORMAT,
    BadBackup,
    Manifest,
    Position,
    Reader,
    Writer,
    digest_of,
    is_whole,
    new_backup,
    streamed_backup,
    written,
)
from .tables import connect, load, read_tables, require_empty

__all__ = [
    "FORMAT",
    "BadBackup",
    "Manifest",
    "Position",
    "Reader",
    "Writer",
    "connect",
    "digest_of",
    "is_whole",
    "load",
    "new_backup",
    "read_tables",
    "require_empty",
    "streamed_backup",
    "written",
]
