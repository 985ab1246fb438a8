"""Organizations: members, teams, rights at agents, and treasuries."""

from hansa.rooms.organizations.descriptor import ROOM
from hansa.rooms.organizations.enforcing import lock_for_enforcement, reinstate, suspend
from hansa.rooms.organizations.errors import OrganizationUnknown
from hansa.rooms.organizations.records import Organization

__all__ = ["ROOM", "Organization", "OrganizationUnknown", "lock_for_enforcement", "reinstate", "suspend"]
