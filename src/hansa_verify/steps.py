"""Steps of the verdicts, which hold or not, and the refusal that ends a judgement."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

VERIFIED = "verified"


@dataclass(frozen=True)
class Step:
    """One step of a judgement: its name, its result, and the finding."""

    name: str
    holds: bool
    said: str


@dataclass(frozen=True)
class Decision:
    """The outcome: `code` is `verified`, or names the first thing that did not hold."""

    code: str
    steps: tuple[Step, ...]

    @property
    def is_valid(self) -> bool:
        """True when every step holds."""
        return self.code == VERIFIED


class Refusal(Exception):
    """A rule does not hold: the outcome `code`, and the finding. `step` replaces the name of the step."""

    def __init__(self, code: str, said: str, step: str | None = None) -> None:
        super().__init__(said)
        self.code, self.said, self.step = code, said, step


class Unreadable(ValueError):
    """A text or a member has no value of the form that it must have; the message is one line."""


@contextmanager
def refused_as(code: str, prefix: str = "") -> Iterator[None]:
    """Turn an unreadable text inside the block into a refusal with this code."""
    try:
        yield
    except Unreadable as error:
        raise Refusal(code, f"{prefix}{error}") from None


class Evaluation:
    """Decision of a document: each of `steps` is a method that returns its finding, or raises `Refusal`."""

    steps: tuple[Callable[[Any], str], ...]

    def take(self) -> tuple[str, tuple[Step, ...]]:
        """The code and the steps that were taken. The code is that of the first refusal, which ends them."""
        taken: list[Step] = []
        for step in self.steps:
            try:
                taken.append(Step(step.__name__, holds=True, said=step(self)))
            except Refusal as refusal:
                failed = Step(refusal.step or step.__name__, holds=False, said=refusal.said)
                return refusal.code, (*taken, failed)
        return VERIFIED, tuple(taken)


class TextEvaluation(Evaluation):
    """The text of a document, judged by keys of its signer, as of a moment: now unless another is asked for."""

    def __init__(self, text: bytes | str, keys: Sequence[Any], at: datetime | None) -> None:
        self.text, self.keys, self.at = text, keys, at or datetime.now(UTC)


def code_of(steps: Iterable[Step]) -> str:
    """`verified`, or the name of the first step that does not hold."""
    return next((step.name for step in steps if not step.holds), VERIFIED)
