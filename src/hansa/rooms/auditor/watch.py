"""What anyone may ask at any time: the supply now, beside what the last cycle found.

Askers of one process that come together share one reading, which begins after each of them asked: whoever has seen its
transfer acknowledged reads a verdict that includes it, and no number of askers costs more than one reading at a time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from weakref import WeakKeyDictionary

from hansa.foundation.plumbing.database import Database, Tx
from hansa.foundation.plumbing.gather import Gathering

from . import rules, store
from .checkpoint import advance_if_free
from .store import KeptVerdict
from .supply import LiveReading, SupplyVerdict, read_live

# Beyond this many events to fold, a reading moves the checkpoint on rather than leave them to the next reading too.
EVENTS_FOLDED_MAX = 10_000


@dataclass(frozen=True)
class SupplyWatch:
    """The supply at `checked_at`; `last_cycle` is None before the first one."""

    supply: SupplyVerdict
    checked_at: datetime
    last_cycle: KeptVerdict | None

    @property
    def checks(self) -> dict[str, str | None]:
        """`supply` as of now, the others as the last cycle found them, None before the first."""
        found = self.last_cycle.checks if self.last_cycle else {}
        others = {name: found.get(name) for name in ("per_user", "staked_guard", "transactions")}
        return {"supply": rules.SOUND if self.supply.is_ok else rules.BREACH, **others}

    @property
    def status(self) -> str:
        """OK when no check found anything."""
        return rules.status_of({name: found for name, found in self.checks.items() if found})

    @property
    def is_ok(self) -> bool:
        """Whether the status is OK."""
        return self.status == rules.SOUND


_gatherings: WeakKeyDictionary[Database, Gathering[str, SupplyWatch]] = WeakKeyDictionary()


async def watch_supply(database: Database) -> SupplyWatch:
    """The supply, read after this call began. Raises: Unavailable."""
    gathering = _gatherings.get(database)
    if gathering is None:

        async def load(asked: Sequence[str]) -> Mapping[str, SupplyWatch]:
            return dict.fromkeys(asked, await _read(database))

        gathering = _gatherings[database] = Gathering(load)
    found = await gathering.find("supply")
    assert found is not None
    return found


async def _read(database: Database) -> SupplyWatch:
    async def reading(tx: Tx) -> tuple[LiveReading, KeptVerdict | None]:
        return await read_live(tx), await store.latest_verdict(tx)

    live, last_cycle = await database.read(reading)
    if live.events_folded > EVENTS_FOLDED_MAX:
        await database.act(advance_if_free, one_snapshot=True)
    return SupplyWatch(live.supply, live.checked_at, last_cycle)
