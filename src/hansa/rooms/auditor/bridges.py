"""The lines of the bridge in the supply audit: wrapped units of others held here, and own units locked for them elsewhere."""

from collections.abc import Mapping, Sequence

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor
from hansa.rooms import ledger, transfers


class Bridges(msgspec.Struct, frozen=True):
    """Both sides of the bridge at one moment. `locked` is by ledger id, in minor units."""

    wrapped: Sequence[transfers.WrappedSupply]
    locked: Mapping[str, Minor]


async def read_bridges(tx: Tx) -> Bridges:
    """Return the balances of the bridge; `tx` must be one snapshot."""
    return Bridges(await transfers.wrapped_supply(tx), await ledger.locked_in_bridges(tx))
