"""The filter and the order of the list of entries, read from the small language of the specification (appendix A)."""

import re
from datetime import UTC, datetime
from typing import Literal

import msgspec

from .errors import ArgumentInvalid

CONDITIONS_MAX = 16
TEXT_FIELDS = ("displayName", "type", "publisherId")
TIME_FIELDS = ("createdAfter", "updatedAfter")

Order = Literal["createdAt DESC", "createdAt ASC", "updatedAt DESC", "updatedAt ASC"]
ORDERS: tuple[Order, ...] = ("createdAt DESC", "createdAt ASC", "updatedAt DESC", "updatedAt ASC")

_CONDITION = re.compile(r"\s*([A-Za-z]+)\s*(>=|=|>)\s*(?:'([^']*)'|\"([^\"]*)\"|([^\s'\"]+))\s*")
_AND = re.compile(r"AND(?=\s)", re.IGNORECASE)


class ListFilter(msgspec.Struct, frozen=True):
    """Filter of entries: the values of one member are alternatives, its absence asks nothing."""

    names: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    publishers: tuple[str, ...] = ()
    created_after: datetime | None = None
    updated_after: datetime | None = None


def read_filter(text: str | None) -> ListFilter:
    """Read the filter of a request. Raises: ArgumentInvalid, with the text found and the forms allowed."""
    texts: dict[str, tuple[str, ...]] = {}
    times: dict[str, datetime] = {}
    for field, operator, value in _conditions(text or ""):
        if field in texts or field in times:
            raise _refusal(f"{field} occurs twice; separate several values by commas")
        if field in TEXT_FIELDS and operator == "=":
            texts[field] = tuple(part.strip() for part in value.split(",") if part.strip())
        elif field in TIME_FIELDS:
            times[field] = _moment(field, value)
        else:
            raise _refusal(f"{field} {operator} is unknown; expected one of {_KNOWN}")
    return ListFilter(
        names=texts.get("displayName", ()),
        types=texts.get("type", ()),
        publishers=texts.get("publisherId", ()),
        created_after=times.get("createdAfter"),
        updated_after=times.get("updatedAfter"),
    )


def read_order(text: str | None) -> Order:
    """Raises: ArgumentInvalid."""
    field, _, direction = (text or "createdAt DESC").strip().partition(" ")
    normalised = f"{field} {direction.strip().upper() or 'ASC'}"
    for order in ORDERS:
        if order == normalised:
            return order
    raise ArgumentInvalid(f"orderBy: expected one of {', '.join(ORDERS)}.", field="orderBy")


_KNOWN = "displayName =, type =, publisherId =, createdAfter > and updatedAfter >"


def _conditions(text: str) -> list[tuple[str, str, str]]:
    found: list[tuple[str, str, str]] = []
    place = 0
    while text.strip():
        condition = _CONDITION.match(text, place)
        if condition is None or len(found) == CONDITIONS_MAX:
            raise _refusal(f"expected a condition at character {place}, such as field = 'value'")
        field, operator, single, double, bare = condition.groups()
        found.append((field, operator, next(value for value in (single, double, bare) if value is not None)))
        place = condition.end()
        if place == len(text):
            break
        joint = _AND.match(text, place)
        if joint is None:
            raise _refusal(f"expected AND at character {place}")
        place = joint.end()
    return found


def _moment(field: str, value: str) -> datetime:
    try:
        timestamp = datetime.fromisoformat(value)
        return timestamp.replace(tzinfo=UTC) if timestamp.tzinfo is None else timestamp.astimezone(UTC)
    except (ValueError, OverflowError):
        raise _refusal(f"{field} must be an ISO 8601 time such as 2026-01-31T12:00:00Z") from None


def _refusal(error: str) -> ArgumentInvalid:
    return ArgumentInvalid(f"filter: {error}.", field="filter")
