"""Rules of the house that the import contracts cannot see."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from hansa.doors.reference_map import tables
from hansa.foundation.plumbing.settings import Settings
from tests.operation.registry_process import run

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "hansa"

NAMES_THAT_SAY_NOTHING = {
    "service",
    "services",
    "utils",
    "util",
    "helpers",
    "helper",
    "common",
    "manager",
    "misc",
}
# What an agent that serves others imports; it holds no business of the registry.
NAMED_FOR_ITS_USERS = {"hansa_client/service"}
# A path that climbs out of the checkout; the hostile requests of the tests climb to /etc and to x.
OUTSIDE = re.compile(r"(?:\.\./){2,}(?!etc/|x\b)\w")
TREES = ("src", "tests", "bench", "migrations")


def owner_of(file: Path, source: Path) -> str:
    """The room, or the part of the foundation, or the door that a file belongs to."""
    parts = file.relative_to(source).parts
    return parts[1] if len(parts) > 1 else parts[0]


def trespasses(source: Path, owners: dict[str, str]) -> list[str]:
    """Return the places where a file names a table that is not its own; `owners` maps tables to theirs."""
    # A name alone in quotes is a word of its own, not SQL.
    named = re.compile(rf"([\"'])\w+\1|\b({'|'.join(owners)})\b")
    return [
        f"{file.relative_to(source)} names {table}, which is of {owners[table]}"
        for file in sorted([*source.rglob("*.py"), *source.rglob("*.sql")])
        for table in sorted({table for _, table in named.findall(file.read_text()) if table})
        if owner_of(file, source) != owners[table]
    ]


def side_entrances(source: Path) -> Iterator[str]:
    """Yield the places where code reaches past the door of an imported room."""
    offers = {door.parent.name: _exports(door) for door in (source / "rooms").glob("*/__init__.py")}
    for file in sorted(source.rglob("*.py")):
        text = file.read_text()
        if "hansa.rooms import" not in text:
            continue
        tree = ast.parse(text)
        rooms = {
            alias.asname or alias.name: alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module == "hansa.rooms"
            for alias in node.names
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                room = rooms.get(node.value.id)
                if room and node.attr not in offers[room]:
                    yield f"{file.relative_to(source)}:{node.lineno} takes {room}.{node.attr}"


def names_that_say_nothing(directory: Path) -> list[str]:
    """Return the files and folders whose name does not describe their work."""
    return sorted(
        str(path.relative_to(directory))
        for path in directory.rglob("*")
        if path.stem in NAMES_THAT_SAY_NOTHING
        and path.suffix in {"", ".py", ".sql", ".html", ".js"}
        and str(path.relative_to(directory)) not in NAMED_FOR_ITS_USERS
    )


def words_from_outside(directory: Path) -> list[str]:
    """Files that lean on a folder beside the checkout, which nobody else has."""
    return sorted(
        str(file.relative_to(directory))
        for file in directory.rglob("*")
        if file.suffix in {".py", ".toml", ".md", ".sql", ".html", ".js", ".txt", ".in"}
        and file.is_file()
        and OUTSIDE.search(file.read_text())
    )


def _exports(door: Path) -> set[str]:
    for node in ast.parse(door.read_text()).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", None) == "__all__":
            return set(ast.literal_eval(node.value))
    return set()


def _planted(directory: Path, file: str, content: str) -> Path:
    path = directory / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return directory


async def test_the_map_in_the_docs_is_the_map_of_the_code(tmp_path: Path):
    drawn = await run("map", data_dir=tmp_path)
    assert drawn.code == 0, drawn
    assert (ROOT / "docs" / "map.md").read_text() == drawn.output, "docs/map.md is stale: run `make map`"


def test_every_table_is_named_after_its_owner():
    rooms = {room.name for room in (SOURCE / "rooms").iterdir() if room.is_dir()} | {"plumbing"}
    assert [table for table in tables() if table.partition("_")[0] not in rooms] == []


def test_a_table_is_touched_by_its_owner_only():
    assert trespasses(SOURCE, {table: table.partition("_")[0] for table in tables()}) == []


def test_touching_the_table_of_another_room_is_seen(tmp_path: Path):
    source = _planted(tmp_path, "rooms/people/store.py", 'SQL = "SELECT 1 FROM ledger_account"')
    assert trespasses(source, {"ledger_account": "ledger"}) == [
        "rooms/people/store.py names ledger_account, which is of ledger"
    ]


def test_code_takes_from_a_room_only_what_its_door_offers():
    assert list(side_entrances(SOURCE)) == []


def test_reaching_through_a_door_is_seen(tmp_path: Path):
    _planted(tmp_path, "rooms/ledger/__init__.py", '__all__ = ["transfer"]')
    source = _planted(
        tmp_path, "doors/a.py", "from hansa.rooms import ledger\nledger.store.post(ledger.transfer)"
    )
    assert list(side_entrances(source)) == ["doors/a.py:2 takes ledger.store"]


@pytest.mark.parametrize("tree", TREES)
def test_every_file_says_what_it_does(tree: str):
    assert names_that_say_nothing(ROOT / tree) == []


def test_a_name_that_says_nothing_is_seen(tmp_path: Path):
    assert names_that_say_nothing(_planted(tmp_path, "rooms/ledger/utils.py", "")) == [
        "rooms/ledger/utils.py"
    ]


def test_every_setting_is_explained_in_the_guide():
    guide = (ROOT / "docs" / "guides" / "settings.md").read_text()
    variables = [str(field.validation_alias or name.upper()) for name, field in Settings.model_fields.items()]
    missing = [
        variable for variable in variables if not re.search(rf"^\|[^|]*\b{variable}\b", guide, re.MULTILINE)
    ]
    assert missing == [], "docs/guides/settings.md does not explain these"


@pytest.mark.parametrize("tree", [*TREES, "requirements", "docs"])
def test_the_checkout_stands_alone(tree: str):
    assert words_from_outside(ROOT / tree) == []


def test_leaning_on_a_folder_outside_is_seen(tmp_path: Path):
    planted = _planted(tmp_path, "a.py", "open('../" + "../elsewhere/spec.md')")
    assert words_from_outside(planted) == ["a.py"]
