"""Refusals of the organizations room."""

from hansa.foundation.values.errors import Conflict, Forbidden, Invalid, NotFound, OrgRoleRequired

__all__ = ["OrgRoleRequired"]


class OrganizationUnknown(NotFound):
    """No organization has this id or slug, or the caller may not see it."""

    code = "ORGANIZATION_UNKNOWN"
    sentence = "No organization has this id or slug."


class MemberUnknown(NotFound):
    """The developer is not a member of the organization."""

    code = "MEMBER_UNKNOWN"
    sentence = "The developer is not a member of the organization."


class TeamUnknown(NotFound):
    """The organization has no team with this slug."""

    code = "TEAM_UNKNOWN"
    sentence = "The organization has no team with this slug."


class InvitationUnknown(NotFound):
    """The invitation is unknown, used, revoked or expired."""

    code = "INVITATION_UNKNOWN"
    sentence = "The invitation is unknown, used, revoked or expired."


class RequestUnknown(NotFound):
    """The organization has no request with this id."""

    code = "REQUEST_UNKNOWN"
    sentence = "The organization has no request with this id."


class SlugRefused(Invalid):
    """The slug is reserved, or it has not the required format."""

    code = "SLUG_REFUSED"


class SlugTaken(Conflict):
    """Another organization has, or had, this slug or one that reads alike."""

    code = "SLUG_TAKEN"
    sentence = "Another organization has, or had, this slug or one that reads alike; choose another one."


class OrganizationNotActive(Conflict):
    """The organization is suspended or deleted."""

    code = "ORGANIZATION_NOT_ACTIVE"
    sentence = "The organization is not active."


class OrganizationBlocked(Conflict):
    """The organization owns agents or units, so it cannot be deleted; `blockers` names them."""

    code = "ORGANIZATION_BLOCKED"
    sentence = (
        "The organization cannot be deleted before its agents have ended or moved and its treasury is empty."
    )


class LastOwner(Conflict):
    """The only owner of an organization cannot leave it or become anything else."""

    code = "LAST_OWNER"
    sentence = "An organization has at least one owner: make another member an owner first, or delete the organization."


class LimitReached(Conflict):
    """The organization, or the developer, has as many of these as there may be."""

    code = "LIMIT_REACHED"


class TeamExists(Conflict):
    """The organization has a team with this slug."""

    code = "TEAM_EXISTS"
    sentence = "The organization has a team with this slug."


class OwnersDecide(Conflict):
    """The organization has got other owners, of whom more than half must agree to a further one."""

    code = "OWNERS_DECIDE"
    sentence = "The organization has other owners by now, of whom more than half must agree; ask for the change anew."


class GrantMissing(Conflict):
    """The membership would give a right to approve, which others of the organization have not approved."""

    code = "GRANT_MISSING"
    sentence = "By the present rules of the treasury the membership gives a right to approve, which others must grant first."
    remedy = "Ask the organization for a new invitation."


class TeamInRules(Conflict):
    """A tier of the rules names the team as its approvers."""

    code = "TEAM_IN_RULES"
    sentence = "The rules of the treasury name the members of this team as approvers."
    remedy = "Change the rules of the treasury first."


class AlreadyMember(Conflict):
    """The developer is a member of the organization."""

    code = "ALREADY_MEMBER"
    sentence = "You are a member of the organization."


class RequestEnded(Conflict):
    """The request was executed, rejected or cancelled, or it has expired."""

    code = "REQUEST_ENDED"


class RequestExists(Conflict):
    """The same change is already requested."""

    code = "REQUEST_EXISTS"
    sentence = "The same change is already requested; approve or cancel that request."


class InvitationForAnother(Forbidden):
    """The invitation is for another e-mail address than the verified one of this account."""

    code = "INVITATION_FOR_ANOTHER"
    sentence = "The invitation is for another e-mail address than that of your account."
    remedy = "Log in to the account with the address to which the invitation was sent."


class SessionRequired(Forbidden):
    """An API key cannot do this; it needs a login."""

    code = "SESSION_REQUIRED"
    sentence = "This needs a login; an API key cannot do it."
    remedy = "Log in and send the token of the login."


class OwnApproval(Forbidden):
    """The initiator of a request, and the developer whom it concerns, do not approve it."""

    code = "OWN_REQUEST"
    sentence = "You started this request, or it concerns you, so others must decide on it."


class NotAnApprover(Forbidden):
    """The rules name other members as approvers of this request."""

    code = "NOT_AN_APPROVER"
    sentence = "The rules of the treasury name other members as approvers of this request."
    remedy = "Ask an approver of the request; its tier names the role or the team."


class ApprovalsMissing(Conflict):
    """The request has fewer approvals than it needs."""

    code = "APPROVALS_MISSING"
    sentence = "The request has fewer approvals than it needs."
    remedy = "Ask the approvers of the request."


class RequestDelayed(Conflict):
    """There are fewer approvers than the rules demand; the request is carried out at `executes_at`."""

    code = "REQUEST_DELAYED"
    sentence = "There are fewer approvers than the rules demand, so the request is carried out after a delay."
    remedy = "Wait until `executes_at`."


class InitiatorWithoutRole(Conflict):
    """The initiator of the request does not have the role any more that the request took."""

    code = "INITIATOR_WITHOUT_ROLE"
    sentence = "The initiator of the request does not have the role any more that it took."
    remedy = "Cancel the request and make it anew."


class OwnersCanAct(Conflict):
    """Enough owners can act, so they alone change the owners."""

    code = "OWNERS_CAN_ACT"
    sentence = "Enough owners of the organization can act: they alone make another owner."


class AppointeeUnknown(NotFound):
    """No developer has this id."""

    code = "APPOINTEE_UNKNOWN"
    sentence = "No developer has this id."


class NotAppointable(Conflict):
    """The developer cannot become an owner."""

    code = "NOT_APPOINTABLE"
    sentence = (
        "The developer is suspended or not verified, or the account is closed, so it cannot become an owner."
    )


class AppointmentOfCaller(Forbidden):
    """Administrators appoint others only."""

    code = "APPOINTMENT_OF_CALLER"
    sentence = "You cannot appoint yourself: another administrator must do it."


class AppointmentPending(Conflict):
    """The organization has a pending appointment of an owner."""

    code = "APPOINTMENT_PENDING"
    sentence = "An owner is already appointed to the organization; wait until it takes effect or is vetoed."


class AppointmentUnknown(NotFound):
    """No appointment of an owner is pending."""

    code = "APPOINTMENT_UNKNOWN"
    sentence = "No appointment of an owner to the organization is pending."


class OwnersTooFew(Conflict):
    """More than half of all owners, the one concerned not among them, cannot agree: there are too few."""

    code = "OWNERS_TOO_FEW"
    sentence = (
        "More than half of all owners must agree without the one concerned, and there are too few others."
    )
    remedy = "Make another member an owner first, or ask the administrators of the registry."
