"""Changes of governed settings as a decision states them. No I/O."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec

from hansa.foundation.plumbing.settings import GOVERNED, Bounds, Value, canonical, is_within_bounds

from .errors import ParameterUnknown, ParameterValueInvalid

_INTEGER_DIGITS_MAX = 12


class Change(msgspec.Struct, frozen=True):
    """Change of one setting: the value that the decision assumes, and the new one, both canonical."""

    before: Value
    after: Value


Diff: TypeAlias = Mapping[str, Change]
"""Changes by the name of the setting."""


def diff_of(given: Mapping[str, Any]) -> Diff:
    """Return the changes of `{name: {"from": value, "to": value}}`. Raises: ParameterUnknown, ParameterValueInvalid."""
    diff = {name: _change(name, stated) for name, stated in given.items()}
    require_within_bounds(diff)
    return diff


def diff_json(diff: Diff) -> dict[str, dict[str, Value]]:
    """Return the changes as `{name: {"from": value, "to": value}}`."""
    return {name: {"from": change.before, "to": change.after} for name, change in diff.items()}


def require_within_bounds(diff: Diff) -> None:
    """Judge each new value alone. Raises: ParameterUnknown, ParameterValueInvalid."""
    for name, change in diff.items():
        require_known(name)
        if not is_within_bounds(name, _canonical(name, "to", change.after)):
            raise ParameterValueInvalid(
                f"{name}: the value must be {_form(GOVERNED[name])}, got {change.after!r}.",
                field=f"{name}.to",
            )
        if change.before == change.after:
            raise ParameterValueInvalid(f"{name}: `from` and `to` are the same value.", field=f"{name}.to")


def value_of(name: str, text: str) -> Value:
    """Return the value that a text states, within the bounds of the setting. Raises: ParameterUnknown, ParameterValueInvalid."""
    require_known(name)
    stated: Value = text
    if GOVERNED[name].kind == "boolean":
        stated = {"true": True, "false": False}.get(text.lower(), text)
    elif GOVERNED[name].kind == "integer" and text.isascii() and text.isdigit():
        stated = int(text[:_INTEGER_DIGITS_MAX])
    value = _canonical(name, "value", stated)
    if not is_within_bounds(name, value):
        raise ParameterValueInvalid(
            f"{name}: the value must be {_form(GOVERNED[name])}, got {text[:80]!r}.", field=name
        )
    return value


def require_known(name: str) -> None:
    """Raises: ParameterUnknown."""
    if name not in GOVERNED:
        raise ParameterUnknown(f"{name[:80]!r} is no governed setting.")


def _change(name: str, stated: object) -> Change:
    require_known(name)
    if not isinstance(stated, Mapping) or stated.keys() != {"from", "to"}:
        raise ParameterValueInvalid(f"{name}: exactly the members `from` and `to` are required.", field=name)
    return Change(_canonical(name, "from", stated["from"]), _canonical(name, "to", stated["to"]))


def _canonical(name: str, member: str, value: object) -> Value:
    try:
        return canonical(name, value)
    except ValueError as error:
        raise ParameterValueInvalid(
            f"{name}: `{member}` must be {error}.", field=f"{name}.{member}"
        ) from None


def _form(bounds: Bounds) -> str:
    form = f"from {bounds.least} to {bounds.most}"
    return f"{form} with at most 6 fraction digits" if bounds.kind == "decimal" else form
