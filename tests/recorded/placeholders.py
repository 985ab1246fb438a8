"""Values that differ from run to run, replaced by numbered placeholders: the same value gets the same placeholder."""

import json
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

# Times outside these years are written in the requests and stay.
FIRST_YEAR, LAST_YEAR = 2020, 2100

_TIME = re.compile(
    r"(20\d\d)-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?P<fraction>\.\d+)?(?P<offset>Z|[+-]\d\d:\d\d)", re.ASCII
)

_DAY = re.compile(r"20\d\d-\d\d-\d\d", re.ASCII)

_WAIT = re.compile(r"retry after \d+ seconds")

# In this order: what is found by an earlier pattern is not read by a later one.
_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("pem", re.compile(r"-----BEGIN [A-Z ]+-----\n[^-]+-----END [A-Z ]+-----\n(?:-----BEGIN [^\0]+)?")),
    ("jwt", re.compile(r"\beyJ[\w-]+\.[\w-]*\.[\w-]+")),
    ("recovery-key", re.compile(r"\bavrec-[0-9a-z]+(?:-[0-9a-z]+)+")),
    ("invitation", re.compile(r"\bHANSA(?:-[0-9A-Z]{4})+")),
    ("client", re.compile(r"\bagent-[0-9a-z]{16}\b")),
    ("secret", re.compile(r"\b(?:agsec|avreg|bst|hpt|hrt|att|whsec|tkt|hfl_v1)_[A-Za-z0-9_=+/-]{4,}")),
    ("name", re.compile(r"\b(?:whk|msg)_[A-Za-z0-9_-]{8,}")),
    ("uuid", re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")),
    # Of a humanReadableId that the registry makes of a name.
    ("suffix", re.compile(r"(?<=-)[0-9a-f]{12}\b")),
    ("seed", re.compile(r"\b[A-Z2-7]{32}\b")),
    ("code", re.compile(r"\b[0-9a-f]{4}(?:-[0-9a-f]{4}){4}\b")),
    ("hex", re.compile(r"\b[0-9a-f]{32,}\b")),
    ("bytes", re.compile(r"(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{43,}={0,2}")),
)

# Members whose value is opaque.
_OPAQUE_MEMBERS = {
    "next": "cursor",
    "position": "cursor",
    "pageToken": "cursor",
    "page_token": "cursor",
    "qr_svg": "picture",
    "signature": "bytes",
    "protected": "bytes",
}

# Lists in the order of DIDs, which is another in each run; every DID in them has its placeholder already.
_ORDERED_BY_DID = {"balances"}


def _is_day_of_run(text: str) -> bool:
    """Return whether the text is a date without a time, of today or yesterday."""
    if not _DAY.fullmatch(text):
        return False
    return timedelta(0) <= datetime.now(UTC).date() - date.fromisoformat(text) <= timedelta(days=1)


class Placeholders:
    """The placeholders of one record, numbered within each kind in order of appearance."""

    def __init__(self) -> None:
        self._numbers: dict[str, dict[str, int]] = {}

    def replace(self, value: Any) -> Any:
        """The same JSON value without anything that differs from run to run."""
        if isinstance(value, str):
            return "<day>" if _is_day_of_run(value) else self.in_text(value)
        if isinstance(value, Mapping):
            return {self.in_text(name): self._member(name, member) for name, member in value.items()}
        if isinstance(value, list | tuple):
            return [self.replace(item) for item in value]
        return value

    def in_text(self, text: str) -> str:
        """The same text with a placeholder for each such value in it."""
        text = _WAIT.sub("retry after <seconds> seconds", _TIME.sub(self._time, text))
        for kind, pattern in _PATTERNS:
            text = pattern.sub(lambda found, kind=kind: self.of(kind, found[0]), text)
        return text

    def of(self, kind: str, value: str) -> str:
        """The placeholder of one value."""
        numbers = self._numbers.setdefault(kind, {})
        return f"<{kind} {numbers.setdefault(value, len(numbers) + 1)}>"

    def _member(self, name: str, value: Any) -> Any:
        if isinstance(value, str) and value and name in _OPAQUE_MEMBERS:
            return self.of(_OPAQUE_MEMBERS[name], value)
        replaced = self.replace(value)
        if name in _ORDERED_BY_DID and isinstance(replaced, list):
            return sorted(replaced, key=json.dumps)
        return replaced

    def _time(self, found: re.Match[str]) -> str:
        if not FIRST_YEAR <= int(found[1]) <= LAST_YEAR:
            return found[0]
        # Whole seconds may be equal by chance.
        if found["fraction"] is None:
            return "<second>"
        instant = datetime.fromisoformat(found[0].replace(" ", "T")).timestamp()
        return self.of("time", f"{instant:.6f}").replace(">", f"{found['offset']}>")
