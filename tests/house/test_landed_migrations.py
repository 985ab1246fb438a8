"""A migration that has landed is final, pages of the baseline included: databases in use were made by it, byte for byte."""

from hashlib import sha256
from pathlib import Path

import pytest
from alembic.script import ScriptDirectory

from hansa.foundation.plumbing.storage.migrate import newest_schema

MIGRATIONS = Path(__file__).parents[2] / "migrations"
FIRST = "2026112901_first.py"
TABLE = Path(__file__).with_name("migrations.sha256")
PATTERNS = ("[0-9]*.py", "baseline/*.sql")


def read_table(text: str) -> dict[str, str]:
    """The digest of each file, from lines as `sha256sum` writes them."""
    return {name: digest for digest, name in (line.split("  ") for line in text.splitlines())}


def differences(landed: dict[str, str], directory: Path) -> list[str]:
    """Return the errors of the migrations, each with its remedy."""
    found = {
        file.relative_to(directory).as_posix(): sha256(file.read_bytes()).hexdigest()
        for pattern in PATTERNS
        for file in directory.glob(pattern)
    }
    edited = [name for name in landed if name in found and found[name] != landed[name]]
    return [
        *(
            f"{name} was edited after it had landed: restore it (`git checkout main -- migrations/{name}`)"
            " and write the change as a new migration"
            for name in edited
        ),
        *(
            f"{name} is missing, and databases in use name it as their revision: restore it"
            for name in landed
            if name not in found
        ),
        *(
            f"{name} is not in {TABLE.name}: once it is final, add the line `{found[name]}  {name}`"
            for name in sorted(found)
            if name not in landed
        ),
    ]


def test_every_landed_migration_is_as_it_landed():
    assert differences(read_table(TABLE.read_text()), MIGRATIONS) == []


def test_the_table_is_in_order_and_names_each_migration_once():
    lines = TABLE.read_text().splitlines()
    names = [line.split("  ")[1] for line in lines]
    assert names == sorted(set(names))
    assert len(names) > 14


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda directory: (directory / FIRST).write_text("edited"), f"{FIRST} was edited"),
        (lambda directory: (directory / FIRST).unlink(), f"{FIRST} is missing"),
        (lambda directory: (directory / "baseline/page.sql").write_text("x"), "baseline/page.sql was edited"),
        (lambda directory: (directory / "2026120101_new.py").write_text("x"), "2026120101_new.py is not in"),
    ],
    ids=["edited", "missing", "page", "new"],
)
def test_a_migration_that_is_edited_missing_or_new_is_named_with_what_to_do(change, sentence, tmp_path: Path):
    (tmp_path / "baseline").mkdir()
    landed = {}
    for name in (FIRST, "baseline/page.sql"):
        (tmp_path / name).write_text("landed")
        landed[name] = sha256(b"landed").hexdigest()
    assert differences(landed, tmp_path) == []
    change(tmp_path)
    (named,) = differences(landed, tmp_path)
    assert named.startswith(sentence)


def test_the_newest_schema_is_that_of_the_migration_which_no_other_follows():
    """Numbers are reserved before the work begins, so the highest number is not always the last migration."""
    heads = ScriptDirectory(str(MIGRATIONS), version_locations=[str(MIGRATIONS)]).get_heads()
    assert heads == [newest_schema()]
