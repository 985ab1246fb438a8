"""Names of the database that code uses: judged from its statements, and never changed in a record afterwards."""

import subprocess
from pathlib import Path

import pytest

from tests.house.schema_uses import ROOT, Uses, read_record, tables_of, uses_of
from tests.upgrade.former_code import check_out

MIGRATION = """
CREATE TABLE room_a (
  id bigint PRIMARY KEY, -- DROP, of a comment
  kind text CHECK (kind IN ('x', 'y')),
  at timestamptz DEFAULT now(),
  CONSTRAINT room_a_kind UNIQUE (kind, id)
);
CREATE TABLE room_b (id bigint, kind text);
ALTER TABLE room_b ADD COLUMN note text NOT NULL DEFAULT '';
"""


def uses(directory: Path, python: str = "", sql: str = "") -> Uses:
    (directory / "migrations/baseline").mkdir(parents=True)
    (directory / "migrations/baseline/room.sql").write_text(MIGRATION)
    (directory / "src").mkdir()
    (directory / "src/store.py").write_text(python)
    (directory / "src/room.sql").write_text(sql)
    return uses_of(directory / "src", tables_of(directory / "migrations"))


def test_the_columns_of_a_table_are_those_of_its_migrations(tmp_path: Path):
    uses(tmp_path)
    assert tables_of(tmp_path / "migrations") == {
        "room_a": {"id", "kind", "at"},
        "room_b": {"id", "kind", "note"},
    }


@pytest.mark.parametrize(
    ("python", "tables"),
    [
        ('_X = "SELECT kind FROM room_a"', {"room_a": {"kind"}}),
        ('_X = "SELECT * FROM room_a"', {"room_a": {"id", "kind", "at"}}),
        ('_X = "SELECT count(*) FROM room_a"', {"room_a": set()}),
        ('_X = "INSERT INTO room_b VALUES ($1)"', {"room_b": {"id", "kind", "note"}}),
        ('_C = "kind, at"\n_X = f"SELECT {_C} FROM room_a"', {"room_a": {"kind", "at"}}),
        ('_D = "id"\n_C = f"{_D}, at"\n_X = f"SELECT {rows._C} FROM room_a"', {"room_a": {"id", "at"}}),
        ('T = ("room_b", "note")\ndef f(t):\n    return f"DELETE FROM {t}"', {"room_b": {"note"}}),
        (
            '_X = "SELECT kind FROM room_a"\n_Y = "SELECT id FROM room_b"',
            {"room_a": {"kind"}, "room_b": {"id"}},
        ),
        ('"""Words about the kind of a room_a."""', {}),
    ],
)
def test_a_statement_uses_the_columns_that_it_names_with_their_table(
    tmp_path: Path, python: str, tables: dict
):
    assert uses(tmp_path, python).tables == tables


def test_the_statements_of_sql_files_count_and_other_objects_are_named(tmp_path: Path):
    sql = """-- Reads room_b.
CREATE OR REPLACE FUNCTION room_read() RETURNS text LANGUAGE sql AS $$ SELECT note FROM room_b $$;
CREATE OR REPLACE FUNCTION room_more() RETURNS text LANGUAGE sql AS $$ SELECT room_read() $$;
"""
    found = uses(tmp_path, sql=sql)
    assert (found.tables, found.others) == ({"room_b": {"note"}}, {"room_read", "room_more"})
    assert read_record(found.text()) == found


def test_the_code_of_this_checkout_uses_what_it_is_known_to_use():
    found = uses_of(ROOT / "src/hansa/rooms/ledger", tables_of(ROOT / "migrations"))
    assert {"liquid", "staked", "escrow", "transit"} <= found.tables["ledger_account"]
    assert not found.has("people_developer")


def differing(repository: Path, directory: Path) -> list[str]:
    """The records that are not those of the code of the commit that added them; the present code while that is not committed."""
    found = []
    for file in sorted(repository.glob("tests/house/schema_uses/*.txt")):
        added = git(repository, "log", "-1", "--diff-filter=A", "--format=%H", "--", str(file))
        code = repository
        if added:
            code = directory / added
            check_out(added, code, ("src", "migrations"), repository)
        judged = uses_of(code / "src" / "hansa", tables_of(code / "migrations"))
        if judged.text() != file.read_text():
            found.append(file.name)
    return found


def git(repository: Path, *arguments: str) -> str:
    somebody = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    command = ["git", *somebody, *arguments]
    return subprocess.run(command, cwd=repository, capture_output=True, text=True, check=True).stdout.strip()


def test_each_record_is_that_of_the_code_of_its_commit(tmp_path: Path):
    assert differing(ROOT, tmp_path) == []


def test_a_record_that_was_edited_or_made_by_other_code_is_found(tmp_path: Path):
    repository = tmp_path / "repository"
    made = uses(repository, '_X = "SELECT kind FROM room_a"')
    (repository / "src").rename(repository / "code")
    (repository / "src").mkdir()
    (repository / "code").rename(repository / "src/hansa")
    record = repository / "tests/house/schema_uses/0.1.0.txt"
    record.parent.mkdir(parents=True)
    record.write_text(made.text())
    git(repository, "init", "-q")
    git(repository, "commit", "-q", "--allow-empty", "-m", "Before")
    assert differing(repository, tmp_path) == []
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "A release")
    (repository / "src/hansa/store.py").write_text("")
    assert differing(repository, tmp_path / "first") == []
    record.write_text(record.read_text().replace("kind", "id"))
    git(repository, "commit", "-q", "-a", "-m", "An edit")
    assert differing(repository, tmp_path / "second") == ["0.1.0.txt"]
