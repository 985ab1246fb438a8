"""Organizations: members, teams, rights at agents, treasuries, and requests that others approve."""

from hansa.rooms.organizations.appointments.acts import appoint as appoint_owner
from hansa.rooms.organizations.appointments.reading import OwnersOf, owners_of
from hansa.rooms.organizations.appointments.store import pending_of as pending_appointment
from hansa.rooms.organizations.approvals.rules import Demand, Tier, gives_approval, tier_of
from hansa.rooms.organizations.approvals.store import replace_tiers, tiers_of
from hansa.rooms.organizations.audit import acts_of as acts_in
from hansa.rooms.organizations.audit import record as record_act
from hansa.rooms.organizations.descriptor import ROOM
from hansa.rooms.organizations.enforcing import lock_for_enforcement, reinstate, suspend
from hansa.rooms.organizations.errors import (
    LimitReached,
    MemberUnknown,
    OrganizationNotActive,
    OrganizationUnknown,
    OrgRoleRequired,
    RequestExists,
    RequestUnknown,
    TeamUnknown,
)
from hansa.rooms.organizations.fleet.creating import join_teams_of
from hansa.rooms.organizations.fleet.releasing import REQUIRE_RELEASING
from hansa.rooms.organizations.founding import BLOCKERS_ABOVE, blockers_of, delete
from hansa.rooms.organizations.invitations.acts import own_invitations
from hansa.rooms.organizations.invitations.store import pending as pending_invitations
from hansa.rooms.organizations.members.acts import members_in
from hansa.rooms.organizations.membership_facts import (
    OWN_ORGANIZATIONS,
    OwnOrganization,
    own_organizations_in,
)
from hansa.rooms.organizations.reading import (
    held,
    lock,
    names_of,
    own_organizations,
    profile_of,
    require_active,
)
from hansa.rooms.organizations.reading import locked as lock_as_member
from hansa.rooms.organizations.records import (
    NOTHING,
    Acting,
    Actor,
    Appointment,
    Done,
    Invitation,
    Member,
    NewRequest,
    Organization,
    Outcome,
    OwnInvitation,
    Request,
    Shown,
    Team,
)
from hansa.rooms.organizations.repeating import (
    ACCEPTED,
    Repeating,
    Sent,
    answer_of,
    sent_by,
    status_of,
)
from hansa.rooms.organizations.requests.acts import ask, end_executing
from hansa.rooms.organizations.requests.kinds import REQUEST_KINDS, RequestKind, demands_of_control, kinds_of
from hansa.rooms.organizations.requests.reading import request_in, requests_in, waiting_for_person
from hansa.rooms.organizations.requests.schemas import WAITS, OrganizationRequestOut
from hansa.rooms.organizations.requests.store import paid_requests
from hansa.rooms.organizations.requests.tally import Reading
from hansa.rooms.organizations.requests.waiting_store import REQUESTS_WAITING, WaitingRequest
from hansa.rooms.organizations.rules import Role, require_role, require_room
from hansa.rooms.organizations.schemas import OrganizationDeletedOut, TreasuryBalancesOut
from hansa.rooms.organizations.teams.naming import (
    approvers_named,
    is_member_of,
    members_of_teams,
    require_team,
)
from hansa.rooms.organizations.teams.store import teams_of as teams_in

__all__ = [
    "ACCEPTED",
    "BLOCKERS_ABOVE",
    "NOTHING",
    "OWN_ORGANIZATIONS",
    "REQUESTS_WAITING",
    "REQUEST_KINDS",
    "REQUIRE_RELEASING",
    "ROOM",
    "WAITS",
    "Acting",
    "Actor",
    "Appointment",
    "Demand",
    "Done",
    "Invitation",
    "LimitReached",
    "Member",
    "MemberUnknown",
    "NewRequest",
    "OrgRoleRequired",
    "Organization",
    "OrganizationDeletedOut",
    "OrganizationNotActive",
    "OrganizationRequestOut",
    "OrganizationUnknown",
    "Outcome",
    "OwnInvitation",
    "OwnOrganization",
    "OwnersOf",
    "Reading",
    "Repeating",
    "Request",
    "RequestExists",
    "RequestKind",
    "RequestUnknown",
    "Role",
    "Sent",
    "Shown",
    "Team",
    "TeamUnknown",
    "Tier",
    "TreasuryBalancesOut",
    "WaitingRequest",
    "acts_in",
    "answer_of",
    "appoint_owner",
    "approvers_named",
    "ask",
    "blockers_of",
    "delete",
    "demands_of_control",
    "end_executing",
    "gives_approval",
    "held",
    "is_member_of",
    "join_teams_of",
    "kinds_of",
    "lock",
    "lock_as_member",
    "lock_for_enforcement",
    "members_in",
    "members_of_teams",
    "names_of",
    "own_invitations",
    "own_organizations",
    "own_organizations_in",
    "owners_of",
    "paid_requests",
    "pending_appointment",
    "pending_invitations",
    "profile_of",
    "record_act",
    "reinstate",
    "replace_tiers",
    "request_in",
    "requests_in",
    "require_active",
    "require_role",
    "require_room",
    "require_team",
    "sent_by",
    "status_of",
    "suspend",
    "teams_in",
    "tier_of",
    "tiers_of",
    "waiting_for_person",
]
