"""A migration only adds: the previous version serves the same database meanwhile, and until the last of its processes is replaced.

What the previous version uses is removed one version later, by a migration that states `unused_since = "0.2.0"`: the first released version
that no longer uses it (decision 0241). Before the first release it states the schema of which that holds, an earlier migration. The record of
the names that the code of that version uses has to agree (`schema_uses.py`), and so have those of the releases since.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.house.schema_uses import RECORDS, Uses, read_record

ROOT = Path(__file__).parents[2]
MIGRATIONS = ROOT / "migrations"
# Of before the first release: no version that was released used their tables.
LAST_BEFORE_THE_RULE = "2026113004"
VERSION = re.compile(r"^## (\d+\.\d+\.\d+)(, unreleased)?", re.MULTILINE)
MARK = re.compile(r'^unused_since = "([^"]*)"$', re.MULTILINE)

_IDENTIFIER = r'(?:IF EXISTS )?(?:"[^"]+"|\w+)'
# Each form with what to do in place of it.
REFUSED = {
    rf"\bDROP (?:TABLE|SEQUENCE|TYPE|SCHEMA|VIEW|FUNCTION|TRIGGER) {_IDENTIFIER}": "the previous version uses it",
    rf"\bDROP (?:COLUMN )?(?!DEFAULT\b){_IDENTIFIER}(?=\s*[,;])": "the previous version reads and writes it",
    r"\bDROP (?:UNIQUE )?INDEX\b": "an ON CONFLICT of the previous version may name its columns; add the new one beside it",
    r"\bDROP (?:NOT NULL|DEFAULT)\b": "the previous version relies on it; add a column beside it",
    r"\bRENAME\b": "the previous version uses the old name; add the new one and fill both",
    r"\bALTER (?:COLUMN )?\w+ (?:SET DATA )?TYPE\b": "the table is rewritten, and the previous version expects the old type",
    r"\bSET NOT NULL\b": "the previous version may write null",
    r"\bTRUNCATE\b": "the previous version reads the rows",
}
_DROPPED_CONSTRAINT = re.compile(r"\bDROP CONSTRAINT (?:IF EXISTS )?(\w+)", re.IGNORECASE)
_ADDED_CONSTRAINT = re.compile(r"\bADD CONSTRAINT (\w+)", re.IGNORECASE)
_ADDED_COLUMN = re.compile(
    r"\bADD COLUMN (?:IF NOT EXISTS )?(\w+)((?:[^,;()]|\((?:[^()]|\([^()]*\))*\))*)", re.IGNORECASE
)


def findings(text: str) -> list[str]:
    """Return each statement of a migration that the previous version does not bear, with the reason."""
    sql = re.sub(r"--[^\n]*|#[^\n]*", "", text)
    sql = re.sub(r"\s+", " ", sql)
    # A constraint that is widened is dropped and added under its name in one statement.
    widened = set(_ADDED_CONSTRAINT.findall(sql))
    found = [
        f"DROP CONSTRAINT {name}: an ON CONFLICT of the previous version may name it; widen it under its name"
        for name in _DROPPED_CONSTRAINT.findall(sql)
        if name not in widened
    ]
    rest = _DROPPED_CONSTRAINT.sub("", sql)
    for form, reason in REFUSED.items():
        found += [f"{match[0].strip()}: {reason}" for match in re.finditer(form, rest, re.IGNORECASE)]
    found += [
        f"ADD COLUMN {name}: NOT NULL without a default refuses the rows of the previous version"
        for name, rest_of_it in _ADDED_COLUMN.findall(sql)
        if re.search(r"(?<!\bIS )\bNOT NULL\b", rest_of_it, re.IGNORECASE)
        and not re.search(r"\b(?:DEFAULT|GENERATED)\b", rest_of_it, re.IGNORECASE)
    ]
    return found


def released(changelog: str) -> list[str]:
    """The versions that were released, newest first."""
    return [version for version, is_unreleased in VERSION.findall(changelog) if not is_unreleased]


_ACTS = re.compile(r"\bALTER TABLE (?:IF EXISTS )?(?:ONLY )?(\w+) ([^;]*)", re.IGNORECASE)
_OF_A_COLUMN = re.compile(
    r"\b(?:DROP (?!CONSTRAINT|NOT|DEFAULT)(?:COLUMN )?(?:IF EXISTS )?(\w+)|RENAME (?!TO\b|CONSTRAINT)(?:COLUMN )?(\w+) TO"
    r"|ALTER (?:COLUMN )?(\w+) (?:SET DATA )?TYPE)\b",
    re.IGNORECASE,
)
_OBJECTS = re.compile(
    r"\bDROP (?:TABLE|SEQUENCE|TYPE|VIEW|FUNCTION|TRIGGER|INDEX)(?: CONCURRENTLY)?(?: IF EXISTS)? ([\w, ]+)",
    re.IGNORECASE,
)


def removed(text: str) -> Iterator[tuple[str, str | None]]:
    """Each table or other object that a migration removes, renames or retypes, or a column with its table."""
    sql = re.sub(r"\s+", " ", re.sub(r"--[^\n]*|#[^\n]*", "", text))
    for names in _OBJECTS.findall(sql):
        for name in names.split(","):
            yield name.split()[0], None
    for table, acts in _ACTS.findall(sql):
        if re.match(r"RENAME TO\b", acts, re.IGNORECASE):
            yield table, None
        for found in _OF_A_COLUMN.findall(acts):
            yield table, next(filter(None, found))


def faults(text: str, changelog: str, earlier: set[str], records: Mapping[str, Uses]) -> list[str]:
    """The findings that no version excuses; `earlier`: the migrations before this one, `records`: what the code of a version uses."""
    mark = MARK.search(text)
    if mark is None:
        return findings(text)
    versions = released(changelog)
    if mark[1] not in (versions or earlier):
        known = "the changelog has no released version" if versions else "there is no earlier migration"
        return [f'unused_since = "{mark[1]}": {known} of that number']
    since = versions[: versions.index(mark[1]) + 1] if versions else [mark[1]]
    return [
        *(
            f"tests/house/schema_uses/{version}.txt is missing: write it with the code of that version"
            f" (python -m tests.house.schema_uses {version})"
            for version in since
            if version not in records
        ),
        *(
            f"{'.'.join(filter(None, (name, column)))}: the code of {version} uses it"
            for version in since
            for name, column in removed(text)
            if version in records and is_used(records[version], name, column)
        ),
    ]


def is_used(uses: Uses, name: str, column: str | None) -> bool:
    return uses.has(name, column) or (column is None and name in uses.others)


def recorded(directory: Path) -> dict[str, Uses]:
    return {file.stem: read_record(file.read_text()) for file in directory.glob("*.txt")}


def test_each_migration_only_adds():
    changelog = (ROOT / "CHANGELOG.md").read_text()
    paths = {path.name[:10]: path for path in sorted(MIGRATIONS.glob("[0-9]*.py"))}
    found = {
        path.name: faults(
            path.read_text(), changelog, {other for other in paths if other < number}, recorded(RECORDS)
        )
        for number, path in paths.items()
        if number > LAST_BEFORE_THE_RULE
    }
    assert {name: errors for name, errors in found.items() if errors} == {}


def test_the_names_that_the_code_of_each_release_uses_are_recorded():
    missing = [
        version
        for version in released((ROOT / "CHANGELOG.md").read_text())
        if version not in recorded(RECORDS)
    ]
    assert missing == [], f"python -m tests.house.schema_uses {' '.join(missing)}"


def test_the_rule_begins_where_the_first_release_does():
    names = [path.name[:10] for path in MIGRATIONS.glob("[0-9]*.py")]
    assert LAST_BEFORE_THE_RULE in names
    assert VERSION.findall((ROOT / "CHANGELOG.md").read_text())


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE ledger_hold",
        "drop table if exists ledger_hold",
        "ALTER TABLE a DROP COLUMN b",
        "ALTER TABLE a DROP b;",
        "ALTER TABLE a ADD COLUMN x text, DROP COLUMN IF EXISTS b",
        "ALTER TABLE a DROP CONSTRAINT a_b_check",
        "DROP INDEX a_b",
        "ALTER TABLE a RENAME COLUMN b TO c",
        "ALTER TABLE a RENAME TO b",
        "ALTER TABLE a ALTER COLUMN b TYPE bigint",
        "ALTER TABLE a ALTER b SET DATA TYPE bigint",
        "ALTER TABLE a ALTER COLUMN b SET NOT NULL",
        "ALTER TABLE a ALTER COLUMN b DROP DEFAULT",
        "ALTER TABLE a ADD COLUMN b text NOT NULL",
        "ALTER TABLE a ADD COLUMN b numeric(38, 0) CHECK (b IN (1, 2)) NOT NULL, ADD COLUMN c text",
        "TRUNCATE a",
        "DROP SEQUENCE a_id_seq",
        "DROP FUNCTION ledger_apply(bigint, text)",
        "DROP VIEW IF EXISTS a",
    ],
)
def test_what_the_previous_version_does_not_bear_is_found(statement: str):
    assert len(findings(f'op.execute("""{statement};""")')) == 1


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE a (id bigint NOT NULL, b text NOT NULL)",
        "ALTER TABLE a ADD COLUMN b text",
        "ALTER TABLE a ADD COLUMN b integer NOT NULL DEFAULT 0, ADD COLUMN c text CHECK (c <> '')",
        "ALTER TABLE a DROP CONSTRAINT a_check, ADD CONSTRAINT a_check CHECK (b IN ('x', 'y'))",
        "CREATE UNIQUE INDEX a_b ON a (b) WHERE c IS NOT NULL",
        "ALTER TABLE a ADD COLUMN b text CHECK (b IS NOT NULL OR c)",
        "-- DROP TABLE a",
        "COMMENT ON TABLE a IS 'what drops'",
    ],
)
def test_an_addition_is_borne(statement: str):
    assert findings(f'op.execute("""\n{statement}\n""")') == []


UNUSED = Uses({"a": frozenset({"x"}), "b": frozenset({"gone"})}, frozenset({"a_used"}))
CHANGELOG = "# Changelog\n\n## 0.3.0, unreleased\n\n## 0.2.0\n\n## 0.1.0\n"
REMOVAL = 'unused_since = "{}"\nop.execute("""{}""")'


def test_a_removal_is_excused_by_a_released_version_alone():
    records = dict.fromkeys(("0.1.0", "0.2.0", "0.2.1", "0.3.0", "2026113001"), UNUSED)
    assert faults(REMOVAL.format("0.2.0", "DROP TABLE c"), CHANGELOG, set(), records) == []
    for version in ("0.3.0", "0.2.1", "2026113001", ""):
        assert len(faults(REMOVAL.format(version, "DROP TABLE c"), CHANGELOG, {"2026113001"}, records)) == 1


def test_before_the_first_release_a_removal_is_excused_by_an_earlier_schema():
    changelog = "# Changelog\n\n## 0.1.0, unreleased\n"
    records = dict.fromkeys(("0.1.0", "2026113001", "2026113002"), UNUSED)
    assert faults(REMOVAL.format("2026113001", "DROP TABLE c"), changelog, {"2026113001"}, records) == []
    for version in ("0.1.0", "2026113002"):
        assert len(faults(REMOVAL.format(version, "DROP TABLE c"), changelog, {"2026113001"}, records)) == 1


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("DROP TABLE a", "a"),
        ("DROP TABLE IF EXISTS c, a CASCADE", "a"),
        ("ALTER TABLE a DROP COLUMN x", "a.x"),
        ("ALTER TABLE IF EXISTS a DROP y, DROP COLUMN IF EXISTS x", "a.x"),
        ("ALTER TABLE a RENAME COLUMN x TO y", "a.x"),
        ("ALTER TABLE a RENAME TO d", "a"),
        ("ALTER TABLE a ALTER COLUMN x TYPE bigint", "a.x"),
        ("DROP FUNCTION a_used(bigint, text)", "a_used"),
        ("DROP INDEX CONCURRENTLY IF EXISTS a_used", "a_used"),
    ],
)
def test_a_removal_of_a_name_that_the_code_of_the_stated_version_uses_is_refused(statement: str, named: str):
    found = faults(REMOVAL.format("0.2.0", statement), CHANGELOG, set(), {"0.2.0": UNUSED})
    assert found == [f"{named}: the code of 0.2.0 uses it"]


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE c",
        "ALTER TABLE a DROP COLUMN gone",
        "ALTER TABLE a DROP CONSTRAINT a_used_check, DROP COLUMN gone",
        "ALTER TABLE a RENAME COLUMN gone TO x",
        "DROP FUNCTION a_gone(bigint)",
    ],
)
def test_a_column_is_judged_by_its_table(statement: str):
    assert faults(REMOVAL.format("0.2.0", statement), CHANGELOG, set(), {"0.2.0": UNUSED}) == []


def test_a_name_that_a_later_release_uses_again_is_refused_and_so_is_a_release_without_a_record():
    removal = REMOVAL.format("0.1.0", "DROP TABLE a")
    unused = Uses({}, frozenset())
    assert faults(removal, CHANGELOG, set(), {"0.1.0": unused, "0.2.0": UNUSED}) == [
        "a: the code of 0.2.0 uses it"
    ]
    [missing] = faults(removal, CHANGELOG, set(), {"0.1.0": unused})
    assert missing.startswith("tests/house/schema_uses/0.2.0.txt is missing")
