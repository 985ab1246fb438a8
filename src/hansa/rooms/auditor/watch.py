"""Supply now, open to anyone at any time, beside the result of the last cycle.

Askers of one process that come together share one reading, which begins after each of them asked: a client that has seen its
transfer acknowledged reads a verdict that includes it, and no number of askers costs more than one reading at a time.

Here also: the lines of the bridge in the supply audit (wrapped units of others held here, own units locked for them elsewhere),
the badge (one word that anyone may show on a page of theirs), and the supply over time from the verdicts of the audit cycles.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from html import escape
from weakref import WeakKeyDictionary

import msgspec

from hansa.foundation.plumbing.storage.batch_loader import BatchLoader
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.foundation.values.money import Minor, format_amount
from hansa.rooms import ledger, transfers

from . import rules, store
from .cycle import audit_on_request
from .store import StoredVerdict
from .supply import SupplyVerdict, advance_if_free, read_live

# Beyond this many events to fold, a reading moves the checkpoint on rather than leave them to the next reading too.
EVENTS_FOLDED_MAX = 10_000
LABEL = "supply"
HEIGHT = 20
PADDING = 6
# Wide enough for any of the usual sans-serif fonts; the text is fitted to it.
CHARACTER_WIDTH = 7


OF_CYCLES = ("per_user", "staked_guard", "escrow", "transactions", "shares", "solvency")
"""Checks that only a cycle makes."""


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
    live, last_cycle = await database.read(lambda tx: read_together(tx, read_live, store.latest_verdict))
    if last_cycle is not None and last_cycle.status != rules.SOUND:
        return await _check_again(database)
    if live.events_folded > EVENTS_FOLDED_MAX:
        await database.transaction(advance_if_free, one_snapshot=True)
    found = last_cycle.checks if last_cycle else {}
    checks = {name: found.get(name) for name in OF_CYCLES}
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


class Bridges(msgspec.Struct, frozen=True):
    """Both sides of the bridge at one moment. `locked` is by ledger id, in minor units."""

    wrapped: Sequence[transfers.WrappedSupply]
    locked: Mapping[str, Minor]


async def read_bridges(tx: Tx) -> Bridges:
    """Return the balances of the bridge; `tx` must be one snapshot."""
    return Bridges(await transfers.wrapped_supply(tx), await ledger.locked_in_bridges(tx))


class SupplyBadge(msgspec.Struct, frozen=True):
    """Content of the badge; `color` is `brightgreen` or `red`."""

    label: str
    message: str
    color: str
    status: str
    delta: str

    @classmethod
    def of(cls, watch: SupplyWatch) -> "SupplyBadge":
        """The badge of a reading."""
        delta = format_amount(watch.supply.delta)
        if watch.status == rules.SOUND:
            return cls(LABEL, "in balance", "brightgreen", watch.status, delta)
        return cls(LABEL, f"breach {delta}" if watch.supply.delta else "breach", "red", watch.status, delta)


def draw(badge: SupplyBadge) -> str:
    """The badge as SVG, complete in itself."""
    left, right = _width(badge.label), _width(badge.message)
    title = escape(f"{badge.label}: {badge.message}")
    fill = "#2e7d32" if badge.status == rules.SOUND else "#c62828"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="{HEIGHT}" role="img" aria-label="{title}">'
        f"<title>{title}</title>"
        f'<clipPath id="r"><rect width="{left + right}" height="{HEIGHT}" rx="3"/></clipPath>'
        f'<g clip-path="url(#r)"><rect width="{left}" height="{HEIGHT}" fill="#444"/>'
        f'<rect x="{left}" width="{right}" height="{HEIGHT}" fill="{fill}"/></g>'
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">'
        f"{_text(badge.label, 0, left)}{_text(badge.message, left, right)}</g></svg>"
    )


def _width(text: str) -> int:
    return len(text) * CHARACTER_WIDTH + 2 * PADDING


def _text(text: str, start: int, width: int) -> str:
    fitted = width - 2 * PADDING
    return f'<text x="{start + width / 2:g}" y="14" textLength="{fitted}" lengthAdjust="spacingAndGlyphs">{escape(text)}</text>'


class SupplyPoint(msgspec.Struct, frozen=True):
    """Result of one audit cycle; amounts in minor units."""

    checked_at: datetime
    issued: Minor
    destroyed: Minor
    circulating: Minor
    agent_count: int


async def supply_over_time(tx: Tx, points: int) -> list[SupplyPoint]:
    """At most so many cycles from the first to the newest, about evenly spaced, oldest first."""
    return [
        SupplyPoint(
            checked_at=row["checked_at"],
            issued=Minor(int(row["issued"])),
            destroyed=Minor(int(row["destroyed"])),
            circulating=Minor(int(row["circulating"])),
            agent_count=row["agent_count"],
        )
        for row in await store.sample_verdicts(tx, points)
    ]
