"""A card that an agent serves as a JWS (RFC 7515): compact, flattened JSON or general JSON serialization.

Only the form is read here; `judge_jws` says whether the agent signed it. The payload is the text of the card.
"""

import re
from typing import Any, NamedTuple

from hansa_verify import NotBase64url, decoded

from .rules import SIGNATURES_MAX

_COMPACT = re.compile(rb"([A-Za-z0-9_-]*)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]*)")


class JwsUnreadable(ValueError):
    """The body is a JWS by its form, and its payload cannot be read."""


class ServedJws(NamedTuple):
    """The bytes that were signed, and the signatures as they stand: not yet read, nothing in them is trusted."""

    payload: bytes
    signatures: tuple[Any, ...]


def compact_jws(body: bytes) -> ServedJws | None:
    """The JWS in compact serialization that the body is, or None. Raises: JwsUnreadable."""
    found = _COMPACT.fullmatch(body.strip())
    if found is None:
        return None
    protected, payload, signature = (part.decode("ascii") for part in found.groups())
    return ServedJws(_payload(payload), ({"protected": protected, "signature": signature},))


def json_jws(document: Any) -> ServedJws | None:
    """The JWS in JSON serialization that the document is, or None where it is a card. Raises: JwsUnreadable."""
    if not isinstance(document, dict) or not isinstance(document.get("payload"), str) or "name" in document:
        return None
    payload = _payload(document["payload"])
    if "signatures" not in document:
        return ServedJws(payload, (document,))
    listed = document["signatures"]
    # Either one signature at the top or a list of them: with both it is open which one is meant.
    is_general = (
        isinstance(listed, list) and 1 <= len(listed) <= SIGNATURES_MAX and "signature" not in document
    )
    return ServedJws(payload, tuple(listed) if is_general else (None,))


def _payload(text: str) -> bytes:
    try:
        return decoded(text)
    except NotBase64url:
        raise JwsUnreadable("The payload of the JWS is not base64url without padding.") from None
