"""Free text of requests: NFC, trimmed; characters that act on a terminal, end a line otherwise or turn its direction are refused."""

import unicodedata

from hansa.foundation.values.visible_text import escaped


def plain(text: str) -> str:
    """Return the text as it is stored. Raises: ValueError."""
    trimmed = unicodedata.normalize("NFC", text).strip()
    if escaped(trimmed) != trimmed:
        raise ValueError(
            "must have no control characters but tab and new line, and none that turn the direction of a text"
        )
    return trimmed
