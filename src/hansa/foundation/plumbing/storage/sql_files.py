"""SQL files: the functions, triggers and views of the plumbing and of each room, in `sql/` of their owner.

- A file is called `owner/file.sql`. It begins with a comment that states its purpose; every statement in it begins a
  line with `CREATE OR REPLACE`.
- A long function is a frame `owner/file.sql` and parts `owner/file/*.sql`, joined when they are read. The line
  `-- part: name.sql` of the frame is the place of a part. A part is a comment, the word `DECLARE` with the variables of the
  part where it has any, the word `BEGIN`, and statements; its variables go below the line `-- declarations of the parts`.
- Files are applied layer by layer. `-- after: owner/file.sql` in the comment at the beginning puts a file behind another
  one of the same owner or of a layer below.
- The files whose checksum changed are applied in one transaction: all of them or none.
- Functions, triggers and views of a removed file stay: an older process may still use it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

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
    {"operations", "organizations"},
    {"enforcement", "proofs", "transfers"},
    {"commerce"},
    {"spawn"},
    {"pipelines", "reputation", "support", "treasury"},
    {"achievements"},
    {"exchange", "governance"},
    {"notifications"},
    {"auditor"},
    {"status"},
)
"""Owners of SQL files, the lowest layer first; a file may use what its own owner and lower layers create."""

# Creating a trigger locks its table and may meet the transactions of running processes.
TRIES = 3

_STATEMENT = re.compile(r"^(?=CREATE OR REPLACE )", re.MULTILINE)
_AFTER = re.compile(r"^-- after: (\S+)$", re.MULTILINE)
_PART = re.compile(r"( *)-- part: (\S+)")
_DECLARATIONS = "-- declarations of the parts"

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
    """One file: its name (`owner/file.sql`) and its content, with the lines of its parts in their places.

    `origins` has file and line of each line of the content, where the file has parts.
    """

    name: str
    content: str
    origins: tuple[tuple[str, int], ...] = ()

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

    def origin(self, line: int) -> str:
        """File and line in which a line of the content was written."""
        name, number = self.origins[line - 1] if self.origins else (self.name, line)
        return f"{name}, line {number}"

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
    texts = {
        f"{owner}/{path.relative_to(directory).as_posix()}": path.read_text(encoding="utf-8")
        for layer in LAYERS
        for owner in layer
        for directory in [_directory(package, owner)]
        for path in directory.rglob("*.sql")
    }
    return in_order(joined(texts))


def joined(texts: Mapping[str, str]) -> list[SqlFile]:
    """The files, each with its parts in their places; `texts` has the text of each file and part by its name.

    Raises: SqlFileRefused on a part that is missing or that no file names.
    """
    files = [_with_parts(name, texts) for name in texts if name.count("/") == 1]
    used = {file.name for file in files} | {part for file in files for part, _ in file.origins}
    for name in sorted(texts.keys() - used):
        raise SqlFileRefused(f"{name} is a part that no file names")
    return files


class _Line(msgspec.Struct, frozen=True):
    text: str
    file: str
    number: int

    @property
    def part(self) -> re.Match[str] | None:
        """Indentation and name of the part whose place this is."""
        return _PART.fullmatch(self.text)

    def indented(self, indent: str) -> "_Line":
        """The line of a part, two spaces deep there, at the depth of its place."""
        return _Line(f"{indent}{self.text[2:]}", self.file, self.number)


def _lines(name: str, text: str) -> list[_Line]:
    return [_Line(line, name, number) for number, line in enumerate(text.splitlines(), 1)]


def _with_parts(name: str, texts: Mapping[str, str]) -> SqlFile:
    frame = _lines(name, texts[name])
    if not any(line.part for line in frame):
        return SqlFile(name, texts[name])
    lines: list[_Line] = []
    declarations: list[_Line] = []
    for line in frame:
        lines.append(line)
        if place := line.part:
            part = f"{name.removesuffix('.sql')}/{place[2]}"
            if part not in texts:
                raise SqlFileRefused(f"{name}, line {line.number}: the part {part} does not exist")
            declared, statements = _divided(part, texts[part])
            declarations += declared
            lines += [statement.indented(place[1]) for statement in statements]
    words = [line.text.strip() for line in lines]
    if _DECLARATIONS not in words:
        raise SqlFileRefused(f"{name} has parts, and no line {_DECLARATIONS}")
    below = words.index(_DECLARATIONS) + 1
    lines[below:below] = declarations
    content = "".join(f"{line.text}\n" for line in lines)
    return SqlFile(name, content, tuple((line.file, line.number) for line in lines))


def _divided(part: str, text: str) -> tuple[list[_Line], list[_Line]]:
    """The declarations and the statements of a part."""
    lines = _lines(part, text)
    words = [line.text for line in lines]
    if "BEGIN" not in words:
        raise SqlFileRefused(f"{part} has no line BEGIN before its statements")
    begin = words.index("BEGIN")
    declare = words.index("DECLARE") if "DECLARE" in words[:begin] else begin
    return lines[declare + 1 : begin], lines[begin + 1 :]


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
    except CycleError as error:
        raise SqlFileRefused(f"SQL files name each other in a cycle: {', '.join(error.args[1])}") from error
    # Sorting by layer is stable and breaks no order: a file names none of a higher layer.
    return sorted((by_name[name] for name in sorted_names), key=_layer)


def are_current(files: Sequence[SqlFile], present: Mapping[str, bytes]) -> bool:
    """Return whether exactly these files were applied; `present` maps names to checksums."""
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
        except SqlFileRefused as error:
            if not tries_left or not isinstance(error.__cause__, DeadlockDetected | LockNotAvailable):
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
        except psycopg.Error as error:
            position = int(error.diag.statement_position or 1) - 1
            line = first_line + statement.count("\n", 0, position)
            reason = error.diag.message_primary or str(error)
            raise SqlFileRefused(f"{file.origin(line)}: {reason}") from error


def _layer(file: SqlFile) -> int:
    return next(number for number, owners in enumerate(LAYERS) if file.owner in owners)


def _directory(package: Path, owner: str) -> Path:
    return package / ("foundation/plumbing" if owner == "plumbing" else f"rooms/{owner}") / "sql"
