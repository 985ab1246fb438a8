"""Histories in which administrators act on peers: remove them with --abandon, add them again, pause, quarantine, rename.

After `HEALED` two registries are peers again, or gone for good on both sides. Between peers everything then ends as if nothing had
happened; of a peer that is gone every row has ended, and what both sides together lack is what an administrator gave up.
"""

from collections import Counter
from collections.abc import Callable, Iterator

from hansa.rooms.commerce.slash_settlements import settlement as slashes
from hansa.rooms.commerce.slash_settlements.settlement import Settlement, Status
from hansa.rooms.transfers.bridge.messages import Direction
from hansa.rooms.transfers.bridge.sagas import State
from hansa.rooms.transfers.crossing import receiver
from hansa.rooms.transfers.crossing.messages import Code
from hansa.rooms.transfers.crossing.states import Received, ReceivedState, Sent, SentState

from .model import Registry, Toward, require, require_quiet
from .simulation import HEALED
from .together import BusyHistory, BusyRegistry

GONE_FOR_GOOD = 0.3
Acts = Counter[str]
Act = Callable[[str, str], None]
Event = Callable[[], None]


class AbandoningHistory(BusyHistory):
    """A busy history with acts on peers at any moment, in all orders with restores and faults."""

    def begin(self) -> None:
        self.acts = Acts()
        self.names_given = 0
        self.gone: set[frozenset[str]] = set()
        for one in self.honest.values():
            for peer in one.toward:
                one.befriend(peer, self._display_name(peer))
        super().begin()

    def run(self) -> "AbandoningHistory":
        super().run()
        return self

    def given_up(self) -> int:
        return sum(amount for one, other in self._pairs_gone() for _, amount in differences(one, other))

    def counted(self) -> dict[str, int]:
        found = Counter(kind for one, other in self._pairs_gone() for kind, _ in differences(one, other))
        again = [
            one.code for kept in self._all() for one in (*kept.sent.values(), *kept.received.values())
        ].count(Code.PEER_ABANDONED)
        return {
            **super().counted(),
            **self.acts,
            **found,
            "rows abandoned": again,
            "pairs gone": len(self.gone),
        }

    def require_ended(self, one: Registry, other: Registry) -> None:
        if frozenset((one.name, other.name)) not in self.gone:
            require_quiet(one, other)
            return
        for payer, payee in ((one, other), (other, one)):
            _require_rows_ended(payer, payee)

    def require_beside_ended(self, one: BusyRegistry, other: BusyRegistry) -> None:
        if frozenset((one.name, other.name)) not in self.gone:
            super().require_beside_ended(one, other)
            return
        _require_bridge_given_up(one, other)
        kept, decided = one.slashes[other.name], other.slashes[one.name]
        for dispute in kept.outgoing.keys() | decided.incoming.keys():
            self.require_slash_ended(one, other, dispute)

    def require_slash_ended(self, one: BusyRegistry, other: BusyRegistry, dispute: int) -> None:
        kept, decided = one.slashes[other.name], other.slashes[one.name]
        is_gone = frozenset((one.name, other.name)) in self.gone
        if not is_gone and not _is_abandoned(kept.outgoing.get(dispute)) and dispute not in kept.given_up:
            super().require_slash_ended(one, other, dispute)
            return
        asked, there = kept.outgoing.get(dispute), decided.incoming.get(dispute)
        owed = slashes.owed(asked) if asked is not None else 0
        require(asked is None or asked.is_closed, "a slash without an end", asked)
        require(there is None or there.is_closed, "a slash without an end", there)
        require(kept.minted.get(dispute, 0) == owed, "what was issued is not recorded", asked)
        slashed = there.slashed if there is not None and there.status is Status.SETTLED else 0
        require(decided.destroyed.get(dispute, 0) == slashed, "what was destroyed is not recorded", there)
        is_honest = not one.was_restored and not other.was_restored
        require(not is_honest or owed <= slashed, "more was issued than was destroyed", asked, there)

    def _plan(self, names: list[str]) -> None:
        super()._plan(names)
        for _ in range(self.rng.randint(1, 4)):
            act = self.rng.choice((self._abandon, self._abandon, self._pause, self._quarantine, self._rename))
            latest = self.rng.choice((60.0, HEALED - 20))
            self._at(self.rng.uniform(0, latest), lambda act=act: self._act(act))
        for one in names:
            for other in names:
                if one >= other:
                    continue
                if self.rng.random() < GONE_FOR_GOOD:
                    gone = self.rng.uniform(0, HEALED)
                    self._at(gone, lambda one=one, other=other: self._end(one, other))
                self._at(HEALED, lambda one=one, other=other: self._settle(one, other))

    def _act(self, act: Act) -> None:
        one = self.rng.choice(self._busy())
        shown = [kept.display_name for kept in one.toward.values() if kept.is_peer]
        if not shown:
            return
        peer = one.peer_named(self.rng.choice(shown))
        assert peer is not None
        self.trace.append((self.now, act.__name__, one.name, peer))
        act(one.name, peer)

    def _abandon(self, name: str, peer: str) -> None:
        self.acts["abandoned"] += 1
        self._of(name).abandon(peer)
        self._later(lambda: self._befriend(name, peer))
        if self.rng.random() < 0.3:
            self._at(self.now + self.rng.uniform(0, 5), lambda: self._abandon_too(peer, name))

    def _abandon_too(self, name: str, peer: str) -> None:
        if self._of(name).toward[peer].is_peer:
            self._of(name).abandon(peer)
            self._later(lambda: self._befriend(name, peer))

    def _befriend(self, name: str, peer: str) -> None:
        if frozenset((name, peer)) in self.gone:
            return
        self.acts["befriended again"] += not self._of(name).toward[peer].is_peer
        self._of(name).befriend(peer, self._display_name(peer))

    def _pause(self, name: str, peer: str) -> None:
        self.acts["paused"] += 1
        self._of(name).toward[peer].is_paused = True
        self._later(lambda: self._release(name, peer))

    def _quarantine(self, name: str, peer: str) -> None:
        self.acts["quarantined"] += 1
        self._of(name).toward[peer].is_quarantined = True
        self._later(lambda: self._release(name, peer))

    def _release(self, name: str, peer: str) -> None:
        kept = self._of(name).toward[peer]
        kept.is_paused = kept.is_quarantined = False

    def _rename(self, name: str, peer: str) -> None:
        self.acts["renamed"] += 1
        self._of(name).toward[peer].display_name = self._display_name(peer)

    def _later(self, event: Event) -> None:
        moment = self.now + self.rng.uniform(0.1, 60)
        if moment < HEALED:
            self._at(moment, event)

    def _end(self, one: str, other: str) -> None:
        """Gone for good, on one side after the other."""
        self.gone.add(frozenset((one, other)))
        self._abandon_too(one, other)
        self._at(self.now + self.rng.uniform(0, 5), lambda: self._abandon_too(other, one))

    def _settle(self, one: str, other: str) -> None:
        """The last act on this pair: a restore made none of what is gone a peer again, and the others are peers without a restriction."""
        for name, peer in ((one, other), (other, one)):
            if frozenset((one, other)) in self.gone:
                self._abandon_too(name, peer)
            else:
                self._befriend(name, peer)
                self._release(name, peer)

    def _display_name(self, peer: str) -> str:
        self.names_given += 1
        return f"{peer} {self.names_given}"

    def _all(self) -> Iterator[Toward]:
        return (kept for one in self.honest.values() for kept in one.toward.values())

    def _pairs_gone(self) -> Iterator[tuple[Registry, Registry]]:
        for gone in self.gone:
            one, other = sorted(gone)
            yield self.honest[one], self.honest[other]
            yield self.honest[other], self.honest[one]


def differences(payer: Registry, payee: Registry) -> Iterator[tuple[str, int]]:
    """Units that the two registries together lack of the transfers of one direction, each by its rows: kind and amount."""
    out, into = payer.toward[payee.name].sent, payee.toward[payer.name].received
    for transfer_id in out.keys() | into.keys():
        sent, taken = out.get(transfer_id), into.get(transfer_id)
        is_paid = sent is not None and sent.state is SentState.COMMITTED
        is_credited = taken is not None and taken.state is ReceivedState.COMMITTED
        if is_paid and not is_credited:
            assert sent is not None
            yield "promise given up", sent.body.amount
        if is_credited and not is_paid:
            assert taken is not None
            yield "credited before a restore", -taken.body.amount


def _require_rows_ended(payer: Registry, payee: Registry) -> None:
    out, into = payer.toward[payee.name], payee.toward[payer.name]
    require(into.room == 0, "room is still reserved", payee.name)
    for sent in out.sent.values():
        require(sent.state in (SentState.COMMITTED, SentState.ABORTED), "undecided for ever", sent)
    for taken in into.received.values():
        require(taken.state is not ReceivedState.PREPARED, "in doubt for ever", taken)
    if payer.was_restored or payee.was_restored:
        return
    for transfer_id in out.sent.keys() | into.received.keys():
        _require_named(out.sent.get(transfer_id), into.received.get(transfer_id))


def _require_named(sent: Sent | None, taken: Received | None) -> None:
    """Without a restore the sides differ only in a promise that the payee's registry gave up, and shows as such."""
    is_paid = sent is not None and sent.state is SentState.COMMITTED
    is_credited = taken is not None and taken.state is ReceivedState.COMMITTED
    if is_credited:
        require(is_paid, "credited and refunded", sent, taken)
    elif is_paid:
        is_shown = taken is not None and taken.code == Code.PEER_ABANDONED and receiver.is_given_up(taken)
        require(is_shown, "lost, and shown nowhere", sent, taken)


def _require_bridge_given_up(source: BusyRegistry, destination: BusyRegistry) -> None:
    """Check a pair that is gone: every saga has ended, and what is locked and wrapped is what the rows of each side say."""
    kept, other = source.bridges[destination.name], destination.bridges[source.name]
    require(kept.held == 0 == kept.burning, "units are still aside", kept)
    for saga in kept.sagas.values():
        require(saga.has_ended, "a saga without an end", saga)
    for decision in other.decisions.values():
        require(not decision.is_in_doubt, "a decision without an end", decision)
    done = {name for name, saga in kept.sagas.items() if saga.state is State.COMPLETED}
    decided = {name for name, decision in other.decisions.items() if decision.is_done}
    locked: Counter[str] = Counter()
    for name in done:
        terms = kept.sagas[name].terms
        if terms.direction is Direction.WRAP:
            locked[terms.holder] += terms.amount
    for decision in kept.decisions.values():
        if decision.is_done and decision.terms.direction is Direction.REDEEM:
            locked[decision.terms.holder] -= decision.terms.amount
    require(+locked == +Counter(kept.locked), "what is locked is not recorded", kept, locked)
    if source.was_restored or destination.was_restored:
        return
    require(done <= decided, "completed and not carried out", done - decided)
    for name in decided - done:
        saga = kept.sagas[name]
        require(saga.code == Code.PEER_ABANDONED, "carried out and given back, and shown nowhere", saga)


def _is_abandoned(asked: Settlement | None) -> bool:
    return asked is not None and asked.reason == slashes.PEER_ABANDONED
