"""Reasons to refuse an act on a child."""

from hansa.foundation.values.errors import Conflict, Forbidden, MemberInvalid, NotFound, QuotaReached


class SpawnQuotaReached(QuotaReached):
    """The tree of the agent has 50 living children and forks, or had 10 new ones within a minute."""

    sentence = "The tree of this agent has as many children as it may have."
    remedy = "End a child, or send the request again after the time in the Retry-After header."


class SpawnTooDeep(Conflict):
    """The agent is a child of the third generation and has no children."""

    code = "SPAWN_TOO_DEEP"
    sentence = "A child of the third generation spawns no children."
    remedy = "Let its parent spawn the child."


class ChildEnding(Conflict):
    """The child is ending."""

    code = "CHILD_ENDING"
    sentence = "This child is ending; it gets no rights and no children, and binds itself to nothing new."
    remedy = "Spawn another child."


class ChildUnknown(NotFound):
    """No child of an agent has this DID."""

    sentence = "No child has this DID."


class AgentHasChildren(Conflict):
    """The agent has living children."""

    code = "AGENT_HAS_CHILDREN"
    sentence = "The agent has living children; end them first."
    remedy = "End each child by `POST /agents/{child}/spawn/end`, or wait until they have ended."


class RolesNotHeld(Forbidden):
    """A child has no role that its parent lacks."""

    code = "ROLES_NOT_HELD"
    sentence = "A child has no role that its parent lacks."
    remedy = "Ask for roles that the parent has."


class PolicyWidened(MemberInvalid):
    """A member of the policy of a child is wider than that of its parent."""

    code = "POLICY_WIDENED"
    sentence = "A member of the policy of a child is wider than that of its parent."


class LifetimeTooLong(MemberInvalid):
    """A child does not outlive its parent."""

    code = "LIFETIME_TOO_LONG"
    sentence = "A child does not outlive its parent."
