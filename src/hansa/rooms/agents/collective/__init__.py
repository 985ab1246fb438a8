"""Agents of organizations, and the treasuries of organizations."""

from hansa.rooms.agents.collective.moving import move_to_developer, move_to_organization
from hansa.rooms.agents.collective.reading import (
    are_related,
    count_of_organization,
    counts_of_organizations,
    is_of_organization,
    of_organization,
    readers_of,
    secrets_seen_by,
)
from hansa.rooms.agents.collective.treasuries import close_treasury, open_treasury

__all__ = [
    "are_related",
    "close_treasury",
    "count_of_organization",
    "counts_of_organizations",
    "is_of_organization",
    "move_to_developer",
    "move_to_organization",
    "of_organization",
    "open_treasury",
    "readers_of",
    "secrets_seen_by",
]
