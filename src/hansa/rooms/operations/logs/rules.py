"""Rules of entries, without I/O: secrets are removed first, then the text is made harmless and cut."""

import json
import unicodedata
from collections.abc import Mapping
from typing import Any

from hansa.foundation.values.secret_forms import without_secrets
from hansa.foundation.values.visible_text import escaped

from .records import Level, NewEntry

MESSAGE_MAX_CHARACTERS = 4000
METADATA_MAX_BYTES = 8192
METADATA_DEPTH_MAX = 4
ENTRIES_PER_REQUEST = 100
ENTRIES_PER_MINUTE = 600
ENTRIES_KEPT = 10_000
BYTES_KEPT = 20 << 20
_LEVELS: dict[str, Level] = {
    "DEBUG": "DEBUG",
    "INFO": "INFO",
    "WARN": "WARN",
    "WARNING": "WARN",
    "ERROR": "ERROR",
    "CRITICAL": "ERROR",
}


def new_entry(
    level: str, message: str, metadata: Mapping[str, Any] | None = None, trace_id: str | None = None
) -> NewEntry:
    """Return the entry that is stored for these members."""
    return NewEntry(
        level=_LEVELS[level],
        message=_clean(message)[:MESSAGE_MAX_CHARACTERS],
        metadata=None if metadata is None else _as_json(_clean_value(metadata)),
        trace_id=None if trace_id is None else trace_id.lower(),
    )


def bounded_metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return metadata within its limits. Raises: ValueError."""
    if _depth(metadata) > METADATA_DEPTH_MAX:
        raise ValueError(f"must be nested at most {METADATA_DEPTH_MAX} levels deep")
    if (size := len(_as_json(metadata).encode())) > METADATA_MAX_BYTES:
        raise ValueError(f"must have at most {METADATA_MAX_BYTES} bytes as JSON, got {size}")
    return metadata


def _clean(text: str) -> str:
    return escaped(without_secrets(unicodedata.normalize("NFC", text).strip()))


def _clean_value(value: Any) -> Any:
    if isinstance(value, str):
        return _clean(value)
    if isinstance(value, Mapping):
        return {_clean(name): _clean_value(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_clean_value(member) for member in value]
    return value


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _depth(value: Any) -> int:
    if isinstance(value, Mapping):
        return 1 + max(map(_depth, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(_depth, value), default=0)
    return 0
