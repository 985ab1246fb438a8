"""The commands that the documents name are those of the program, and each stands in the guide of the command line."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main

from hansa.doors.commands.program import app
from hansa.foundation.plumbing.settings.settings_file import setting_names

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guides" / "command-line.md"
DOCUMENTS = [ROOT / "README.md", ROOT / "Makefile", *sorted((ROOT / "docs" / "guides").glob("*.md"))]
# A command line in a document: after a quote, a prompt, a path or the start of a line.
NAMED = re.compile(r"(?:^|[`/(|] ?|\$ |= )hansa((?: [a-z][a-z0-9-]*)+)", re.MULTILINE)


SET_IN_FRONT = re.compile(r"^\W*((?:[A-Z][A-Z0-9_]*=\S+ )+)(?:\S*/)?hansa ", re.MULTILINE)
"""Variables in front of a command: the next command of the same shell does not have them."""


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


def settings_in_front(text: str) -> set[str]:
    """The settings that a text sets for one command alone."""
    stated = {pair.split("=")[0] for pairs in SET_IN_FRONT.findall(text) for pair in pairs.split()}
    return stated & {*setting_names()}


def examples(group: Any) -> Iterator[str]:
    """The end of the help of each command."""
    for command in getattr(group, "commands", {}).values():
        yield command.epilog or ""
        yield from examples(command)


def test_no_document_and_no_example_sets_a_setting_for_one_command_alone():
    texts = [document.read_text() for document in DOCUMENTS]
    texts += examples(typer.main.get_command(app))
    assert {name for text in texts for name in settings_in_front(text)} == set()


def test_a_setting_in_front_of_a_command_is_seen():
    text = "$ PORT=1 TRUST_DOMAIN=a.example /opt/hansa serve\nHANSA_KEYS_PASSPHRASE=… hansa keys export x\n"
    assert settings_in_front(text) == {"PORT", "TRUST_DOMAIN"}


def test_every_command_stands_in_the_guide():
    guide = GUIDE.read_text()
    leaves = {path for path in PROGRAM if path not in GROUPS}
    # A row names the commands of a group after the first by their last word alone.
    missing = {path for path in leaves if path not in named_in(guide) and f"`{path[-1]}`" not in guide}
    assert missing == set()


def test_a_command_that_does_not_exist_is_seen():
    assert named_in("`hansa mend --all`, `hansa admin remove X`") == {("mend",), ("admin", "remove")}
