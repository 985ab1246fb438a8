"""Recompute the scores of a registry from its export: all pages behind an address, or one file that holds the whole.

- As of a day, the events before that day give its scores; a registry states those of its newest day alone.
- An export of that day that somebody kept states them too: newer events must give the same.
"""

import json
from datetime import date
from typing import Any
from urllib.parse import urlencode

import msgspec

from hansa.doors.verification.cards import CannotRead, read_source
from hansa_verify import (
    FORMULA,
    NotASignal,
    NotCanonical,
    Score,
    Signal,
    read_json,
    read_signal,
    scores_of,
)


class ReputationVerdict(msgspec.Struct, frozen=True):
    """The scores of an epoch as computed here, and those that the registry states.

    `unknown` says why there are no scores to compare with.
    """

    epoch: str | None
    scores: dict[str, Score]
    stated: dict[str, int]
    unknown: str | None = None

    @property
    def differing(self) -> list[str]:
        """The agents whose stated score is another one; an agent that is not computed here has a score of 0."""
        if self.unknown is not None:
            return []
        agents = self.scores.keys() | self.stated.keys()
        return sorted(agent for agent in agents if self._computed(agent) != self.stated.get(agent, 0))

    @property
    def is_valid(self) -> bool:
        return not self.differing and self.unknown is None

    @property
    def code(self) -> str:
        """`verified`, `differing`, or `unverified` where the scores of the day are not stated."""
        if self.unknown is not None:
            return "unverified"
        return "differing" if self.differing else "verified"

    @property
    def text(self) -> str:
        """A line for each agent, and the outcome."""
        differing, mark = set(self.differing), "ok  " if self.unknown is None else "    "
        lines = [
            f"{'FAIL' if agent in differing else mark} {agent}: {score.score} {score.grade}"
            for agent, score in sorted(self.scores.items())
        ]
        last = self.unknown or f"{len(differing)} of {len(self.scores)} scores differ"
        return "\n".join([*lines, last])

    @property
    def members(self) -> dict[str, Any]:
        """The verdict for a program."""
        scores = {
            agent: {"score": score.score, "grade": score.grade}
            for agent, score in sorted(self.scores.items())
        }
        members = {"valid": self.is_valid, "epoch": self.epoch, "scores": scores, "differing": self.differing}
        return members | ({} if self.unknown is None else {"reason": self.unknown})

    def _computed(self, agent: str) -> int:
        return self.scores[agent].score if agent in self.scores else 0


def verify_export(source: str, at: date | None = None, stated: str | None = None) -> ReputationVerdict:
    """The verdict on an export, or on the scores of an earlier day by its events and the export `stated`. Raises: CannotRead."""
    export = _whole(source)
    epoch = date.fromisoformat(export.epoch) if export.epoch else None
    declared = export if stated is None else _whole(stated)
    day = at or (date.fromisoformat(declared.epoch) if stated and declared.epoch else epoch)
    if day is None:
        return ReputationVerdict(None, {}, declared.scores)
    unknown = None
    if epoch is None or day > epoch:
        unknown = f"the export has the events before {export.epoch}, not all before {day}"
    elif declared.epoch != day.isoformat():
        unknown = f"the scores of {day} are not stated: an export of that day is required (--stated)"
    scores = scores_of(export.signals, day)
    return ReputationVerdict(day.isoformat(), scores, declared.scores, unknown)


class _Export(msgspec.Struct, frozen=True):
    """All pages of an export."""

    epoch: str | None
    signals: list[Signal]
    scores: dict[str, int]


def _whole(source: str) -> _Export:
    events: list[Any] = []
    declared: dict[str, int] = {}
    epoch = None
    query = ""
    while True:
        page = _page(source + query)
        if query and page["epoch"] != epoch:
            raise CannotRead(f"{source} changed while it was read; read it again.")
        epoch = page["epoch"]
        try:
            events += page["events"]
            declared |= {one["agent_did"]: one["score"] for one in page["scores"]}
            if page["next"] is None:
                break
            query = "?" + urlencode(page["next"])
        except (LookupError, TypeError, ValueError) as error:
            raise CannotRead(f"{source} holds no export: {error}.") from None
    try:
        signals = [signal for signal in map(read_signal, events) if signal]
        if epoch is not None:
            date.fromisoformat(epoch)
    except (NotASignal, TypeError, ValueError) as error:
        raise CannotRead(f"{source} holds no export: {error}.") from None
    return _Export(epoch, signals, declared)


def _page(source: str) -> dict[str, Any]:
    try:
        page: Any = read_json(read_source(source))
    except NotCanonical as error:
        raise CannotRead(f"{source} holds no export: {error}.") from None
    if not isinstance(page, dict) or not {"events", "scores", "epoch", "next"} <= page.keys():
        raise CannotRead(f"{source} holds no export: expected events, scores, epoch and next.")
    if page.get("formula") != FORMULA:
        raise CannotRead(f"{source} uses the formula {json.dumps(page.get('formula'))}, expected {FORMULA}.")
    return page
