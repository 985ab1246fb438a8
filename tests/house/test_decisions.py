"""Each decision record has its form and a row in the index; each reference to a decision leads to a record."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DECISIONS = ROOT / "docs" / "decisions"
INDEX = DECISIONS / "README.md"
RECORDS = {path.name[:4]: path for path in sorted(DECISIONS.glob("0*.md"))}
FOLDERS = ("src", "tests", "bench", "docs", "client", "deploy", "verify", "migrations")
SUFFIXES = {".css", ".html", ".js", ".lua", ".md", ".py", ".sql", ".toml"}

_ROW = re.compile(r"^\| \[(\d{4})\]\(([\w-]+\.md)\) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
_EARLIER = re.compile(r"^\| (\d{4}) \| [^|]+ \| ([^|]+) \|$", re.MULTILINE)
_TITLE = re.compile(
    r"# (\d{4}) · (.+)\n\nStatus: (accepted|rejected|superseded by \d{4})\nDate: \d{4}-\d\d-\d\d[,\n]"
)
_CODE = re.compile(r"`([\w/.-]+\.(?:py|sql|js|lua|toml|txt))`")
_NUMBER = re.compile(r"\b0\d{3}\b")
_REFERENCE = re.compile(
    r"\bdecisions?\s+\[?(0\d{3}\b(?:\]\([^)]*\))?(?:(?:,| and|, and)\s+\[?0\d{3}\b(?:\]\([^)]*\))?)*)",
    re.IGNORECASE,
)
_FILE = re.compile(r"\bdecisions/(0\d{3}-[\w-]+\.md)")
_LINK = re.compile(r"\]\(([^)#]+)")
_PATH = re.compile(r"`((?:bench/notes|src/hansa/rooms/\w+)/\w+\.md)`")


def documents_named(text: str) -> list[Path]:
    """Return the files that `text`, which is part of a record or of the index, names by link or by path."""
    links = [DECISIONS / link for link in _LINK.findall(text) if not link.startswith("http")]
    return links + [ROOT / path for path in _PATH.findall(text)]


def earlier_numbers() -> dict[str, list[Path]]:
    """Return the files that have the subject of each number without a record."""
    return {number: documents_named(cell) for number, cell in _EARLIER.findall(INDEX.read_text())}


def texts() -> dict[str, str]:
    """Return the texts that may name a decision, by path."""
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in SUFFIXES]
    paths += [*ROOT.glob("*.md"), ROOT / "pyproject.toml", ROOT / "Makefile"]
    skipped = ("/static/vendor/", "tests/recorded/")
    return {
        path.relative_to(ROOT).as_posix(): path.read_text()
        for path in paths
        if path != Path(__file__) and not any(part in path.as_posix() for part in skipped)
    }


def numbers_named(text: str) -> set[str]:
    """Return the numbers after the word "decision"."""
    return {
        number for match in _REFERENCE.finditer(text) for number in re.findall(r"\b0\d{3}\b(?!-)", match[1])
    }


def test_every_record_has_title_status_and_date():
    assert RECORDS
    for number, path in RECORDS.items():
        found = _TITLE.match(path.read_text())
        assert found, f"{path.name} begins with title, status and date"
        assert found[1] == number


def test_every_record_states_its_decision_and_its_consequences():
    assert [
        path.name
        for path in RECORDS.values()
        if not all(f"**{part}.**" in path.read_text() for part in ("Decision", "Consequences"))
    ] == []


def test_the_index_has_each_record_with_its_title_and_status():
    stated = {}
    for path in RECORDS.values():
        found = _TITLE.match(path.read_text())
        assert found
        stated[found[1]] = (path.name, found[2], found[3])
    rows = _ROW.findall(INDEX.read_text())
    assert {number: (name, title, status) for number, name, title, status in rows} == stated
    assert len(rows) == len(stated)


def test_every_earlier_number_leads_to_a_document_and_has_no_record():
    earlier = earlier_numbers()
    assert not earlier.keys() & RECORDS.keys()
    for number, paths in earlier.items():
        assert paths, number
        assert [path for path in paths if not path.is_file()] == [], number


def test_every_reference_to_a_decision_leads_to_a_record():
    known = RECORDS.keys() | earlier_numbers().keys()
    names = {path.name for path in RECORDS.values()}
    found = texts()
    assert [
        f"{path}: {number}" for path, text in found.items() for number in sorted(numbers_named(text) - known)
    ] == []
    assert [
        f"{path}: {name}" for path, text in found.items() for name in _FILE.findall(text) if name not in names
    ] == []


def test_every_number_and_link_in_a_record_leads_to_a_document():
    for path in RECORDS.values():
        text = path.read_text()
        assert set(_NUMBER.findall(text)) <= RECORDS.keys(), path.name
        assert [named for named in documents_named(text) if not named.is_file()] == [], path.name


def test_every_file_of_code_named_in_a_record_is_in_the_tree():
    folders = [ROOT / folder for folder in (*FOLDERS, "requirements")]
    tree = [f"/{path.relative_to(ROOT).as_posix()}" for folder in folders for path in folder.rglob("*.*")]
    named = {(path.name, name) for path in RECORDS.values() for name in _CODE.findall(path.read_text())}
    assert len(named) > 15
    assert sorted(one for one in named if not any(path.endswith(f"/{one[1]}") for path in tree)) == []


def test_references_are_found_in_each_form():
    text = "(decision 0001), decisions 0002, 0003 and 0004, decisions [0005](../decisions/0005-append-only-storage-and-partitions.md), Decision\n0006; 0007"
    assert numbers_named(text) == {"0001", "0002", "0003", "0004", "0005", "0006"}
