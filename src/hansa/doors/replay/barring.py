"""Acts of a period that rules of other rooms would have refused with other parameters: by the bonds of providers, and by the trust in peers.

A rule bars acts only where the replay changes its mode or one of its settings. Without a change the acts happened by that rule.
"""

from collections.abc import Callable
from datetime import datetime
from typing import TypeAlias

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import commerce, federation, governance, journal, ledger, reputation

from .parameters import Course, ReplayRefused

Bar: TypeAlias = Callable[[ledger.replay.Movement], str | None]
"""Why an act is refused, None where this rule does not refuse it."""


async def bars_of(tx: Tx, course: Course, book: ledger.Book, last: int, since: datetime) -> list[Bar]:
    """The rules that bar acts of a period that ends with the event `last`. Raises: ReplayRefused."""
    bars: list[Bar] = []
    if course.enforces("bond_mode", governance.BONDS) or not course.changes.keys().isdisjoint(
        governance.BONDS
    ):
        bars.append(await _by_bonds(tx, course, last, since))
    if course.enforces("peer_trust_mode", governance.PEER_TRUST):
        bars.append(await _by_peer_trust(tx, course, book))
    return bars


async def _by_bonds(tx: Tx, course: Course, last: int, since: datetime) -> Bar:
    if await journal.boundary(tx) is not None:
        raise ReplayRefused("A month was dropped, and bonds need the journal from its beginning.")
    events = await journal.events_of_types(tx, reputation.BOND_EVENTS, last)
    bonds = reputation.BondCourse(events, lambda moment: reputation.BondPolicy.of(course.settings_at(moment)))
    is_enforced = course.enforces("bond_mode", governance.BONDS)
    holds = await commerce.bonded_holds(tx, since) if is_enforced else set()

    def bar(movement: ledger.replay.Movement) -> str | None:
        if movement.held_for == reputation.BOND_HOLD and movement.payer is not None:
            return bonds.refusal_of(movement.payer, movement.recorded_at)
        if movement.tx_type != "hold" or movement.hold_id not in holds or movement.hold_payee is None:
            return None
        if bonds.is_active(movement.hold_payee, movement.recorded_at):
            return None
        return "the provider has no active bond"

    return bar


async def _by_peer_trust(tx: Tx, course: Course, book: ledger.Book) -> Bar:
    trust = await federation.trust_course(
        tx, lambda moment: federation.Thresholds.of(course.settings_at(moment))
    )
    accounts = {account: peer for peer in trust.peers for account in (book.transit(peer), book.leg(peer))}

    def bar(movement: ledger.replay.Movement) -> str | None:
        if movement.tx_type not in {"out", "in"}:
            return None
        peer = next((accounts[party] for party in movement.parties if party in accounts), None)
        if peer is None or not trust.refuses_crossings(peer, movement.recorded_at):
            return None
        return f"the peer {peer} is suspended by its trust score"

    return bar
