"""Interface of commerce to the bonds of providers; the room of reputation fills the slot."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from hansa.foundation.plumbing.process.runtime import Slot
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.commerce.requirement import Required

BondAdmits: TypeAlias = Callable[[Tx, str, Settings, Required | None], Awaitable[bool]]

BOND_ADMITS: Slot[BondAdmits] = Slot("commerce: may an agent accept a contract of version 2")
"""Called with the DID of the agent and the requirement of the proposal. A bond that is required and present does not begin to
end before the transaction ends."""
