"""One move of a bond: its row, its card and its event, in one commit."""

from hansa.foundation.events import Event
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import catalogue, journal

from . import store
from .bond import Bond, State
from .errors import BondWrongState

_WITHOUT = (State.NONE, State.RELEASED)


async def move(tx: Tx, before: Bond, after: Bond, event: Event) -> None:
    """Write a move. Raises: BondWrongState when the bond is not as it is moved from."""
    if not await store.save(tx, before, after):
        raise BondWrongState("The bond has changed meanwhile.")
    await catalogue.show_bond(tx, after.agent_did, _as_shown(after))
    await journal.append(tx, event)


def _as_shown(bond: Bond) -> catalogue.Bond:
    if bond.state in _WITHOUT:
        return catalogue.Bond(None, None, is_bonded=False)
    return catalogue.Bond(bond.state, bond.amount, is_bonded=bond.state == State.ACTIVE)
