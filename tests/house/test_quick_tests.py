"""`make test-quick` has a conversation for each room, and every path of its list exists."""

import subprocess
import sys
from pathlib import Path

from hansa.doors.assembly import ASSEMBLY
from tests.quick import CONVERSATIONS, TESTS, quick_paths

ROOT = Path(__file__).parents[2]
ROOMS = ROOT / "src" / "hansa" / "rooms"


def test_each_room_has_a_conversation():
    assert sorted(CONVERSATIONS) == sorted(
        room.name for room in ASSEMBLY.rooms if (ROOMS / room.name).is_dir()
    )
    assert len({*CONVERSATIONS.values()}) == len(CONVERSATIONS)


def test_every_path_exists_and_stands_once():
    assert [path for path in quick_paths() if not (TESTS / path).exists()] == []
    assert len({*quick_paths()}) == len(quick_paths())


def test_the_make_target_runs_the_printed_paths():
    printed = subprocess.run(
        [sys.executable, "-m", "tests.quick"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert [Path(path) for path in printed.stdout.split()] == [TESTS / path for path in quick_paths()]
    recipe = (ROOT / "Makefile").read_text().partition("\ntest-quick:")[2].partition("\n\n")[0]
    assert "$(BIN)/python -m tests.quick" in recipe
