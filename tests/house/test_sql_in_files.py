"""Rules of the content of an SQL file; functions, triggers and views are created nowhere else."""

import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from hansa.foundation.plumbing.storage.migrate import migrations_directory
from hansa.foundation.plumbing.storage.sql_files import LAYERS, SqlFile, read_sql_files

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "hansa"
# Tables of the baseline need these before files are applied: a default, and the partitions of the journal.
NEEDED_BY_TABLES = {
    "plumbing_position_shift",
    "plumbing_position",
    "journal_refuse_change",
    "journal_furnish",
    "journal_add_month",
}

FILES = read_sql_files()
# A part that is longer has two subjects.
PART_LINES_MAX = 90
CREATES = re.compile(r"CREATE OR REPLACE (FUNCTION|PROCEDURE|TRIGGER|VIEW) (\w+)")
DROPPED = re.compile(r"^DROP FUNCTION [^;]*;", re.MULTILINE)
# The ledger calls the functions of an extension by the name that its room states.
EXTENSION = re.compile(r"(\w+)_(?:claim|record)")
CREATED_BY_MIGRATION = re.compile(
    r"^\W*CREATE\s+(?:OR\s+REPLACE\s+)?(?:CONSTRAINT\s+)?(?:FUNCTION|PROCEDURE|TRIGGER|VIEW)\s+(\w+)",
    re.IGNORECASE | re.MULTILINE,
)
# A body in dollar quotes, a text, a comment: what a semicolon inside does not end.
INSIDE = re.compile(r"\$(\w*)\$.*?\$\1\$|'[^']*'|--[^\n]*", re.DOTALL)

# PostgreSQL 15 requires an alias of each; later versions do not.
SUBQUERY = re.compile(r"\b(?:FROM|JOIN|LATERAL)\s*\((?=[\s(]*(?:SELECT|VALUES|WITH|DELETE|UPDATE|INSERT)\b)")
NO_ALIAS = re.compile(
    r"\s*(?:$|[^\sA-Za-z_]|(?:WHERE|ORDER|GROUP|HAVING|LIMIT|OFFSET|UNION|FOR|RETURNING|ON|USING|CROSS|JOIN|LEFT|LOOP)\b)"
)


def objections(file: SqlFile) -> list[str]:
    """Return the errors in the form of a file."""
    found = []
    heading = file.content.partition("CREATE OR REPLACE")[0]
    if not heading.startswith("-- ") or heading.startswith("-- after:"):
        found.append("it does not begin with a comment that states its purpose")
    if any(line and not line.startswith("--") for line in heading.splitlines()) or not file.statements():
        found.append("its first statement is not CREATE OR REPLACE")
    for line, statement in file.statements():
        created = CREATES.match(statement)
        if created is None:
            found.append(f"line {line} creates no function, procedure, trigger or view")
        elif not created[2].startswith(f"{file.owner}_"):
            found.append(f"line {line}: {created[2]} does not begin with {file.owner}_")
        bare = INSIDE.sub("", statement).strip()
        if bare.count(";") != 1 or not bare.endswith(";"):
            found.append(f"line {line}: another statement follows in the same text")
    return found


def subqueries_without_alias(text: str) -> list[str]:
    """Return the first words after each subquery that has no alias."""
    ends = (closing_parenthesis(text, found.end()) for found in SUBQUERY.finditer(text))
    return [text[end : end + 40] for end in ends if NO_ALIAS.match(text, end)]


def closing_parenthesis(text: str, start: int) -> int:
    """The place behind the parenthesis that closes the one before `start`."""
    depth = 1
    for place in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if depth == 0:
            return place + 1
    return len(text)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_file_states_its_purpose_and_only_creates_or_replaces(file: SqlFile):
    assert objections(file) == []


@pytest.mark.parametrize(
    ("content", "objection"),
    [
        ("CREATE OR REPLACE VIEW ledger_a AS SELECT 1;", "it does not begin with a comment"),
        ("-- after: ledger/b.sql\n\nCREATE OR REPLACE VIEW ledger_a AS SELECT 1;", "it does not begin"),
        ("-- A view.\n\nCREATE VIEW ledger_a AS SELECT 1;", "its first statement is not"),
        ("-- A view.\n\nCREATE OR REPLACE RULE ledger_a AS x;", "line 3 creates no function"),
        ("-- A view.\n\nCREATE OR REPLACE VIEW journal_a AS SELECT 1;", "line 3: journal_a does not begin"),
        ("-- A view.\n\nCREATE OR REPLACE VIEW ledger_a AS SELECT 1;\nCOMMIT;", "line 3: another statement"),
    ],
)
def test_a_file_of_another_form_is_seen(content: str, objection: str):
    [found] = objections(SqlFile("ledger/a.sql", content))
    assert found.startswith(objection)


def test_every_subquery_has_an_alias_which_the_lowest_postgresql_requires():
    files = [*SOURCE.rglob("*.py"), *SOURCE.rglob("*.sql")]
    found = {str(file.relative_to(ROOT)): subqueries_without_alias(file.read_text()) for file in files}
    assert {name: without for name, without in found.items() if without} == {}


@pytest.mark.parametrize(
    ("statement", "count"),
    [
        ("SELECT 1 FROM (SELECT (2)) x WHERE true", 0),
        ("SELECT 1 FROM (SELECT (2)) AS x", 0),
        ("SELECT 1 FROM (SELECT (2)) WHERE true", 1),
        ("SELECT 1 FROM ((SELECT 1) UNION (SELECT 2))", 1),
        ("SELECT 1 FROM a, LATERAL (VALUES (1), (2)) ORDER BY 1", 1),
    ],
)
def test_a_subquery_without_an_alias_is_seen(statement: str, count: int):
    assert len(subqueries_without_alias(statement)) == count


def test_a_part_of_a_file_states_its_purpose_and_is_short():
    parts = [path for path in SOURCE.rglob("*.sql") if path.parent.name != "sql"]
    assert [path.name for path in parts if not path.read_text().startswith("-- ")] == []
    assert [path.name for path in parts if path.read_text().count("\n") > PART_LINES_MAX] == []


def test_every_sql_file_of_the_package_is_applied():
    names = {origin for file in FILES for origin, _ in [(file.name, 1), *file.origins]}
    assert len(names) == len([*SOURCE.rglob("*.sql")])


def test_sql_files_follow_the_layers_of_the_import_contracts():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    [rooms] = [contract["layers"] for contract in contracts if contract["id"] == "rooms"]
    assert [{"plumbing"}, *(set(layer.split(" | ")) for layer in reversed(rooms))] == list(LAYERS)


@pytest.mark.parametrize(
    "migration", sorted(migrations_directory().glob("[0-9]*.py")), ids=lambda path: path.name
)
def test_a_migration_neither_creates_nor_calls_functions_of_the_files(migration: Path):
    content = migration.read_text()
    assert CREATED_BY_MIGRATION.findall(content) == [], (
        "functions, triggers and views stand in sql/ of the room"
    )
    assert called_by(content) == set()


def test_the_baseline_creates_and_calls_the_functions_that_its_tables_need_and_no_others():
    pages = "\n".join(page.read_text() for page in migrations_directory().glob("baseline/*.sql"))
    assert set(CREATED_BY_MIGRATION.findall(pages)) == NEEDED_BY_TABLES
    assert called_by(pages) <= NEEDED_BY_TABLES


def called_by(migration: str) -> set[str]:
    """Return the functions of the files that the text of a migration names, other than to drop them."""
    text = DROPPED.sub("", migration)
    return {name for name in functions_of_files() if re.search(rf"\b{name}\b", text)}


def functions_of_files() -> set[str]:
    return {name for file in FILES for kind, name in CREATES.findall(file.content) if kind != "TRIGGER"}


def unused(functions: set[str], texts: list[str]) -> list[str]:
    """The functions and views that these texts create and name nowhere else."""
    all_text = "\n".join(texts)
    named = Counter(re.findall(r"\w+", CREATES.sub("", all_text)))
    extensions = set(re.findall(r'Extension\("(\w+)"', all_text))

    def is_used(name: str) -> bool:
        extension = EXTENSION.fullmatch(name)
        return named[name] > 0 or (extension is not None and extension[1] in extensions)

    return [name for name in sorted(functions) if not is_used(name)]


def test_every_function_of_the_files_is_called_by_a_statement_or_another_function():
    files = [*SOURCE.rglob("*.py"), *SOURCE.rglob("*.sql")]
    assert unused(functions_of_files(), [file.read_text() for file in files]) == [], (
        "take these out of the files, and drop them in a migration (decision 0038)"
    )


def test_a_function_that_nobody_calls_is_seen():
    texts = [
        "CREATE OR REPLACE FUNCTION ledger_a() RETURNS int LANGUAGE sql AS 'SELECT ledger_b()';",
        "CREATE OR REPLACE FUNCTION ledger_b() RETURNS int LANGUAGE sql AS 'SELECT 1';",
        "CREATE OR REPLACE FUNCTION ledger_c_claim() RETURNS int LANGUAGE sql AS 'SELECT 1';",
        "CREATE OR REPLACE FUNCTION ledger_d_claim() RETURNS int LANGUAGE sql AS 'SELECT 1';",
        'C = Extension("ledger_c", int)',
    ]
    functions = {"ledger_a", "ledger_b", "ledger_c_claim", "ledger_d_claim"}
    assert unused(functions, texts) == ["ledger_a", "ledger_d_claim"]
