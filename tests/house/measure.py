"""Width of the house: each measure before the redesign of 2026-11-28, in this tree, and its target.

`python -m tests.house.measure` prints the table. A reader counted three of the earlier values by hand (peer
operations, files of a member, files of a settlement); the rule that counts them here stands in `_transports`, `_files_of_a_member`
and `_files_of_a_settlement`.
"""

import ast
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from tests.house.docstrings import (
    Docstring,
    docstrings_of,
    per_thousand_words,
    share_of_refused_beginnings,
)
from tests.house.names_followed import modules_followed

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
ROOMS = SOURCE / "hansa" / "rooms"
RECORDS = ROOT / "docs" / "decisions"

# Former names, each with a path or a defined name in which its second meaning still stands.
FORMER_NAMES = {
    "settlement": r"^commerce/settlements/|^commerce/payments/settlements\.py$",
    "taking in": r"/taking_in\.py$|^take_in$",
    "abroad, across, crossing": r"/abroad/|(/|_)across(/|\.py$)",
    "homes": r"/homes\.py$",
    "gather": r"^Gathering$|/gather(ed|ing_\w+)?\.py$",
    "findings, judge": r"^(Findings|Judgement|judge)$",
    "own": r"^Own[A-Z]|/own(_\w+)?\.py$",
    "kept, shown, stated": r"^(kept|shown|stated)_|^(Kept|Shown|Stated)[A-Z]|/(kept|shown)_\w+\.py$",
    "heat": r"^(heat|paced|hot_payer)$",
    "moment, trouble": r"^(moment|trouble)$",
    "look, act at once, lane": r"^(look|act_at_once|lane)$",
    "silent": r"^(PeerSilent|FrameSilent)$",
}
# Member that commit fe0321af added to the messages of transfers.
MEMBER = re.compile(r"\bpurpose\b")
HANDLERS_OF_MEMBERS = ("rooms/transfers", "rooms/federation/mailbox", "foundation/events")
# Entry of a settlement to another registry, and the packages that carry it; swaps are another subject.
SETTLEMENT = "hansa.rooms.commerce.payments.settlement_worker"
CARRIERS = (
    "hansa.rooms.commerce.payments",
    "hansa.rooms.transfers.crossing",
    "hansa.rooms.federation.mailbox",
)
SWAPS = re.compile(r"swap")


@cache
def _sources() -> tuple[Path, ...]:
    """Files of the house; what others wrote stands in folders named vendor, and pictures have no lines."""
    files = (
        path
        for path in SOURCE.rglob("*")
        if path.is_file() and not {"__pycache__", "vendor"} & set(path.parts) and path.suffix != ".png"
    )
    return tuple(path for path in files if not path.parent.name.endswith(".egg-info"))


@cache
def _contents() -> tuple[list[Docstring], frozenset[str]]:
    """Docstrings and defined names of the sources: every measure that needs them reads a file once."""
    docstrings: list[Docstring] = []
    names: set[str] = set()
    for file in _sources():
        names.add(file.relative_to(ROOMS if file.is_relative_to(ROOMS) else SOURCE).as_posix())
        if file.suffix == ".py":
            tree = ast.parse(file.read_text())
            docstrings += docstrings_of(tree, file)
            names |= set(_defined_names(tree, is_of_schemas=file.name == "schemas.py"))
    return docstrings, frozenset(names)


def _docstrings() -> list[Docstring]:
    return _contents()[0]


def _lines(files: list[Path] | tuple[Path, ...]) -> int:
    return sum(file.read_bytes().count(b"\n") for file in files)


def _transports() -> str:
    """Packages with a file that posts messages to a peer itself; parameters of routes that only a peer calls."""
    posting = {
        file.parent
        for file in ROOMS.rglob("*.py")
        if "call_peer(" in (text := file.read_text()) and '"messages"' in text
    }
    routes = sum(file.read_text().count(": CurrentPeer") for file in ROOMS.rglob("*routes.py"))
    return f"{len(posting)}, {routes} peer operations"


def _files_of_a_member() -> str:
    """Files of the rooms and events that name the member; documents, migrations and those who pass it on are not counted."""
    files = [file for part in HANDLERS_OF_MEMBERS for file in (SOURCE / "hansa" / part).rglob("*")]
    code = [file for file in files if file.suffix in {".py", ".sql"}]
    return str(sum(MEMBER.search(file.read_text()) is not None for file in code))


def _files_of_a_settlement() -> str:
    """Modules that define a name used on the path from the entry, in the packages that carry it."""
    followed = modules_followed(SETTLEMENT, within=CARRIERS)
    return str(len([module for module in followed if not SWAPS.search(module)]))


def _migrations() -> str:
    migrations = sorted((ROOT / "migrations").glob("[0-9]*.py"))
    pages = sorted((ROOT / "migrations" / "baseline").glob("*.sql"))
    return f"{len(migrations)} files, {len(pages)} pages, {_lines([*migrations, *pages]):,} lines"


def _records() -> str:
    records = list(RECORDS.glob("[0-9]*.md"))
    with_status = sum("\nStatus: " in record.read_text() for record in records)
    return f"{len(records)}, {'index' if (RECORDS / 'README.md').exists() else 'no index'}, {with_status} with status"


def _is_model(shape: ast.ClassDef) -> bool:
    return any(isinstance(base, ast.Name) and base.id == "LazyModel" for base in shape.bases)


def _defined_names(tree: ast.Module, *, is_of_schemas: bool) -> Iterator[str]:
    nodes = list(ast.walk(tree))
    # Members of shapes are on the wire, and keep their names.
    members = {
        node.target
        for shape in nodes
        if isinstance(shape, ast.ClassDef)
        for node in shape.body
        if isinstance(node, ast.AnnAssign)
    }
    for node in nodes:
        if isinstance(node, ast.ClassDef) and (is_of_schemas or _is_model(node)):
            # The API description has the shape under this name, which generated clients use.
            continue
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node not in members:
            yield node.id


def former_names() -> list[str]:
    """Return the words of FORMER_NAMES that a path or a defined name still has."""
    _, names = _contents()
    return [word for word, former in FORMER_NAMES.items() if any(re.search(former, name) for name in names)]


def _changelog() -> str:
    lines = (ROOT / "CHANGELOG.md").read_text().splitlines()
    return f"{sum(line.startswith('- ') for line in lines)} bullets, {len(lines)} lines"


def _quick_tests() -> str:
    return (
        "exists"
        if re.search(r"^test-quick:", (ROOT / "Makefile").read_text(), re.MULTILINE)
        else "does not exist"
    )


MEASURES: tuple[tuple[str, str, Callable[[], str], str], ...] = (
    ("lines of src", "157,600", lambda: f"{_lines(_sources()):,}", "≤ 138,000"),
    ("files of src", "1,684", lambda: f"{len(_sources()):,}", "≤ 1,450"),
    ("mechanisms that carry signed messages", "3, 19 peer operations", _transports, "1 mailbox"),
    ("files that handle one member of a federation message", "18", _files_of_a_member, "≤ 8"),
    ("files to follow a settlement to another registry", "about 30", _files_of_a_settlement, "≤ 15"),
    ("migrations", "113 files, 128 holes, 4,866 lines", _migrations, "a page for each room, ≤ 2,200 lines"),
    ("decision records", "179, no index, no status", _records, "about 60, index, each with status"),
    (
        "docstrings that begin with neither a noun nor a verb",
        "18.7 %",
        lambda: f"{share_of_refused_beginnings(_docstrings()):.1%}".replace("%", " %"),
        "< 3 %",
    ),
    (
        '"what" in 1,000 words of docstrings',
        "14.4",
        lambda: f"{per_thousand_words('what', _docstrings()):.1f}",
        "< 4",
    ),
    ("words with more than one meaning", "12", lambda: str(len(former_names())), "0"),
    ("changelog", "338 bullets", _changelog, "one page"),
    ("make test-quick", "does not exist", _quick_tests, "≤ 90 s on two cores"),
)


def table() -> list[tuple[str, str, str, str]]:
    """Return the rows: measure, value before, value now, target."""
    return [(name, before, now(), target) for name, before, now, target in MEASURES]


def main() -> None:
    rows = [("Measure", "Before", "Now", "Target"), *table()]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    print(f"Words with more than one meaning: {'; '.join(former_names()) or 'none'}.")


if __name__ == "__main__":
    main()
