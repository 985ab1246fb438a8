"""Runs a suite and reports the result of each rule, in the order of the rules."""

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from hansa.doors.conformance import attestations, card, payments
from hansa.doors.conformance.calling import Broken, Host
from hansa.doors.conformance.facilitator import Facilitator, Parties
from hansa.doors.conformance.rules import NotChecked, Rule

MARKS = {"holds": "ok  ", "broken": "FAIL", "not checked": "--  "}


class Suite(msgspec.Struct, frozen=True):
    """A suite: its subject is made of the host and the options of the suite, and each rule is a check of it."""

    subject: Callable[..., Any]
    rules: tuple[Rule, ...]


SUITES = {
    "card": Suite(card.ServedCard, card.RULES),
    "attestations": Suite(attestations.ServedChain, attestations.RULES),
    "payments": Suite(Facilitator, payments.RULES),
}


class Result(msgspec.Struct, frozen=True):
    """Outcome of one rule, and the finding."""

    id: str
    sentence: str
    outcome: Literal["holds", "broken", "not checked"]
    said: str


class Report(msgspec.Struct, frozen=True):
    """Results of a suite at one address."""

    suite: str
    url: str
    results: tuple[Result, ...]

    @property
    def conforms(self) -> bool:
        """True when no rule is broken and at least one holds."""
        outcomes = {result.outcome for result in self.results}
        return "broken" not in outcomes and "holds" in outcomes

    def count(self, outcome: str) -> int:
        """Number of rules with this outcome."""
        return sum(result.outcome == outcome for result in self.results)

    def text(self) -> str:
        """A line for each rule, and a last one with their numbers."""
        lines = [
            f"{MARKS[one.outcome]} {one.id} {one.sentence}{'' if one.outcome == 'holds' else f' ({one.said})'}"
            for one in self.results
        ]
        numbers = ", ".join(f"{self.count(outcome)} {outcome}" for outcome in MARKS)
        return "\n".join([*lines, f"{'conforms' if self.conforms else 'does not conform'}: {numbers}"])

    def members(self) -> dict[str, Any]:
        """The report for a program."""
        return {
            "suite": self.suite,
            "url": self.url,
            "conforms": self.conforms,
            "rules": [msgspec.to_builtins(result) for result in self.results],
        }


def conformance(name: str, url: str, *options: Parties) -> Report:
    """Check every rule of a suite at an address. Raises: CannotRead when the host cannot be reached."""
    suite = SUITES[name]
    subject = suite.subject(Host(url), *options)
    return Report(name, url, tuple(_result(rule, subject) for rule in suite.rules))


def _result(rule: Rule, subject: Any) -> Result:
    try:
        return Result(rule.id, rule.sentence, "holds", rule.check(subject))
    except Broken as failure:
        return Result(rule.id, rule.sentence, "broken", str(failure))
    except NotChecked as reason:
        return Result(rule.id, rule.sentence, "not checked", str(reason))
