"""Units issued to a complainant because another registry confirmed that it destroyed units of the defendant.

They count toward `net_in_limit` of that registry, as units that it brings in: its word makes units here.
"""

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor

from . import orders, store
from .book import Book
from .engine import Result, apply
from .errors import PeerLimitReached
from .supply import require_issuable

_OPEN = """
INSERT INTO ledger_corridor (transit_id) SELECT id FROM ledger_account WHERE did = $1 AND unit = ''
ON CONFLICT DO NOTHING
"""

_COUNT = """
UPDATE ledger_corridor k SET compensated = k.compensated + $2 FROM ledger_account a
WHERE a.did = $1 AND a.unit = '' AND k.transit_id = a.id
  AND ($3::bigint IS NULL OR ledger_net_in(a.id) + $2 <= $3) RETURNING 1
"""


class Compensation(msgspec.Struct, frozen=True):
    """Units to issue, and their limits: the most of one issue, and the net_in_limit of the registry that confirmed the slash."""

    complainant: str
    amount: Minor
    frame: str
    ref: str
    amount_max: Minor
    net_in_limit: Minor | None


async def compensate(tx: Tx, asked: Compensation, book: Book) -> Result:
    """Issue units to the account of a complainant, once for each reference.

    Raises: PeerLimitReached, MintTooLarge, SupplyExhausted, AccountUnknown.
    """
    transit, amount = book.transit(asked.frame), asked.amount
    await store.open_accounts(tx, [transit], kind="system")
    await require_issuable(
        tx, amount, amount_max=asked.amount_max, parties=[asked.complainant, transit], book=book
    )
    await tx.execute(_OPEN, transit)
    if await tx.fetchval(_COUNT, transit, amount, asked.net_in_limit) is None:
        raise PeerLimitReached
    return (await apply(tx, [orders.issue(asked.complainant, amount, asked.ref)], book))[0]
