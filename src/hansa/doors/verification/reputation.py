"""Recompute the scores of a registry from its export: all pages behind an address, or one file that holds the whole."""

import json
from datetime import date
from typing import Any
from urllib.parse import urlencode

import msgspec

from hansa.doors.verification.cards import CannotRead, read_source
from hansa_verify import FORMULA, NotASignal, NotCanonical, Score, read_json, read_signal, scores_of


class ReputationVerdict(msgspec.Struct, frozen=True):
    """The scores as computed here, and those that the registry states otherwise."""

    epoch: str | None
    scores: dict[str, Score]
    stated: dict[str, int]

    @property
    def differing(self) -> list[str]:
        """The agents whose stated score is another one; an agent that is not computed here has a score of 0."""
        agents = self.scores.keys() | self.stated.keys()
        return sorted(agent for agent in agents if self._computed(agent) != self.stated.get(agent, 0))

    @property
    def is_valid(self) -> bool:
        return not self.differing

    @property
    def text(self) -> str:
        """A line for each agent, and the outcome."""
        lines = [
            f"{'FAIL' if agent in self.differing else 'ok  '} {agent}: {score.score} {score.grade}"
            for agent, score in sorted(self.scores.items())
        ]
        return "\n".join([*lines, f"{len(self.differing)} of {len(self.scores)} scores differ"])

    @property
    def members(self) -> dict[str, Any]:
        """The verdict for a program."""
        scores = {
            agent: {"score": score.score, "grade": score.grade}
            for agent, score in sorted(self.scores.items())
        }
        return {"valid": self.is_valid, "epoch": self.epoch, "scores": scores, "differing": self.differing}

    def _computed(self, agent: str) -> int:
        return self.scores[agent].score if agent in self.scores else 0


def verify_export(source: str) -> ReputationVerdict:
    """The verdict on an export. Raises: CannotRead."""
    events: list[Any] = []
    declared: dict[str, int] = {}
    epoch = None
    query = ""
    while True:
        page = _page(source + query)
        if query and page["epoch"] != epoch:
            raise CannotRead(f"{source} changed while it was read; read it again.")
        epoch = page["epoch"]
        events += page["events"]
        declared |= {one["agent_did"]: one["score"] for one in page["scores"]}
        if page["next"] is None:
            break
        query = "?" + urlencode(page["next"])
    try:
        signals = [signal for signal in map(read_signal, events) if signal]
        scores = scores_of(signals, date.fromisoformat(epoch)) if epoch else {}
    except (NotASignal, TypeError, ValueError) as error:
        raise CannotRead(f"{source} holds no export: {error}.") from None
    return ReputationVerdict(epoch, scores, declared)


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
