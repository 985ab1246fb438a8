"""Archives of the journal in a directory, verified by the keys of their registry."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hansa.doors.verification.cards import CannotRead, decision_json, read_key_set
from hansa_verify import ArchiveVerdict, verify_archive


def verify_archives(directory: Path, keys: str, month: str | None) -> dict[str, ArchiveVerdict]:
    """The verdicts on the archives, or on that of one month, by month. Raises: CannotRead, ModuleNotFoundError without pyarrow."""
    months = [month] if month else _months_in(directory)
    known = read_key_set(keys)
    try:
        return {name: verify_archive(directory, name, known) for name in months}
    except OSError as error:
        raise CannotRead(f"{error.filename or directory} cannot be read: {error.strerror}.") from None


def verdicts_json(verdicts: Mapping[str, ArchiveVerdict]) -> list[dict[str, Any]]:
    """The verdicts for a program."""
    return [
        {
            "month": month,
            **decision_json(verdict),
            "kid": verdict.kid,
            "rows": verdict.manifest and verdict.manifest["rows"],
            "events": verdict.manifest and verdict.manifest["events"],
        }
        for month, verdict in verdicts.items()
    ]


def _months_in(directory: Path) -> list[str]:
    return sorted(path.stem.removeprefix("journal-") for path in directory.glob("journal-????-??.json"))
