"""Documents of a card: the present one, its replacement and its versions."""

from datetime import datetime
from typing import Any, Literal, TypeAlias
from uuid import UUID

import msgspec

Source: TypeAlias = Literal["owner", "pull", "tools"]
"""Origin of a document: its owner, a pull of the card that the agent serves itself, or the tools that its MCP server lists."""


class StoredDocument(msgspec.Struct, frozen=True):
    """The document that a card has now, locked until the transaction ends."""

    id: UUID
    card_id: int
    did: str | None
    organization_id: UUID | None
    human_readable_id: str
    status: str
    version: int
    card_data: dict[str, Any]
    pulled_hash: bytes | None


class Replaced(msgspec.Struct, frozen=True):
    """A document was replaced. The hashes are hex, as they are returned; the keys are those of the top that differ."""

    id: UUID
    card_id: int
    did: str | None
    version: int
    changed_keys: tuple[str, ...]
    old_hash: str
    new_hash: str


class CardVersion(msgspec.Struct, frozen=True):
    """A document that a card had or has, since when, and the hash of it in hex; the document may be left out."""

    version: int
    source: Source
    changed_at: datetime
    card_hash: str
    card_data: dict[str, Any] | None
