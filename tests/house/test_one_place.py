"""Objects that each registry or process has once are made in one place."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from hansa.doors.assembly import ASSEMBLY

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "hansa"
CLOCK = "foundation/plumbing/storage/clock.py"

_TIME = re.compile(r"\b(?:clock_timestamp|statement_timestamp|transaction_timestamp|now)\(\)")
_PLAIN = re.compile(
    r"\bSELECT\b|date_trunc\('\w+',|\bfloor\b|extract\(epoch FROM|AT TIME ZONE '\w+'|::\w+|\$\d|[()+\s-]"
)


def parsed_with(pattern: re.Pattern[str], folder: Path) -> Iterator[tuple[Path, ast.Module]]:
    """Yield the files below `folder` whose text has the pattern, parsed; parsing all of them takes seconds."""
    for file in sorted(folder.rglob("*.py")):
        if pattern.search(text := file.read_text()):
            yield file, ast.parse(text)


def calls_of(name: str, folder: Path) -> Iterator[str]:
    """Yield the files below `folder` that call `name`, alone or as an attribute, once for each call."""
    for file, tree in parsed_with(re.compile(name), folder):
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and name == (
                node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)
            ):
                yield file.relative_to(folder).as_posix()


def test_the_fees_of_a_registry_are_those_of_its_settings():
    assert list(calls_of("FeePolicy", SOURCE)) == ["rooms/ledger/rules.py"]


def test_each_call_is_found(tmp_path: Path):
    (tmp_path / "a.py").write_text("policy = ledger.FeePolicy()\nother = FeePolicy()\n")
    assert list(calls_of("FeePolicy", tmp_path)) == ["a.py", "a.py"]


def test_a_slot_that_builds_its_value_is_in_no_descriptor():
    offered = {slot for room in ASSEMBLY.rooms for slot in room.offers}
    filled = {filling.slot for room in ASSEMBLY.rooms for filling in room.fills}
    assert [slot.name for slot in offered | filled if slot.build is not None] == []


def test_the_registry_has_one_signatory():
    assert list(calls_of("Signatory", SOURCE)) == ["rooms/federation/charter/signatory.py"]


def is_time_alone(statement: str) -> bool:
    """Return True for a statement that reads the time of the database and nothing else."""
    return (
        statement.startswith("SELECT")
        and _TIME.search(statement) is not None
        and not _PLAIN.sub("", _TIME.sub("", statement))
    )


def statements_of_the_time(folder: Path) -> Iterator[str]:
    """Yield the files below `folder` with a statement that reads the time of the database and nothing else."""
    for file, tree in parsed_with(_TIME, folder):
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and is_time_alone(node.value):
                yield file.relative_to(folder).as_posix()


def test_the_time_of_the_database_is_read_in_one_file():
    assert set(statements_of_the_time(SOURCE)) == {CLOCK}


@pytest.mark.parametrize(
    ("statement", "is_found"),
    [
        ("SELECT clock_timestamp()", True),
        ("SELECT date_trunc('second', now()) + $1", True),
        ("SELECT floor(extract(epoch FROM clock_timestamp()))::bigint", True),
        ("SELECT now() AS as_of, count(*) FROM catalogue_visit", False),
        ("SELECT clock_timestamp() - at FROM catalogue_visit", False),
    ],
)
def test_a_statement_of_the_time_alone_is_found(statement: str, is_found: bool, tmp_path: Path):
    (tmp_path / "a.py").write_text(f'SQL = "{statement}"\n')
    assert list(statements_of_the_time(tmp_path)) == ["a.py"] * is_found
