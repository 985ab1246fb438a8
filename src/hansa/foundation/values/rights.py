"""Rights of developers at agents, and the owner of an agent.

Each right includes those below it. The database counts with the same numbers (`rooms/agents/sql/rights.sql`).
"""

from enum import IntEnum

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
    """Owner of an agent or of a card: a developer."""

    developer_id: int

    def right_of(self, developer_id: int | None) -> Right | None:
        """Return the right that a developer has as the owner; None for any other and for no developer."""
        return Right.END if self.developer_id == developer_id else None
