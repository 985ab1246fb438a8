"""Accounts of one owner together: what they hold, and what came in and went out in the last days.

Units that move between these accounts, or between the buckets of one, are neither received nor paid.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import ZERO, Minor
from hansa.rooms.ledger.accounts import Balance

from . import store

# So many of the newest postings are read in all, the same number of each account, so that a page costs little whatever
# the accounts did; and at least so many of each.
POSTINGS_OF_ALL = 3000
POSTINGS_LEAST = 30


class Movement(msgspec.Struct, frozen=True):
    """A transaction and its net effect on the accounts together, in minor units."""

    tx_id: int
    net: Minor
    recorded_at: datetime


class Portfolio(msgspec.Struct, frozen=True):
    """Balances by DID, units received and paid by day (UTC), and the newest transactions; amounts in minor units.

    `known_since`: an account has more postings than are read, and nothing earlier is in the days. `has_payments`: one of the
    transactions that were read is a payment.
    """

    now: datetime
    balances: Mapping[str, Balance]
    days: Mapping[date, tuple[Minor, Minor]]
    newest: Sequence[Movement]
    has_payments: bool
    known_since: datetime | None

    @property
    def total(self) -> Minor:
        """Everything that the accounts hold."""
        return Minor(sum(one.liquid + one.staked + one.escrow for one in self.balances.values()))

    def cut_within(self, days: int) -> datetime | None:
        """The time before which nothing is known, where that lies within today and the days before, `days` in all."""
        begins = datetime.combine(self._today - timedelta(days=days - 1), time(), UTC)
        return self.known_since if self.known_since is not None and self.known_since > begins else None

    def moved(self, days: int) -> tuple[Minor, Minor]:
        """Units received and paid today and on the days before, `days` in all; only those since `cut_within`, where that is a time."""
        first = self._today - timedelta(days=days - 1)
        counted = [amounts for day, amounts in self.days.items() if day >= first]
        return Minor(sum(received for received, _ in counted)), Minor(sum(paid for _, paid in counted))

    def line(self, days: int) -> list[tuple[datetime, Minor]]:
        """The total at the beginning of each of the last `days` days, today included, and now; the oldest first."""
        points, total = [(self.now, self.total)], self.total
        for back in range(days):
            day = self._today - timedelta(days=back)
            begins = datetime.combine(day, time(), UTC)
            if self.known_since is not None and begins < self.known_since:
                break
            received, paid = self.days.get(day, (ZERO, ZERO))
            total = Minor(total - received + paid)
            points.append((begins, total))
        return points[::-1]

    @property
    def _today(self) -> date:
        return self.now.astimezone(UTC).date()


async def read_portfolio(tx: Tx, dids: Sequence[str], *, days: int, newest: int) -> Portfolio:
    """The accounts of these agents together; `newest` is the number of transactions. An unknown DID has no balance."""
    postings_max = max(POSTINGS_OF_ALL // max(len(dids), 1), POSTINGS_LEAST)
    row = await store.holdings_of(tx, dids, postings_max=postings_max, days=days, newest=newest)
    balances = msgspec.json.decode(row["balances"] or "[]", type=list[tuple[str, int, int, int]])
    by_day = msgspec.json.decode(row["days"] or "[]", type=list[tuple[date, int, int]])
    movements = msgspec.json.decode(row["newest"] or "[]", type=list[tuple[int, int, datetime]])
    return Portfolio(
        now=row["now"],
        balances={
            did: Balance(did, Minor(liquid), Minor(staked), Minor(escrow))
            for did, liquid, staked, escrow in balances
        },
        days={day: (Minor(received), Minor(paid)) for day, received, paid in by_day},
        newest=[Movement(tx_id, Minor(net), recorded_at) for tx_id, net, recorded_at in movements],
        has_payments=row["has_payments"],
        known_since=row["known_since"],
    )
