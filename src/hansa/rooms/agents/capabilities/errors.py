"""Why a capability refuses."""

from hansa.foundation.values.errors import Conflict, Forbidden, NotFound


class CapabilityAbsent(NotFound):
    """No capability has this id or token, or the calling agent is neither its issuer nor its holder."""

    code = "CAPABILITY_UNKNOWN"
    sentence = "No capability that this agent issued or holds has this id."


class CapabilityUnknown(Forbidden):
    """No capability has this id or token, or the calling agent is not its holder."""

    code = "CAPABILITY_UNKNOWN"
    sentence = "This capability token is unknown, or another agent is its holder."


class CapabilityEnded(Forbidden):
    """The capability is revoked, expired or used up; the context names its status."""

    code = "CAPABILITY_ENDED"
    remedy = "Ask the issuer for a new capability."


class CaveatViolated(Forbidden):
    """The request violates a caveat of the capability; the context names the caveat."""

    code = "CAPABILITY_CAVEAT"


class CapabilityBudgetSpent(Forbidden):
    """The amount exceeds the remaining budget of the capability or of one of its parents."""

    code = "CAPABILITY_BUDGET"
    remedy = "Request a smaller amount, or ask the issuer for a new capability."


class DelegatorMayNot(Forbidden):
    """The issuer of the capability may no longer act, delegate, or use the delegated permission."""

    code = "CAPABILITY_DELEGATOR"
    sentence = "The issuer of this capability may no longer use or delegate this permission."


class PermissionNotHeld(Forbidden):
    """An agent can delegate only permissions that its own roles include."""

    code = "CAPABILITY_NOT_HELD"


class CapabilityWidened(Forbidden):
    """A derived capability must not be wider than its parent; the context names the caveat."""

    code = "CAPABILITY_WIDENED"


class NotRedelegable(Forbidden):
    """The capability cannot be delegated further, or its chain has the maximum length."""

    code = "CAPABILITY_NOT_REDELEGABLE"


class HolderUnknown(NotFound):
    """No agent of this registry has the DID of the holder; check holder_agent_did."""

    code = "HOLDER_UNKNOWN"
    sentence = "No agent of this registry has the DID of the holder; check holder_agent_did."


class TooManyCapabilities(Conflict):
    """The agent has the maximum number of active capabilities."""

    code = "TOO_MANY_CAPABILITIES"
    remedy = "Revoke a capability that is no longer needed first."


PASSED_IN_SHADOW = (
    CapabilityUnknown,
    CapabilityEnded,
    CaveatViolated,
    CapabilityBudgetSpent,
    DelegatorMayNot,
)
"""Refusals that AGENT_DELEGATION_MODE `shadow` counts and lets pass."""
