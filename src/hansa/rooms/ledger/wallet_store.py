"""SQL of a wallet: the balances of an account, its open holds, and the units that each kind of owner holds, in one statement."""

from collections.abc import Mapping, Sequence

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.paging import read_page, with_total
from hansa.foundation.values.money import ZERO, Minor

from .errors import AccountUnknown
from .holds_store import OPEN_OF_PAYER, Hold
from .staking.figures import Holdings
from .staking.store import HOLDINGS

_WALLET = with_total(
    OPEN_OF_PAYER,
    f"""
SELECT jsonb_build_object('holdings', (SELECT to_jsonb(held) FROM ({HOLDINGS}) held), 'by_owner', (
  SELECT coalesce(jsonb_object_agg(owner_kind, units), '{{}}') FROM (
    SELECT h.owner_kind, sum(h.remaining) AS units FROM ledger_hold h JOIN ledger_account payer ON payer.id = h.payer_id
    WHERE payer.did = $1 AND h.remaining > 0 GROUP BY h.owner_kind) kinds))
""",  # noqa: S608
)


class _Sums(msgspec.Struct, frozen=True):
    """Balances of an account, None for an unknown one, and its units in holds by the kind of their owner."""

    holdings: Holdings | None
    by_owner: Mapping[str, int]


class Wallet(msgspec.Struct, frozen=True):
    """Balances of an account with its newest open holds."""

    holdings: Holdings
    holds: Sequence[Hold]
    by_owner: Mapping[str, int]

    def held_for(self, owner_kind: str) -> Minor:
        """Units in the open holds of one kind of owner."""
        return Minor(self.by_owner.get(owner_kind, ZERO))


async def read_wallet(tx: Tx, did: str, holds: int) -> Wallet:
    """The wallet of an account with at most so many holds, the newest first. Raises: AccountUnknown."""
    rows, sums = await read_page(tx, _WALLET, did, holds)
    found = msgspec.json.decode(sums, type=_Sums)
    if found.holdings is None:
        raise AccountUnknown
    return Wallet(found.holdings, [Hold(**row) for row in rows], found.by_owner)
