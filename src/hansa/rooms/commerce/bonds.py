"""Interfaces of commerce to the bonds of providers and defendants; the room of reputation, which owns bonds, fills the slots."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import msgspec

from hansa.foundation.plumbing.process.runtime import Slot
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor
from hansa.rooms.commerce.requirement import Required


class BondSlash(msgspec.Struct, frozen=True):
    """Destroy up to `amount` of the bond of this agent; `ref` is unique among references of destroyed units."""

    did: str
    amount: Minor
    ref: str


class BondSlashed(msgspec.Struct, frozen=True):
    """Destroyed units of a bond, and the ledger transaction; None when there was nothing."""

    amount: Minor
    tx_id: int | None


BondAdmits: TypeAlias = Callable[[Tx, str, Settings, Required | None], Awaitable[bool]]

BOND_ADMITS: Slot[BondAdmits] = Slot("commerce: may an agent accept a contract of version 2")
"""Called with the DID of the agent and the requirement of the proposal. A bond that is required and present does not begin to
end before the transaction ends."""

SlashBond: TypeAlias = Callable[[Tx, BondSlash, Settings], Awaitable[BondSlashed]]

SLASH_BOND: Slot[SlashBond] = Slot("commerce: slash of a bond")
"""Called within the transaction of a ruling, whose rows are locked by then. It refuses nothing: it takes what is there."""
