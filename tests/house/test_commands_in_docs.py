"""The commands that the documents name are those of the program, and each stands in the guide of the command line."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main

from hansa.doors.commands.program import app

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guides" / "command-line.md"
DOCUMENTS = [ROOT / "README.md", ROOT / "Makefile", *sorted((ROOT / "docs" / "guides").glob("*.md"))]
# A command line in a document: after a quote, a prompt, a path or the start of a line.
NAMED = re.compile(r"(?:^|[`/(|] ?|\$ |= )hansa((?: [a-z][a-z-]*)+)", re.MULTILINE)


def commands(group: Any, *path: str) -> Iterator[tuple[str, ...]]:
    """Every command and group that is shown, by its words after `hansa`."""
    for name, command in getattr(group, "commands", {}).items():
        if not command.hidden:
            yield (*path, name)
            yield from commands(command, *path, name)


PROGRAM = set(commands(typer.main.get_command(app)))
GROUPS = {path[:1] for path in PROGRAM if len(path) > 1}


def named_in(text: str) -> set[tuple[str, ...]]:
    """The commands that a text names: two words after the name of a group, else one."""
    found = (tuple(words.split()) for words in NAMED.findall(text))
    return {path[:2] if path[:1] in GROUPS else path[:1] for path in found}


def test_every_command_in_a_document_exists():
    unknown = {
        f"{document.name}: hansa {' '.join(path)}"
        for document in DOCUMENTS
        for path in named_in(document.read_text())
        if path not in PROGRAM
    }
    assert unknown == set()


def test_every_command_stands_in_the_guide():
    guide = GUIDE.read_text()
    leaves = {path for path in PROGRAM if path not in GROUPS}
    # A row names the commands of a group after the first by their last word alone.
    missing = {path for path in leaves if path not in named_in(guide) and f"`{path[-1]}`" not in guide}
    assert missing == set()


def test_a_command_that_does_not_exist_is_seen():
    assert named_in("`hansa mend --all`, `hansa admin remove X`") == {("mend",), ("admin", "remove")}
