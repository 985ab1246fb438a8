"""SQL files: the functions, triggers and views of the plumbing and of each room, in `sql/` of their owner.

- A file is called `owner/file.sql`. It begins with a comment that states its purpose; every statement in it begins a
  line with `CREATE OR REPLACE`.
- Files are applied layer by layer. `-- after: owner/file.sql` in the comment at the beginning puts a file behind another
  one of the same owner or of a layer below.
- The files whose checksum changed are applied in one transaction: all of them or none.
- A file that was removed leaves what it created: an older process may still use it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import hansa

if TYPE_CHECKING:
    import psycopg

Connection: TypeAlias = "psycopg.Connection[tuple[Any, ...]]"

LAYERS = (
    {"plumbing"},
    {"journal"},
    {"ledger"},
    {"federation"},
    {"catalogue"},
    {"agents", "people"},
    {"enforcement", "transfers"},
    {"commerce"},
    {"reputation"},
    {"auditor", "notifications"},
)
"""Owners of SQL files, the lowest layer first; a file may use what its own owner and lower layers create."""

# Creating a trigger locks its table and may meet the transactions of running processes.
TRIES = 3

_STATEMENT = re.compile(r"^(?=CREATE OR REPLACE )", re.MULTILINE)
_AFTER = re.compile(r"^-- after: (\S+)$", re.MULTILINE)

APPLIED = "SELECT path, checksum FROM plumbing_sql_file"

_RECORD = """
INSERT INTO plumbing_sql_file (path, checksum) VALUES (%s, %s)
ON CONFLICT (path) DO UPDATE SET checksum = excluded.checksum, applied_at = now()
"""

_FORGET_REMOVED = "DELETE FROM plumbing_sql_file WHERE path <> ALL (%s)"


class SqlFileRefused(Exception):
    """The SQL files cannot be applied; says which file, which line and why. Nothing was applied."""


@dataclass(frozen=True)
class SqlFile:
    """One file: its name (`owner/file.sql`) and its content."""

    name: str
    content: str

    @cached_property
    def checksum(self) -> bytes:
        return sha256(self.content.encode()).digest()

    @property
    def owner(self) -> str:
        return self.name.partition("/")[0]

    @property
    def after(self) -> list[str]:
        """The files that are applied before this one."""
        return _AFTER.findall(_STATEMENT.split(self.content, 1)[0])

    def statements(self) -> list[tuple[int, str]]:
        """Each statement, with the number of its first line."""
        _, *statements = _STATEMENT.split(self.content)
        starts = [found.start() for found in _STATEMENT.finditer(self.content)]
        return [
            (self.content.count("\n", 0, start) + 1, statement)
            for start, statement in zip(starts, statements, strict=True)
        ]


def read_sql_files(package: Path | None = None) -> list[SqlFile]:
    """The SQL files of this version, in the order in which they are applied. Raises: SqlFileRefused."""
    package = package or Path(hansa.__file__).parent
    found = [
        SqlFile(f"{owner}/{path.name}", path.read_text(encoding="utf-8"))
        for layer in LAYERS
        for owner in layer
        for path in _directory(package, owner).glob("*.sql")
    ]
    return in_order(found)


def in_order(files: Sequence[SqlFile]) -> list[SqlFile]:
    """The files by layer, each behind those that it names. Raises: SqlFileRefused on a wrong name or a cycle."""
    by_name = {file.name: file for file in sorted(files, key=lambda file: file.name)}
    for file in by_name.values():
        for name in file.after:
            if name not in by_name:
                raise SqlFileRefused(f"{file.name} must be applied after {name}, which does not exist")
            if by_name[name].owner != file.owner and _layer(by_name[name]) >= _layer(file):
                raise SqlFileRefused(
                    f"{file.name} must be applied after {name}, which is not in a lower layer"
                )
    try:
        sorted_names = [
            *TopologicalSorter({name: file.after for name, file in by_name.items()}).static_order()
        ]
    except CycleError as trouble:
        raise SqlFileRefused(
            f"SQL files name each other in a cycle: {', '.join(trouble.args[1])}"
        ) from trouble
    # Sorting by layer is stable and breaks no order: a file names none of a higher layer.
    return sorted((by_name[name] for name in sorted_names), key=_layer)


def are_current(files: Sequence[SqlFile], present: Mapping[str, bytes]) -> bool:
    """Whether exactly these files were applied; `present` maps names to checksums."""
    return {file.name: file.checksum for file in files} == present


def apply_sql_files(connection: Connection, files: Sequence[SqlFile]) -> list[str]:
    """Apply the files that changed, in this order and in one transaction; returns their names.

    The caller holds the lock of migrations. Raises: SqlFileRefused.
    """
    from psycopg.errors import DeadlockDetected, LockNotAvailable

    for tries_left in reversed(range(TRIES)):
        try:
            with connection.transaction():
                return _apply(connection, files)
        except SqlFileRefused as trouble:
            if not tries_left or not isinstance(trouble.__cause__, DeadlockDetected | LockNotAvailable):
                raise
    raise AssertionError("the last attempt returns or raises")


def _apply(connection: Connection, files: Sequence[SqlFile]) -> list[str]:
    present: dict[str, bytes] = dict(connection.execute(APPLIED).fetchall())
    changed = [file for file in files if present.get(file.name) != file.checksum]
    for file in changed:
        _execute(connection, file)
        connection.execute(_RECORD, (file.name, file.checksum))
    connection.execute(_FORGET_REMOVED, ([file.name for file in files],))
    return [file.name for file in changed]


def _execute(connection: Connection, file: SqlFile) -> None:
    import psycopg

    for first_line, statement in file.statements():
        try:
            # Bytes, and no parameters: the text goes to the server as it is.
            connection.execute(statement.encode())
        except psycopg.Error as trouble:
            position = int(trouble.diag.statement_position or 1) - 1
            line = first_line + statement.count("\n", 0, position)
            reason = trouble.diag.message_primary or str(trouble)
            raise SqlFileRefused(f"{file.name}, line {line}: {reason}") from trouble


def _layer(file: SqlFile) -> int:
    return next(number for number, owners in enumerate(LAYERS) if file.owner in owners)


def _directory(package: Path, owner: str) -> Path:
    return package / ("foundation/plumbing" if owner == "plumbing" else f"rooms/{owner}") / "sql"
