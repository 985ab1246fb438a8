"""JavaScript files import files of the tree, and never each other in a circle."""

import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted(
    file
    for folder in ("src", "verify", "client")
    for file in (ROOT / folder).rglob("*.js")
    if "vendor" not in file.parts
)

_IMPORTED = re.compile(r"""(?:\bfrom|\bimport)\s*\(?\s*["'](\.{1,2}/[^"']+)["']""")


def imports_of(script: Path) -> set[Path]:
    """Return the files that `script` imports by a relative path."""
    return {(script.parent / path).resolve() for path in _IMPORTED.findall(script.read_text())}


def circle_among(scripts: list[Path]) -> list[str]:
    """Return the names along one circle of imports, or nothing."""
    try:
        TopologicalSorter({script: imports_of(script) for script in scripts}).prepare()
    except CycleError as error:
        return [script.name for script in error.args[1]]
    return []


def test_each_import_leads_to_a_file():
    assert len(SCRIPTS) > 20
    assert sum(len(imports_of(script)) for script in SCRIPTS) > 50
    assert {
        imported for script in SCRIPTS for imported in imports_of(script) if not imported.is_file()
    } == set()


def test_no_scripts_import_each_other_in_a_circle():
    assert circle_among(SCRIPTS) == []


@pytest.mark.parametrize(
    "statement",
    [
        'import { a } from "./two.js";',
        'import "./two.js";',
        'export * from "./two.js"',
        "await import('./two.js')",
    ],
)
def test_a_circle_is_found_in_each_form_of_import(statement: str, tmp_path: Path):
    one, two = tmp_path / "one.js", tmp_path / "two.js"
    one.write_text(statement)
    two.write_text('import { b } from "./one.js";')
    assert set(circle_among([one, two])) == {"one.js", "two.js"}
