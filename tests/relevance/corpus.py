"""The published cards and the judged queries, as they stand in the files."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HOME = Path(__file__).parent
KINDS = ("name", "task", "synonym", "typo", "multiword", "tag", "non-english", "prefix", "broad")
GRADES = (1, 2, 3)


@dataclass(frozen=True)
class JudgedQuery:
    """Query that a person types, and how good each card is for it; a card without a grade is not wanted."""

    id: str
    q: str
    kind: str
    judgments: dict[str, int]


def cards() -> list[dict[str, Any]]:
    """The agent cards, as their owners would send them."""
    return list(_lines("cards.jsonl"))


def queries() -> list[JudgedQuery]:
    """The queries with their judgments, which name cards by their humanReadableId."""
    return [JudgedQuery(**line) for line in _lines("queries.jsonl")]


def _lines(file: str) -> Iterator[dict[str, Any]]:
    for line in (HOME / file).read_text("utf-8").splitlines():
        yield json.loads(line)
