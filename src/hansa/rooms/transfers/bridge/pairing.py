"""The chain of the pair as sagas of the bridge use it: it is the one of transfers, so that a restore loses of both or of neither.

Own sagas are not in the chain when they begin: a chain that grows without an answer of the other side would hide a fork. A decision
that the destination made without its source knowing is repeated until the source confirms it.
"""

from dataclasses import replace
from uuid import UUID

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.transfers.crossing import pair_chain, reopening
from hansa.rooms.transfers.crossing import store as pairs
from hansa.rooms.transfers.crossing.corridor import Corridor
from hansa.rooms.transfers.crossing.pair_chain import Pair

from .messages import Message, Terms


async def observe(tx: Tx, corridor: Corridor, pair: Pair, message: Message) -> Pair | None:
    """Judge the positions of a message, under the lock of the pair; None where its content does not count."""
    return await reopening.observe(tx, corridor.key, pair, message.positions, corridor.reopened)


async def record(tx: Tx, peer: str, pair: Pair, entry: str, terms: Terms, *, is_done: bool) -> Pair:
    """Append a decision, or the end of an own saga, to the own chain."""
    grown = pair_chain.append(pair, entry, terms.digest(is_done=is_done))
    await pairs.write_pair(tx, peer, grown)
    await pairs.add_entries(tx, peer, [pairs.Entry(grown.own, entry, UUID(terms.saga_id))])
    return grown


def stamped(pair: Pair, message: Message) -> Message:
    """The message as it is signed and sent now."""
    return replace(message, own=pair.own, seen=pair.seen, to=pair.peer)
