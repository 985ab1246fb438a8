"""Judge whether a registry stated that an agent earned an achievement: a signed document of its own type."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from .canonical import read_moment
from .card import DocumentEvaluation, Verdict
from .keys import CLOCK_SKEW, RegistryKey
from .steps import Refusal

ACHIEVEMENT_KIND = "agent.achievement.v1"
ACHIEVEMENT_TYPE = "agent-achievement+jws"
_MEMBERS = {
    "kind": str,
    "registry": str,
    "did": str,
    "code": str,
    "earned_at": str,
    "event_seq": int,
    "dashed": bool,
}


def verify_achievement(
    text: bytes | str, keys: Sequence[RegistryKey], *, at: datetime | None = None
) -> Verdict:
    """Judge the text of a statement by the keys of its registry, as of `at`. Never raises."""
    judged = _AchievementEvaluation(text, keys, ACHIEVEMENT_TYPE, at)
    code, steps = judged.take()
    if code != "verified":
        return Verdict(code, steps)
    return Verdict(code, steps, judged.card, judged.signer.kid, judged.signed_at)


class _AchievementEvaluation(DocumentEvaluation):
    def kind(self) -> str:
        stated = {name: type(member) for name, member in self.card.items()}
        if stated != _MEMBERS or self.card["kind"] != ACHIEVEMENT_KIND or self.card["event_seq"] < 1:
            raise Refusal("malformed", f"a statement has the kind {ACHIEVEMENT_KIND} and its seven members")
        return f"{self.card['did']} earned {self.card['code']}"

    def earned(self) -> str:
        """A registry cannot state what is yet to be earned."""
        earned_at = read_moment(self.card["earned_at"])
        if earned_at is None:
            raise Refusal("malformed", "earned_at is a time with an offset")
        if earned_at > self.signed_at + CLOCK_SKEW:
            raise Refusal("from_the_future", f"earned at {self.card['earned_at']}, after the signature")
        return f"earned at {self.card['earned_at']}"

    steps: tuple[Callable[[Any], str], ...] = (*DocumentEvaluation.steps, kind, earned)
