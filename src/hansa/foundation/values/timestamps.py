"""Moments in requests: ISO 8601 text. A bare number would pass for seconds or milliseconds since 1970, by its size."""

import re
from datetime import datetime

from pydantic import BeforeValidator

_BEGINS_WITH_A_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)


def _iso_only(value: object) -> object:
    is_text = isinstance(value, str) and _BEGINS_WITH_A_DATE.match(value)
    if value is not None and not is_text and not isinstance(value, datetime):
        raise ValueError("must be an ISO 8601 time, such as 2026-01-31T12:00:00Z")
    return value


ISO_ONLY = BeforeValidator(_iso_only)
"""Goes into the annotation of a datetime member: `Annotated[datetime, ISO_ONLY]`."""
