"""Totals of the units that were swapped with each peer, which two registries compare: counted in the commit that decides a swap."""

from collections.abc import Sequence

import msgspec

from hansa.foundation.plumbing.storage.database import Tx

from .corridor import Corridor
from .envelope import stored_message
from .states import Money

_ADD = """
INSERT INTO transfers_swapped AS row (peer, frame, currency, own_out, foreign_out, own_in, foreign_in)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (peer, currency) DO UPDATE SET own_out = row.own_out + excluded.own_out,
  foreign_out = row.foreign_out + excluded.foreign_out, own_in = row.own_in + excluded.own_in,
  foreign_in = row.foreign_in + excluded.foreign_in
"""

_UNCONFIRMED = """
SELECT currency_received AS currency, amount, prepared FROM transfers_sent
WHERE peer = $1 AND next_at IS NOT NULL AND state = 'committed' AND receipt IS NULL AND currency_received IS NOT NULL
"""


class SwappedTotals(msgspec.Struct, frozen=True):
    """Units of one of the two currencies that swaps with a peer moved; minor units.

    `out`: by swaps of agents here, given or paid to the receiver; `in_`: by swaps of agents there. `confirmed`: the part of `out` that the peer confirmed.
    """

    currency: str
    out: int
    in_: int
    confirmed: int


async def count_swaps(tx: Tx, corridor: Corridor, completing: Sequence[Money]) -> None:
    """Count the swaps that were decided, under the lock of the pair."""
    totals: dict[str, list[int]] = {}
    for one in completing:
        swap = one.body.swap
        if swap is None:
            continue
        is_out = one.kind.value.endswith("_out")
        currency = swap.currency_received if is_out else one.body.currency
        moved = (one.amount, one.net, 0, 0) if is_out else (0, 0, one.net, one.amount)
        known = totals.get(currency, [0, 0, 0, 0])
        totals[currency] = [before + more for before, more in zip(known, moved, strict=True)]
    for currency, counted in totals.items():
        await tx.execute(_ADD, corridor.key, corridor.frame, currency, *counted)


async def swapped_with(tx: Tx, peer: str, currency: str) -> list[SwappedTotals]:
    """Return the totals swapped with the peer of this SPIFFE id, by currency; `currency` is the own one. `tx` must be one snapshot."""
    rows = await tx.fetch("SELECT * FROM transfers_swapped WHERE peer = $1 ORDER BY currency", peer)
    if not rows:
        return []
    given, paid = await _unconfirmed(tx, peer)
    out, in_ = sum(int(row["own_out"]) for row in rows), sum(int(row["own_in"]) for row in rows)
    own = SwappedTotals(currency, out, in_, out - given)
    foreign = [
        SwappedTotals(
            row["currency"],
            int(row["foreign_out"]),
            int(row["foreign_in"]),
            int(row["foreign_out"]) - paid.get(row["currency"], 0),
        )
        for row in rows
    ]
    return [own, *foreign]


async def _unconfirmed(tx: Tx, peer: str) -> tuple[int, dict[str, int]]:
    """Return the units given for swaps that the peer has not confirmed, and the units paid for them by currency."""
    given, paid = 0, dict[str, int]()
    for row in await tx.fetch(_UNCONFIRMED, peer):
        promise = None if row["prepared"] is None else stored_message(row["prepared"])
        given += row["amount"]
        net = 0 if promise is None else promise.net or 0
        paid[row["currency"]] = paid.get(row["currency"], 0) + net
    return given, paid


async def swapped_totals(tx: Tx, currency: str) -> dict[str, list[SwappedTotals]]:
    """Return the totals swapped with every registry, by its ledger id. See `swapped_with`."""
    peers = await tx.fetch("SELECT DISTINCT peer, frame FROM transfers_swapped ORDER BY frame")
    return {row["frame"]: await swapped_with(tx, row["peer"], currency) for row in peers}
