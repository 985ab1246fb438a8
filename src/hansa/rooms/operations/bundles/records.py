"""Bundles as they are read."""

from typing import Any
from uuid import UUID

import msgspec


class StoredBundle(msgspec.Struct, frozen=True):
    """Bundle with the signature of this registry."""

    id: UUID
    document: dict[str, Any]


class JudgedBundle(msgspec.Struct, frozen=True):
    """Content of a bundle whose signature holds, and the registry that signed it."""

    content: dict[str, Any]
    registry_id: str

    @property
    def origin(self) -> dict[str, Any]:
        """The member `imported_from` of the card."""
        return {
            "did": self.content["did"],
            "registry": self.registry_id,
            "exported_at": self.content["exported_at"],
        }
