"""Why an act on a bond is refused."""

from hansa.foundation.values.errors import Conflict, Forbidden, Invalid, NotFound


class BondOfAnother(Forbidden):
    """An agent deposits and releases its own bond only."""

    code = "BOND_OF_ANOTHER"
    sentence = "An agent deposits and releases its own bond only."


class BonderUnknown(NotFound):
    """No agent of this registry has this DID."""

    code = "AGENT_UNKNOWN"
    sentence = "No agent of this registry has this DID."


class BondBelowMinimum(Invalid):
    """The deposit does not reach the minimum of a bond."""

    code = "BOND_BELOW_MINIMUM"
    sentence = "The deposit does not reach the minimum of a bond."


class BondWrongState(Conflict):
    """The bond is not in a state in which this can be done."""

    code = "BOND_WRONG_STATE"


class BondBlocked(Conflict):
    """The bond is not released yet: it has not matured, or contracts or disputes of the agent are open."""

    code = "BOND_BLOCKED"
    remedy = "Wait until `releasable_at`, and until the contracts and disputes of the agent have ended."
