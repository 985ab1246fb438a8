"""Parameters of a replay: the values of `--with`, judged by the bounds of governance, above the values that were in force."""

from collections.abc import Collection, Mapping, Sequence
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
from hansa.rooms import governance, ledger

MODES = ("bond_mode", "peer_trust_mode")
"""Settings that votes do not change, with the values of each."""
MODE_VALUES = ("off", "observe", "enforce")
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
        changes[name] = _value_of(name, value)
    return changes


def _value_of(name: str, text: str) -> Value:
    if name in MODES:
        if text.lower() not in MODE_VALUES:
            raise ReplayRefused(f"{name}: the value must be {', '.join(MODE_VALUES)}, got {text[:80]!r}.")
        return text.lower()
    if name in parameters.NAMES and name not in governance.REPLAYED:
        names = ", ".join((*governance.REPLAYED, *MODES))
        raise ReplayRefused(f"{name} changes nothing that a replay recomputes; it recomputes with {names}.")
    return parameters.value_of(name, text)


class Course:
    """Values over time: those of the settings, those of governance, and above both those that the replay changes."""

    def __init__(self, settings: Settings, turns: Sequence[Turn], changes: Mapping[str, Value]) -> None:
        self.changes = changes
        self._settings = settings
        self._book = ledger.Book.of(settings)
        governed = {name: value for name, value in changes.items() if name not in MODES}
        self._stated = {**settings.governed.stated, **governed}
        self._turns = tuple(turn for turn in turns if turn.name not in changes)
        self._knowledge = Knowledge(self._turns)
        self._settings_of: dict[tuple[Value, ...], Settings] = {}
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
        rates = tuple(values[name] for name in governance.FEES)
        if rates not in self._books:
            governed = GovernedValues(values)
            governed.learn(Knowledge((), _FOREVER))
            self._books[rates] = replace(self._book, governed=governed)
        return self._books[rates]

    def settings_at(self, moment: datetime) -> Settings:
        """The settings of a moment, the same object wherever their values are the same."""
        values = self.values_at(moment)
        key = tuple(values[name] for name in sorted(values))
        if key not in self._settings_of:
            self._settings_of[key] = self._settings.model_copy(update=values)
        return self._settings_of[key]

    def enforces(self, mode: str, governed: Collection[str]) -> bool:
        """Return whether this mode, or one of the settings that it enforces, is changed, and enforced then."""
        value = self.changes.get(mode, getattr(self._settings, mode))
        return value == "enforce" and not self.changes.keys().isdisjoint({mode, *governed})
