"""A month of the journal, and what is recorded of its archive."""

import re
from datetime import UTC, date, datetime, timedelta

import msgspec

from .errors import MonthNotArchivable

_MONTH = re.compile(r"20[0-9]{2}-(0[1-9]|1[0-2])")


class Month(msgspec.Struct, frozen=True):
    """A calendar month, UTC."""

    first: date

    @classmethod
    def of(cls, text: str) -> "Month":
        """The month `2026-08`. Raises: MonthNotArchivable."""
        if not _MONTH.fullmatch(text):
            raise MonthNotArchivable(f"A month is written as 2026-08, got {text!r}.")
        return cls(date.fromisoformat(f"{text}-01"))

    @property
    def name(self) -> str:
        return f"{self.first:%Y-%m}"

    @property
    def partition(self) -> str:
        """The name of its partition."""
        return f"journal_event_{self.first:%Y_%m}"

    @property
    def bounds(self) -> tuple[datetime, datetime]:
        """Its first moment and that of the next month."""
        begin = datetime(self.first.year, self.first.month, 1, tzinfo=UTC)
        return begin, (begin + timedelta(days=31)).replace(day=1)


class ArchivedMonth(msgspec.Struct, frozen=True):
    """Archive of a month; positions are those of its last event. Dropped months are not stored here any more."""

    month: date
    rows: int
    events: int
    first_sequence: int
    last_sequence: int
    last_xid: int
    last_seq: int
    manifest_sha256: bytes
    kid: str
    archived_at: datetime
    dropped_at: datetime | None
