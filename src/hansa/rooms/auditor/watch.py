"""Supply now, open to anyone at any time, beside the result of the last cycle.

Askers of one process that come together share one reading, which begins after each of them asked: a client that has seen its
transfer acknowledged reads a verdict that includes it, and no number of askers costs more than one reading at a time.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from weakref import WeakKeyDictionary

import msgspec

from hansa.foundation.plumbing.storage.batch_loader import BatchLoader
from hansa.foundation.plumbing.storage.database import Database, Tx

from . import rules, store
from .checkpoint import advance_if_free
from .cycle import audit_on_request
from .store import StoredVerdict
from .supply import LiveReading, SupplyVerdict, read_live

# Beyond this many events to fold, a reading moves the checkpoint on rather than leave them to the next reading too.
EVENTS_FOLDED_MAX = 10_000


class SupplyWatch(msgspec.Struct, frozen=True):
    """The supply at `checked_at`; `last_cycle` is None before the first one.

    While the last cycle is sound, `checks` are the supply of this reading and, under the same name, the findings of that cycle.
    After a cycle that found a breach everything is of one new cycle: a delta never stands beside a status of another
    moment.
    """

    supply: SupplyVerdict
    checked_at: datetime
    last_cycle: StoredVerdict | None
    checks: Mapping[str, str | None]

    @property
    def status(self) -> str:
        """OK when no check found anything."""
        return rules.status_of({name: found for name, found in self.checks.items() if found})

    @property
    def is_ok(self) -> bool:
        """Return whether the status is OK."""
        return self.status == rules.SOUND


_gatherings: WeakKeyDictionary[Database, BatchLoader[str, SupplyWatch]] = WeakKeyDictionary()


async def watch_supply(database: Database) -> SupplyWatch:
    """The supply, read after this call began. Raises: Unavailable."""
    gathering = _gatherings.get(database)
    if gathering is None:

        async def load(asked: Sequence[str]) -> Mapping[str, SupplyWatch]:
            return dict.fromkeys(asked, await _read(database))

        gathering = _gatherings[database] = BatchLoader(load)
    found = await gathering.find("supply")
    assert found is not None
    return found


async def _read(database: Database) -> SupplyWatch:
    async def reading(tx: Tx) -> tuple[LiveReading, StoredVerdict | None]:
        return await read_live(tx), await store.latest_verdict(tx)

    live, last_cycle = await database.read(reading)
    if last_cycle is not None and last_cycle.status != rules.SOUND:
        return await _check_again(database)
    if live.events_folded > EVENTS_FOLDED_MAX:
        await database.transaction(advance_if_free, one_snapshot=True)
    found = last_cycle.checks if last_cycle else {}
    checks = {name: found.get(name) for name in ("per_user", "staked_guard", "escrow", "transactions")}
    supply = rules.SOUND if live.supply.is_ok else rules.BREACH
    return SupplyWatch(live.supply, live.checked_at, last_cycle, {"supply": supply, **checks})


async def _check_again(database: Database) -> SupplyWatch:
    verdict = await database.transaction(audit_on_request, one_snapshot=True)
    supply = verdict.supply
    cycle = StoredVerdict(
        id=verdict.id,
        checked_at=verdict.checked_at,
        as_of_seq=supply.as_of_seq,
        status=verdict.status,
        delta=supply.delta,
        checks=verdict.checks,
        breach_digest=None,
        is_recent=True,
    )
    return SupplyWatch(supply, verdict.checked_at, cycle, verdict.checks)
