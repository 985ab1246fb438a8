"""Objects that each registry or process has once are made in one place."""

import ast
from collections.abc import Iterator
from pathlib import Path

from hansa.doors.assembly import ASSEMBLY

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "hansa"


def calls_of(name: str, folder: Path) -> Iterator[str]:
    """Yield the files below `folder` that call `name`, alone or as an attribute, once for each call."""
    for file in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and name == (
                node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)
            ):
                yield file.relative_to(folder).as_posix()


def test_the_fees_of_a_registry_are_those_of_its_book():
    assert list(calls_of("FeePolicy", SOURCE)) == ["rooms/ledger/book.py"]


def test_each_call_is_found(tmp_path: Path):
    (tmp_path / "a.py").write_text("policy = ledger.FeePolicy()\nother = FeePolicy()\n")
    assert list(calls_of("FeePolicy", tmp_path)) == ["a.py", "a.py"]


def test_a_slot_that_builds_its_value_is_in_no_descriptor():
    offered = {slot for room in ASSEMBLY.rooms for slot in room.offers}
    filled = {filling.slot for room in ASSEMBLY.rooms for filling in room.fills}
    assert [slot.name for slot in offered | filled if slot.build is not None] == []


def test_the_registry_has_one_signatory():
    assert list(calls_of("Signatory", SOURCE)) == ["rooms/federation/charter/signatory.py"]
