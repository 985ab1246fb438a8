"""Names of the database that the code of a version uses: judged from its SQL, and recorded with each release.

`python -m tests.house.schema_uses VERSION` writes the record of the present code. It has a line for each table with the columns that are
read or written, and a last one with the other objects that are named (functions, sequences, indexes, constraints).

- A statement uses a column when it names the table and the column. A statement is a text of Python, with the texts that are formatted into it,
  or one statement of an SQL file. A statement with `*` uses each column.
- In doubt a name is used: a column counts for each table of a statement that has one of that name, and a table whose name is formatted
  into a statement counts with each statement of its module.
"""

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
RECORDS = Path(__file__).with_name("schema_uses")
OTHERS = "*"
_CREATED = re.compile(r"CREATE (?:UNLOGGED )?TABLE (?:IF NOT EXISTS )?(\w+) \(", re.IGNORECASE)
_ALTERED = re.compile(r"ALTER TABLE (?:ONLY )?(\w+)\s+([^;]*)", re.IGNORECASE)
_ADDED = re.compile(r"ADD COLUMN (?:IF NOT EXISTS )?(\w+)", re.IGNORECASE)
_NO_COLUMN = re.compile(r"(?:CONSTRAINT|PRIMARY|UNIQUE|CHECK|FOREIGN|EXCLUDE|LIKE)\b", re.IGNORECASE)
_STAR = re.compile(
    r"(?:\bSELECT|,|\bRETURNING|\.)\s*\*|\bINSERT INTO \w+\s+(?:VALUES|SELECT)\b|%ROWTYPE", re.IGNORECASE
)
_WORD = re.compile(r"[a-z_][a-z0-9_]*")
_SQL = re.compile(r"\b(?:SELECT|INSERT|UPDATE|DELETE|FROM|JOIN|TRUNCATE|COPY|LOCK|ALTER|CALL|WITH|MERGE)\b")
_COMMENT = re.compile(r"--[^\n]*")
_STATEMENT = re.compile(r"^(?=CREATE OR REPLACE )", re.MULTILINE)
_PLACEHOLDER = re.compile("\0(\\w*)\0")

Tables = Mapping[str, frozenset[str]]


@dataclass(frozen=True)
class Uses:
    """Columns that are used of each table that is named, and the other objects that are named."""

    tables: Tables
    others: frozenset[str]

    def has(self, table: str, column: str | None = None) -> bool:
        """Return whether a table, or a column of it, is used."""
        return table in self.tables and (column is None or column in self.tables[table])

    def text(self) -> str:
        """The record."""
        lines = [" ".join([table, *sorted(columns)]) for table, columns in sorted(self.tables.items())]
        return "\n".join([*lines, " ".join([OTHERS, *sorted(self.others)]), ""])


def read_record(text: str) -> Uses:
    lines = [line.split() for line in text.splitlines()]
    named = {first: frozenset(rest) for first, *rest in lines}
    return Uses({table: columns for table, columns in named.items() if table != OTHERS}, named[OTHERS])


def tables_of(migrations: Path) -> Tables:
    """The tables that the migrations of a version make, each with every column that it ever had."""
    found: dict[str, set[str]] = {}
    for file in sorted([*migrations.glob("baseline/*.sql"), *migrations.glob("[0-9]*.py")]):
        text = re.sub(r"\s+", " ", _COMMENT.sub("", file.read_text()))
        for created in _CREATED.finditer(text):
            parts = _parts_of(text, created.end())
            found.setdefault(created[1], set()).update(
                part.split()[0].strip('"') for part in parts if part and not _NO_COLUMN.match(part)
            )
        for table, acts in _ALTERED.findall(text):
            found.setdefault(table, set()).update(_ADDED.findall(acts))
    return {table: frozenset(columns) for table, columns in found.items()}


def _parts_of(text: str, start: int) -> list[str]:
    """The parts of a parenthesis that opens before `start`, as commas outside of others separate them."""
    depth, begin, parts = 1, start, []
    for place in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if depth == 0 or (depth == 1 and text[place] == ","):
            parts.append(text[begin:place].strip())
            begin = place + 1
        if depth == 0:
            break
    return parts


def uses_of(source: Path, tables: Tables) -> Uses:
    """The names that the code below a directory uses."""
    found: dict[str, set[str]] = {}
    words: set[str] = set()
    for statement in Code(source).statements():
        words |= statement.words
        for table in statement.words & tables.keys():
            named = tables[table] if statement.is_whole else tables[table] & statement.words
            found.setdefault(table, set()).update(named)
    owners = {table.partition("_")[0] for table in tables}
    others = {word for word in words if word.partition("_")[0] in owners and "_" in word} - tables.keys()
    return Uses({table: frozenset(columns) for table, columns in found.items()}, frozenset(others))


@dataclass(frozen=True)
class Statement:
    """The words of a statement, and whether it reads or writes rows whole."""

    words: frozenset[str]
    is_whole: bool

    @classmethod
    def of(cls, text: str) -> "Statement":
        return cls(frozenset(_WORD.findall(text.lower())), _STAR.search(text) is not None)

    def __or__(self, other: "Statement") -> "Statement":
        return Statement(self.words | other.words, self.is_whole or other.is_whole)


NOTHING = Statement(frozenset(), is_whole=False)


class Code:
    """Texts of the Python modules and SQL files below a directory."""

    def __init__(self, source: Path) -> None:
        self._sql = [file.read_text() for file in sorted(source.rglob("*.sql"))]
        self._modules = [ast.parse(file.read_text()) for file in sorted(source.rglob("*.py"))]
        self._named = self._assigned()
        self._read: dict[str, Statement] = {}

    def statements(self) -> Iterator[Statement]:
        """Each statement, with the texts that are formatted into it."""
        for text in self._sql:
            yield from map(Statement.of, _STATEMENT.split(_COMMENT.sub("", text)))
        for module in self._modules:
            texts = list(_texts(module))
            statements = [text for text in texts if _SQL.search(text)]
            # A name that is no text of the code may be a table of this module.
            is_open = any(
                not self._named.get(name) for text in statements for name in _PLACEHOLDER.findall(text)
            )
            anything = Statement.of(" ".join(texts)) if is_open else NOTHING
            for text in statements:
                yield self._composed(text) | anything

    def _assigned(self) -> dict[str, list[str]]:
        """Texts of each name that some module assigns; all of them, where several modules have the name."""
        found: dict[str, list[str]] = {}
        for module in self._modules:
            for node in ast.walk(module):
                if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                    for name in [one.id for one in targets if isinstance(one, ast.Name)]:
                        found.setdefault(name, []).extend(_texts(node.value))
        return found

    def _composed(self, text: str) -> Statement:
        found = Statement.of(text)
        for name in _PLACEHOLDER.findall(text):
            found |= self._text_of(name)
        return found

    def _text_of(self, name: str) -> Statement:
        if name not in self._read:
            # A name that is composed of itself ends here.
            self._read[name] = NOTHING
            for text in self._named.get(name, ()):
                self._read[name] |= self._composed(text)
        return self._read[name]


def _texts(node: ast.AST) -> Iterator[str]:
    """Each text below a node; a name that is formatted into it stands between zero bytes."""
    if isinstance(node, ast.JoinedStr):
        yield "".join(_piece(one) for one in node.values)
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    for child in ast.iter_child_nodes(node):
        yield from _texts(child)


def _piece(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    value = node.value if isinstance(node, ast.FormattedValue) else node
    name = value.id if isinstance(value, ast.Name) else value.attr if isinstance(value, ast.Attribute) else ""
    return f"\0{name}\0"


if __name__ == "__main__":
    present = uses_of(ROOT / "src" / "hansa", tables_of(ROOT / "migrations"))
    RECORDS.mkdir(exist_ok=True)
    (RECORDS / f"{sys.argv[1]}.txt").write_text(present.text())
