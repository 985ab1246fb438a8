"""Bonds of a recorded time by another minimum: deposits that would have been refused, and agents whose bond was active at a moment. No I/O."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import datetime

from msgspec.structs import replace

from hansa.foundation.events import BondDeposited, BondReleased, BondReleaseStarted, BondSlashed
from hansa.foundation.plumbing.jobs.reactors import StoredEvent
from hansa.foundation.values.money import ZERO, Minor, parse_amount

from . import rules
from .bond import Bond, Policy, State
from .errors import BondBelowMinimum

BOND_EVENTS = (
    BondDeposited.__name__,
    BondReleaseStarted.__name__,
    BondReleased.__name__,
    BondSlashed.__name__,
)


class BondCourse:
    """States of bonds over time, by the policy of each moment. What is deposited on top of a refused deposit is refused as well."""

    def __init__(self, events: Iterable[StoredEvent], policy_at: Callable[[datetime], Policy]) -> None:
        self._policy_at = policy_at
        self._bonds: dict[str, Bond] = {}
        self._states: dict[str, list[tuple[datetime, State]]] = defaultdict(list)
        self._refused: dict[tuple[str, datetime], str] = {}
        self._without: set[str] = set()
        for event in events:
            self._take(event)

    def refusal_of(self, did: str, moment: datetime) -> str | None:
        """Why the deposit of this moment would have been refused, None where it would not."""
        return self._refused.get((did, moment))

    def is_active(self, did: str, moment: datetime) -> bool:
        """Return whether the bond of an agent was active at a moment."""
        states = [state for at, state in self._states[did] if at <= moment]
        return states[-1:] == [State.ACTIVE]

    def _take(self, event: StoredEvent) -> None:
        did, at = event.aggregate_id, event.timestamp
        bond = replace(
            self._bonds.get(did) or Bond(did, None, State.NONE, None, ZERO, None, None, at), now=at
        )
        if event.event_type == BondReleased.__name__:
            self._without.discard(did)
            bond = replace(bond, state=State.RELEASED, amount=ZERO)
        elif event.event_type == BondDeposited.__name__:
            bond = self._deposited(bond, parse_amount(event.data["amount"]))
        elif did not in self._without:
            bond = self._changed(bond, event)
        self._bonds[did] = bond
        self._states[did].append((at, bond.state))

    def _deposited(self, bond: Bond, amount: Minor) -> Bond:
        try:
            after = rules.deposited(bond, amount, self._policy_at(bond.now))
        except BondBelowMinimum as refusal:
            self._without.add(bond.agent_did)
            self._refused[bond.agent_did, bond.now] = refusal.detail
            return bond
        if bond.agent_did in self._without:
            self._refused[bond.agent_did, bond.now] = "it adds to a deposit that is refused"
            return bond
        return after

    def _changed(self, bond: Bond, event: StoredEvent) -> Bond:
        if event.event_type == BondReleaseStarted.__name__:
            return replace(bond, state=State.RELEASING)
        taken = Minor(min(parse_amount(event.data["amount"]), bond.amount))
        return rules.slashed(bond, taken, self._policy_at(bond.now))
