"""Parameters of a replay: the values of `--with`, judged by the bounds of governance, above the values that were in force."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from hansa.foundation.plumbing import parameters
from hansa.foundation.plumbing.settings import (
    GovernedValues,
    Knowledge,
    Settings,
    Turn,
    Value,
    fault_over_time,
)
from hansa.foundation.values.errors import Invalid
from hansa.rooms import ledger

FEES = ("fee_base_rate_percent", "fee_max_rate_percent")
REPLAYED = FEES
"""Parameters that change what a replay computes."""
_FOREVER = datetime.max.replace(tzinfo=UTC) - timedelta(days=1)


class ReplayRefused(Invalid):
    """The replay cannot be made with these options."""

    sentence = "The replay cannot be made with these options."


def changes_of(given: Sequence[str]) -> dict[str, Value]:
    """The values of `name=value` parts, separated by commas, by the name of the parameter.

    Raises: ReplayRefused, ParameterUnknown, ParameterValueInvalid.
    """
    changes: dict[str, Value] = {}
    for part in (one.strip() for text in given for one in text.split(",")):
        name, sign, value = (word.strip() for word in part.partition("="))
        name = name.lower()
        if not sign or not name or not value:
            raise ReplayRefused(f"--with takes name=value, got {part[:80]!r}.")
        if name in changes:
            raise ReplayRefused(f"--with names {name[:80]} twice.")
        if name in parameters.NAMES and name not in REPLAYED:
            raise ReplayRefused(
                f"{name} changes nothing that a replay recomputes; it recomputes with {', '.join(REPLAYED)}."
            )
        changes[name] = parameters.value_of(name, value)
    return changes


class Course:
    """Values over time: those of the settings, those of governance, and above both those that the replay changes."""

    def __init__(self, settings: Settings, turns: Sequence[Turn], changes: Mapping[str, Value]) -> None:
        self._book = ledger.Book.of(settings)
        self._stated = {**settings.governed.stated, **changes}
        self._turns = tuple(turn for turn in turns if turn.name not in changes)
        self._knowledge = Knowledge(self._turns)
        self._books: dict[tuple[Value, ...], ledger.Book] = {}

    def require_fitting(self, since: datetime) -> None:
        """Require that the values fit together from a moment on. Raises: ParameterCombinationRefused."""
        if fault := fault_over_time(self._stated, self._turns, since):
            raise parameters.ParameterCombinationRefused(f"The values do not fit together: {fault}.")

    def values_at(self, moment: datetime) -> dict[str, Value]:
        """The values of a moment of the period, by name."""
        return {**self._stated, **self._knowledge.overlay(moment)}

    def book_at(self, moment: datetime) -> ledger.Book:
        """The book with the rates of a moment, the same one wherever they are the same."""
        values = self.values_at(moment)
        rates = tuple(values[name] for name in FEES)
        if rates not in self._books:
            governed = GovernedValues(values)
            governed.learn(Knowledge((), _FOREVER))
            self._books[rates] = replace(self._book, governed=governed)
        return self._books[rates]
