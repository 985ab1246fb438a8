"""Facts of reputation: the bonds of agents. The status of a bond is public, and so are its events."""

from hansa.foundation.events.base import AgentEvent


class BondDeposited(AgentEvent, frozen=True):
    """The agent deposited `amount`; its bond is active and holds `total`."""

    amount: str
    total: str
    currency: str


class BondReleaseStarted(AgentEvent, frozen=True):
    """The agent began to release its bond, which does not count any more."""

    amount: str
    releasable_at: str


class BondReleased(AgentEvent, frozen=True):
    """The agent has its bond back, by this ledger transaction."""

    amount: str
    tx_id: int


class BondSlashed(AgentEvent, frozen=True):
    """A ruling destroyed `amount` of the bond by this ledger transaction. `left` is what it still holds, in this `state`."""

    amount: str
    left: str
    state: str
    ref: str
    tx_id: int
