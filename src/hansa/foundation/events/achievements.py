"""Facts of flares, private to the agent."""

from typing import ClassVar

from hansa.foundation.events.base import AgentEvent


class FlarePurchased(AgentEvent, frozen=True):
    """An agent bought a flare by this ledger transaction, which paid `price` to the treasury and `fee` on top."""

    is_always_recorded: ClassVar[bool] = True
    is_private: ClassVar[bool] = True

    variant: str
    slot: str
    price: str
    fee: str
    currency: str
    tx_id: int
