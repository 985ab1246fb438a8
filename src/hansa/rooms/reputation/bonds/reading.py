"""Bond as everyone may read it, with the obstacles to its release."""

from collections.abc import Mapping

from hansa.foundation.plumbing.room import AccountEnd
from hansa.foundation.plumbing.room import Blocker as EndBlocker
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import format_amount
from hansa.rooms import agents, commerce

from . import rules, store
from .bond import Bond, BondShown, Business
from .errors import BonderUnknown


async def read_bond(tx: Tx, did: str) -> BondShown:
    """The bond of an agent of this registry. Raises: BonderUnknown."""
    if await agents.owner_of(tx, did) is None:
        raise BonderUnknown
    return await shown(tx, await store.find(tx, did))


async def shown(tx: Tx, bond: Bond) -> BondShown:
    """A bond with its blockers; without units there is nothing to block."""
    if bond.hold_id is None:
        return BondShown(bond, ())
    business = await open_business(tx, bond.agent_did)
    return BondShown(bond, (*rules.maturity_of(bond), *rules.blockers_of(business)))


async def open_business(tx: Tx, did: str) -> Business:
    """The open disputes and contracts of an agent that its bond covers."""
    return Business(await commerce.disputed_of(tx, did), await commerce.open_contracts_of(tx, did))


async def _blockers(tx: Tx, agents_of_developer: Mapping[str, str]) -> list[EndBlocker]:
    amounts = await store.amounts_of(tx, list(agents_of_developer))
    detail = "Release the bond of the agent, and unlock it."
    return [
        EndBlocker("bond", did, format_amount(amount), detail) for did, amount in amounts.items() if amount
    ]


ACCOUNT_END_OF_BONDS = AccountEnd(_blockers)
