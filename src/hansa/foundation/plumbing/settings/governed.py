"""Settings that governance may change: their bounds, and the changes that a process knows of. No I/O.

- A governed value stands above the environment from its moment on; a change to None leads back to the environment.
- Knowledge of changes is complete for every moment before `until`, by the clock of the database. A process that needs a value
  at or after that moment asks the database.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Literal, TypeAlias, TypeVar, cast

import msgspec

Value: TypeAlias = bool | int | str
"""Decimals are strings."""
Kind: TypeAlias = Literal["decimal", "integer", "boolean"]
T = TypeVar("T")

FRACTION_DIGITS_MAX = 6
"""Fraction digits of a governed decimal: the registry card states rates with so many."""
FEE_BASE_MOST, FEE_MAX_MOST = "2", "10"
_DECIMAL = re.compile(r"[0-9]{1,11}(\.[0-9]{1,8})?", re.ASCII)


class Bounds(msgspec.Struct, frozen=True):
    """Kind of a value, with the least and the greatest that governance may set; booleans have none."""

    kind: Kind
    least: Value | None = None
    most: Value | None = None


GOVERNED: Mapping[str, Bounds] = {
    "bond_maturity_days": Bounds("integer", 1, 365),
    "bond_minimum": Bounds("decimal", "0", "10000"),
    "dispute_evidence_hours": Bounds("integer", 24, 720),
    "dispute_ruling_days": Bounds("integer", 7, 90),
    "dispute_window_hours": Bounds("integer", 24, 720),
    "exchange_fee_bps": Bounds("integer", 0, 200),
    "fee_base_rate_percent": Bounds("decimal", "0", FEE_BASE_MOST),
    "fee_max_rate_percent": Bounds("decimal", "0", FEE_MAX_MOST),
    "mark_min_fee": Bounds("decimal", "0.001", "1"),
    "peer_trust_min_interactions": Bounds("integer", 1, 1_000_000),
    "peer_trust_recover_margin": Bounds("decimal", "0", "1"),
    "peer_trust_restrict_below": Bounds("decimal", "0", "1"),
    "peer_trust_suspend_below": Bounds("decimal", "0", "1"),
    "peer_trust_warn_below": Bounds("decimal", "0", "1"),
    "staking_min_stake_amount": Bounds("decimal", "1", "1000"),
    "staking_rewards_enabled": Bounds("boolean"),
}
"""Settings that governance may change (Specification 7 Z)."""


class Turn(msgspec.Struct, frozen=True):
    """Change of one setting: `value` is in force from `at` on. None: the value of the environment or the default."""

    name: str
    value: Value | None
    at: datetime


class Knowledge(msgspec.Struct, frozen=True):
    """Changes in the order of their moments, complete for every moment before `until`."""

    turns: tuple[Turn, ...] = ()
    until: datetime = datetime.min.replace(tzinfo=UTC)

    def overlay(self, at: datetime) -> dict[str, Value]:
        """Return the governed values in force at a moment."""
        latest = {turn.name: turn.value for turn in self.turns if turn.at <= at}
        return {name: value for name, value in latest.items() if value is not None}


class GovernedValues:
    """Values that the environment states, and the knowledge that one process holds of their changes."""

    def __init__(self, stated: Mapping[str, Value]) -> None:
        self.stated = dict(stated)
        self.knowledge = Knowledge()
        self._derived: dict[Callable[[GovernedValues], Any], Any] = {}

    def learn(self, knowledge: Knowledge) -> None:
        """Take newer knowledge; older one changes nothing."""
        if knowledge.until > self.knowledge.until:
            self.knowledge = knowledge
            self._derived.clear()

    def derived(self, derive: Callable[["GovernedValues"], T]) -> T:
        """Return what the function makes of the knowledge, computed once until the process learns more."""
        if derive not in self._derived:
            self._derived[derive] = derive(self)
        return cast("T", self._derived[derive])


def canonical(name: str, value: object) -> Value:
    """Return the one form of a value of this setting. Raises: ValueError, with the allowed form."""
    match GOVERNED[name].kind:
        case "boolean" if isinstance(value, bool):
            return value
        case "integer" if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**31:
            return value
        case "decimal" if isinstance(value, str) and _DECIMAL.fullmatch(value):
            return _plain(value)
        case kind:
            form = {"boolean": "true or false", "integer": "a whole number", "decimal": "a decimal string"}
            raise ValueError(form[kind])


def is_within_bounds(name: str, value: Value) -> bool:
    """Return whether governance may set a canonical value."""
    bounds = GOVERNED[name]
    if bounds.least is None or bounds.most is None:
        return True
    number = Decimal(value)
    digits = number.as_tuple().exponent
    assert isinstance(digits, int), "a canonical decimal is finite"
    return Decimal(bounds.least) <= number <= Decimal(bounds.most) and -digits <= FRACTION_DIGITS_MAX


def fault_of_fees(values: Mapping[str, Value]) -> str | None:
    """Return why the two rates of the fee do not fit together, None where they do."""
    base, most = values["fee_base_rate_percent"], values["fee_max_rate_percent"]
    if Decimal(base) <= Decimal(most):
        return None
    return f"FEE_MAX_RATE_PERCENT={most!r} is refused; allowed is at least FEE_BASE_RATE_PERCENT={base!r}"


def fault_of_peer_trust(values: Mapping[str, Value]) -> str | None:
    """Return why the thresholds of peer trust do not fit together, None where they do."""
    falling = [values[f"peer_trust_{name}_below"] for name in ("warn", "restrict", "suspend")]
    if falling != sorted(falling, key=Decimal, reverse=True):
        return (
            "PEER_TRUST_WARN_BELOW={!r}, PEER_TRUST_RESTRICT_BELOW={!r}, PEER_TRUST_SUSPEND_BELOW={!r} are refused;"
            " allowed are numbers of which none is greater than the one before it".format(*falling)
        )
    # A score never reaches 1: a peer that had to reach it would stay restricted.
    bound = (values["peer_trust_restrict_below"], values["peer_trust_recover_margin"])
    if sum(map(Decimal, bound)) >= 1:
        return (
            "PEER_TRUST_RESTRICT_BELOW={!r}, PEER_TRUST_RECOVER_MARGIN={!r} are refused;"
            " allowed is a sum of less than 1".format(*bound)
        )
    return None


def fault_of(values: Mapping[str, Value]) -> str | None:
    """Return why values of all governed settings do not fit together, None where they do."""
    return fault_of_fees(values) or fault_of_peer_trust(values)


def fault_over_time(stated: Mapping[str, Value], turns: Sequence[Turn], since: datetime) -> str | None:
    """Return why the values do not fit together at some moment from `since` on, None where they always do."""
    known = Knowledge(tuple(turns))
    moments = [since, *(turn.at for turn in turns if turn.at > since)]
    faults = (fault_of({**stated, **known.overlay(at)}) for at in moments)
    return next((fault for fault in faults if fault), None)


def _plain(decimal: str) -> str:
    whole, _, fraction = decimal.partition(".")
    whole, fraction = whole.lstrip("0") or "0", fraction.rstrip("0")
    return f"{whole}.{fraction}" if fraction else whole
