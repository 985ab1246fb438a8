"""What the verdicts share: steps that hold or not, and the refusal that ends a judgement."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

VERIFIED = "verified"


@dataclass(frozen=True)
class Step:
    """One step of a judgement: what was asked, whether it held, and what was found."""

    name: str
    holds: bool
    said: str


@dataclass(frozen=True)
class Judgement:
    """The outcome: `code` is `verified`, or names the first thing that did not hold."""

    code: str
    steps: tuple[Step, ...]

    @property
    def is_valid(self) -> bool:
        """Whether every step holds."""
        return self.code == VERIFIED


class Refusal(Exception):
    """A rule does not hold: the outcome `code`, and what was found. `step` replaces the name of the step."""

    def __init__(self, code: str, said: str, step: str | None = None) -> None:
        super().__init__(said)
        self.code, self.said, self.step = code, said, step


def take(steps: Iterable[tuple[str, Callable[[], str]]]) -> tuple[str, tuple[Step, ...]]:
    """Take named steps in order, each returns what it found. The code is that of the first refusal, which ends them."""
    taken: list[Step] = []
    for name, step in steps:
        try:
            taken.append(Step(name, holds=True, said=step()))
        except Refusal as refusal:
            failed = Step(refusal.step or name, holds=False, said=refusal.said)
            return refusal.code, (*taken, failed)
    return VERIFIED, tuple(taken)


def code_of(steps: Iterable[Step]) -> str:
    """`verified`, or the name of the first step that does not hold."""
    return next((step.name for step in steps if not step.holds), VERIFIED)
