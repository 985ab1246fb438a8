"""Move an agent to another address: the address is checked first, then written to the card of the version that was read."""

from .address import AddressMissing, CardAddress, address_of_agent
from .checking import Unfit, check_address
from .writing import CardChanged, move_card

__all__ = [
    "AddressMissing",
    "CardAddress",
    "CardChanged",
    "Unfit",
    "address_of_agent",
    "check_address",
    "move_card",
]
