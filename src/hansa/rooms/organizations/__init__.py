"""Organizations: members, teams, rights at agents, and treasuries."""

from hansa.rooms.organizations.audit import acts_of as acts_in
from hansa.rooms.organizations.descriptor import ROOM
from hansa.rooms.organizations.enforcing import lock_for_enforcement, reinstate, suspend
from hansa.rooms.organizations.errors import MemberUnknown, OrganizationUnknown, RequestUnknown, TeamUnknown
from hansa.rooms.organizations.founding import blockers_of, delete
from hansa.rooms.organizations.invitations.acts import own_invitations
from hansa.rooms.organizations.invitations.store import pending as pending_invitations
from hansa.rooms.organizations.members.acts import members_in
from hansa.rooms.organizations.membership_facts import (
    OWN_ORGANIZATIONS,
    OwnOrganization,
    own_organizations_in,
)
from hansa.rooms.organizations.reading import held, own_organizations, profile_of
from hansa.rooms.organizations.records import (
    Done,
    Invitation,
    Member,
    Organization,
    OwnInvitation,
    Shown,
    Team,
)
from hansa.rooms.organizations.rules import Role
from hansa.rooms.organizations.schemas import OrganizationDeletedOut
from hansa.rooms.organizations.teams.store import teams_of as teams_in

__all__ = [
    "OWN_ORGANIZATIONS",
    "ROOM",
    "Done",
    "Invitation",
    "Member",
    "MemberUnknown",
    "Organization",
    "OrganizationDeletedOut",
    "OrganizationUnknown",
    "OwnInvitation",
    "OwnOrganization",
    "RequestUnknown",
    "Role",
    "Shown",
    "Team",
    "TeamUnknown",
    "acts_in",
    "blockers_of",
    "delete",
    "held",
    "lock_for_enforcement",
    "members_in",
    "own_invitations",
    "own_organizations",
    "own_organizations_in",
    "pending_invitations",
    "profile_of",
    "reinstate",
    "suspend",
    "teams_in",
]
