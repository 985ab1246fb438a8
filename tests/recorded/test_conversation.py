"""The registry answers the recorded requests as it did, and its journal holds the same events."""

import difflib
import json
from pathlib import Path

from tests.recorded.conversation import CONVERSATION, EVENTS, hold_conversation, registry_to_record
from tests.registry import DatabaseFarm

REQUESTS_MIN = 400


async def test_the_recorded_requests_are_answered_as_recorded_and_leave_the_same_events(
    database_farm: DatabaseFarm, tmp_path: Path
):
    async with registry_to_record(await database_farm.fresh(), tmp_path) as registry:
        lines, events = await hold_conversation(registry)
    assert sum('"request"' in line for line in lines) >= REQUESTS_MIN
    for file, found in ((CONVERSATION, lines), (EVENTS, events)):
        recorded = file.read_text().splitlines()
        assert first_difference(recorded, found) is None, (
            f"{file.name} differs; if the change is meant, `python -m tests.recorded.record` records it:\n"
            f"{first_difference(recorded, found)}"
        )


def first_difference(recorded: list[str], found: list[str]) -> str | None:
    """The first line that differs, as a diff; None where there is none."""
    for before, after in zip(recorded, found, strict=False):
        if before != after:
            return "\n".join(
                difflib.unified_diff(_pretty(before), _pretty(after), "recorded", "now", n=6, lineterm="")
            )
    if len(recorded) != len(found):
        return f"{len(recorded)} lines are recorded, {len(found)} were found"
    return None


def _pretty(line: str) -> list[str]:
    return json.dumps(json.loads(line), indent=1, ensure_ascii=False).splitlines()
