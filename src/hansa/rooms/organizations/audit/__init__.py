"""Record of what was done in an organization."""

from hansa.rooms.organizations.audit.acts import record
from hansa.rooms.organizations.audit.store import acts_of

__all__ = ["acts_of", "record"]
