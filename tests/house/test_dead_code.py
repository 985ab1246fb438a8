"""The list for `vulture` stays true."""

import subprocess
import sys
from pathlib import Path

from tests.house import wire

ROOT = Path(__file__).parents[2]


def test_the_members_on_the_wire_are_those_of_the_code():
    assert wire.FILE.read_text() == wire.drawn(), "stale: run `python -m tests.house.wire`"


def test_code_that_nothing_uses_is_seen(tmp_path: Path):
    (tmp_path / "shed.py").write_text("def forgotten():\n    return 1\n")
    found = subprocess.run(
        [sys.executable, "-m", "vulture", str(tmp_path), "--config", str(ROOT / "pyproject.toml")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "unused function 'forgotten'" in found.stdout
