"""Requests of a client of the registry and their answers, on disk before it goes on: the client's own evidence.

One JSON object a line, each forced to disk: a request before it is sent, its outcome after the answer.
"""

import json
import os
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

IN_PROGRESS = "IDEMPOTENCY_KEY_IN_PROGRESS"
TOKEN_USED = "BOOTSTRAP_TOKEN_USED"


class Outcome(StrEnum):
    """Outcome of an operation, as the client knows it."""

    ACKNOWLEDGED = "acknowledged"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Answer:
    """Answer to a request: `text` is the body as it came, `retry_after` and `replayed` come from headers."""

    status: int
    text: str
    retry_after: bool = False
    replayed: bool = False

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    @property
    def confirms(self) -> bool:
        """Return whether it confirms that the operation is done, now or before."""
        return self.is_success or TOKEN_USED in self.text

    @property
    def decides(self) -> bool:
        return self.confirms or (400 <= self.status < 500 and IN_PROGRESS not in self.text)


@dataclass(frozen=True)
class Attempt:
    """One sending. Without an answer the operation may have happened, unless nobody took the request."""

    answer: Answer | None
    was_sent: bool = True

    @property
    def decides(self) -> bool:
        return self.answer.decides if self.answer else not self.was_sent


@dataclass
class Operation:
    """One thing asked for under one key, perhaps several times; `kind` is `transfer` or `create_agent`."""

    key: str
    kind: str
    request: dict[str, Any]
    attempts: list[Attempt] = field(default_factory=list)

    @property
    def successes(self) -> list[Answer]:
        return [attempt.answer for attempt in self.attempts if attempt.answer and attempt.answer.is_success]

    @property
    def outcome(self) -> Outcome:
        if any(attempt.answer and attempt.answer.confirms for attempt in self.attempts):
            return Outcome.ACKNOWLEDGED
        # A refusal settles earlier silence: the first request was over before its repetition was judged.
        return Outcome.REFUSED if self.attempts and self.attempts[-1].decides else Outcome.UNKNOWN


class History:
    """The file, open for writing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("a")
        self._asked = 0

    def ask(self, key: str, kind: str, request: dict[str, Any]) -> int:
        """Record that a request is about to leave; returns the number of the asking."""
        self._asked += 1
        self._write({"ask": self._asked, "key": key, "kind": kind, "request": request})
        return self._asked

    def record_answer(self, asked: int, answer: Answer) -> None:
        """Record the answer that was read."""
        self._write({"answered": asked, "answer": vars(answer)})

    def lose(self, asked: int, *, was_sent: bool) -> None:
        """Record that no answer came."""
        self._write({"lost": asked, "was_sent": was_sent})

    def close(self) -> None:
        self._file.close()

    def _write(self, entry: dict[str, Any]) -> None:
        self._file.write(json.dumps(entry) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())


def read_history(path: Path) -> list[Operation]:
    """The operations of a history file, in the order of their first asking."""
    operations: dict[str, Operation] = {}
    asked: dict[int, tuple[str, Attempt]] = {}
    for line in path.read_text().splitlines():
        entry = json.loads(line)
        if "ask" in entry:
            key = entry["key"]
            operations.setdefault(key, Operation(key, entry["kind"], entry["request"]))
            asked[entry["ask"]] = (key, Attempt(None))
        elif "answered" in entry:
            asked[entry["answered"]] = (asked[entry["answered"]][0], Attempt(Answer(**entry["answer"])))
        else:
            asked[entry["lost"]] = (asked[entry["lost"]][0], Attempt(None, was_sent=entry["was_sent"]))
    for key, attempt in asked.values():
        operations[key].attempts.append(attempt)
    return list(operations.values())
