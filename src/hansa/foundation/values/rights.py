"""Rights of developers at agents, and the owner of an agent.

Each right includes those below it. The database counts with the same numbers (`rooms/agents/sql/rights.sql`).
"""

from enum import IntEnum
from uuid import UUID

import msgspec


class Right(IntEnum):
    """Right of a developer at an agent."""

    READ = 1
    OPERATE = 2
    """To change its card, and to act as it."""
    MANAGE = 3
    """To decide on its listing, secret, roles, spend policy and approvals."""
    END = 4


class Owner(msgspec.Struct, frozen=True):
    """Owner of an agent or of a card: a developer or an organization."""

    developer_id: int | None
    organization_id: UUID | None = None

    @classmethod
    def of(cls, developer_id: int, organization_id: UUID | None) -> "Owner":
        """Return the owner of an agent that the developer created."""
        return cls(developer_id) if organization_id is None else cls(None, organization_id)

    @property
    def name(self) -> str:
        """`developer:<id>` or `organization:<id>`."""
        if self.organization_id is not None:
            return f"organization:{self.organization_id}"
        return f"developer:{self.developer_id}"

    def right_of(self, developer_id: int) -> Right | None:
        """Return the right that a developer has as the owner; None for any other. Of an organization the database knows the rights."""
        return Right.END if self.developer_id == developer_id else None
