"""Rules of a suite, and the outcomes that end one: broken, or not checked.

A check returns its finding in one line. It raises `Broken` where the implementation does otherwise than the rule says, and
`NotChecked` where an earlier rule failed or the implementation has nothing to check.
"""

from collections.abc import Callable, Collection
from typing import Any

import msgspec

from hansa.doors.conformance.calling import Answer, Broken
from hansa_verify import Decision

CLIENT_ERRORS = range(400, 500)


class NotChecked(Exception):
    """The rule cannot be checked; the message is the reason in one line."""


class Rule(msgspec.Struct, frozen=True):
    """A rule: its id, its sentence, and the check of a suite's subject."""

    id: str
    sentence: str
    check: Callable[[Any], str]


def require(holds: object, otherwise: str) -> None:
    """Raises: Broken, with the sentence `otherwise`, unless `holds`."""
    if not holds:
        raise Broken(otherwise)


def require_status(answer: Answer, expected: Collection[int]) -> None:
    """Raises: Broken when the answer has none of the expected status codes."""
    listed = " or ".join(map(str, sorted(expected)))
    require(answer.status in expected, f"{answer.name}: expected {listed}, got {answer.status}")


def require_refused(answer: Answer) -> None:
    """Raises: Broken when the answer is not that of a faulty request: 400 to 499."""
    require(answer.status in CLIENT_ERRORS, f"{answer.name}: expected 400 to 499, got {answer.status}")


def step_of(verdict: Decision, name: str) -> str:
    """The finding of one step of a verdict. Raises: Broken, NotChecked."""
    step = next((step for step in verdict.steps if step.name == name), None)
    if step is None:
        raise NotChecked(f"the verifier ended before the step {name}: {verdict.code}")
    require(step.holds, step.said)
    return step.said
