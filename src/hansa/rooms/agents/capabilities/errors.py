"""Why a capability refuses."""

from hansa.foundation.values.errors import Conflict, Forbidden, NotFound


class CapabilityAbsent(NotFound):
    """No capability has that id, or the caller has no part in it."""

    code = "CAPABILITY_ABSENT"
    sentence = "No capability that you have a part in has that id."


class CapabilityUnknown(Forbidden):
    """No capability has that token, or another agent is its holder."""

    code = "CAPABILITY_UNKNOWN"
    sentence = "This capability token is not good for this agent."


class CapabilityEnded(Forbidden):
    """The capability is revoked, expired or used up; the context names its status."""

    code = "CAPABILITY_ENDED"


class CaveatViolated(Forbidden):
    """What is asked for is outside a caveat of the capability; the context names the caveat."""

    code = "CAPABILITY_CAVEAT"


class CapabilityBudgetSpent(Forbidden):
    """The amount is more than what is left of the budget of the capability or of one it was drawn from."""

    code = "CAPABILITY_BUDGET"


class DelegatorMayNot(Forbidden):
    """The agent that the capability comes from may no longer act, delegate, or do what it delegated."""

    code = "CAPABILITY_DELEGATOR"
    sentence = "The agent that this capability comes from may not do or delegate that any more."


class PermissionNotHeld(Forbidden):
    """An agent delegates only permissions that its own roles give."""

    code = "CAPABILITY_NOT_HELD"


class CapabilityWidened(Forbidden):
    """What is drawn from a capability lies within it; the context names the caveat that would be wider."""

    code = "CAPABILITY_WIDENED"


class NotRedelegable(Forbidden):
    """The capability says that nothing is drawn from it, or the chain is as long as a chain may be."""

    code = "CAPABILITY_NOT_REDELEGABLE"


class HolderUnknown(NotFound):
    """No agent of this registry has the DID of the holder."""

    code = "HOLDER_UNKNOWN"
    sentence = "No agent of this registry has the DID of the holder."


class TooManyCapabilities(Conflict):
    """The agent has issued as many capabilities as may be alive at once."""

    code = "TOO_MANY_CAPABILITIES"
