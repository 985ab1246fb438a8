"""`org/name`: how a card is called by people."""

import re
import unicodedata
from typing import Any
from uuid import UUID

_PART = r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?"
_FORM = re.compile(rf"{_PART}/{_PART}", re.ASCII)
_ODD = re.compile(r"[^a-z0-9]+", re.ASCII)
SLUG_MAX = 48
ORG_DEFAULT = "agents"
# Who is called so speaks for a registry or its operator.
_RESERVED = frozenset(
    ("admin", "administrator", "fee-collector", "operator", "registry", "system", "treasury")
)


def is_well_formed(text: Any) -> bool:
    """Return whether the text is `org/name`: lower-case letters, digits, and `.`, `_`, `-` inside; 64 characters each.

    An organization that would speak for the registry is not taken.
    """
    return isinstance(text, str) and _FORM.fullmatch(text) is not None and not _is_reserved(text)


def generated(organization: str, card_name: str, unique: UUID) -> str:
    """A free name for a card that brings none, in the organization or the registry of this name."""
    org = _slug(organization)
    return f"{ORG_DEFAULT if _is_reserved(org) else org}/{_slug(card_name)}-{unique.hex[:12]}"


def _slug(text: str) -> str:
    ascii_text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return _ODD.sub("-", ascii_text).strip("-")[:SLUG_MAX].strip("-") or "agent"


def _is_reserved(text: str) -> bool:
    return text.partition("/")[0].replace("_", "-") in _RESERVED
