"""Names that the specification gives to routes, events, settings, headers and members exist: what clients rely on is not renamed unseen."""

import re
import tomllib
from pathlib import Path

import pytest

from hansa.foundation.events import event_types
from hansa.foundation.plumbing.settings.settings_file import setting_names

ROOT = Path(__file__).parents[2]
NAMES = tomllib.loads((Path(__file__).parent / "specified_names.toml").read_text())
PARAMETER = re.compile(r"\{[^}]*\}")


def source_words() -> set[str]:
    """Every name in the code of the service."""
    files = [*(ROOT / "src").rglob("*.py"), *(ROOT / "src").rglob("*.sql")]
    return set(re.findall(r"[a-z][\w-]*", "\n".join(file.read_text() for file in files).lower()))


def routes() -> set[str]:
    written = (ROOT / "docs" / "map.md").read_text()
    return {PARAMETER.sub("{}", path) for path in re.findall(r"`(/[^`]*)`", written)}


@pytest.mark.parametrize(
    ("kind", "known"),
    [
        ("paths", routes),
        ("events", lambda: {kind.__name__ for kind in event_types()}),
        ("settings", lambda: set(setting_names())),
        ("headers", source_words),
        ("members", source_words),
    ],
)
def test_every_specified_name_exists(kind: str, known):
    names = {name.lower() for name in NAMES[kind]} if known is source_words else set(NAMES[kind])
    assert sorted(names - known()) == []
    assert len(NAMES[kind]) > 5
