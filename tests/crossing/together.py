"""Histories in which swaps, the bridge and slashes move units of the same books, between honest registries.

The functions are those of the service. Messages of the bridge and of settlements travel through the same network as those of
swaps: lost, doubled, late, and not applied where a process ends.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from msgspec.structs import replace

from hansa.rooms.commerce.slash_settlements import settlement as slashes
from hansa.rooms.commerce.slash_settlements.settlement import Claim, Outcome, Settlement, Status
from hansa.rooms.transfers.bridge import sagas
from hansa.rooms.transfers.bridge.messages import Direction, Terms
from hansa.rooms.transfers.bridge.messages import Message as BridgeMessage
from hansa.rooms.transfers.bridge.sagas import State
from hansa.rooms.transfers.crossing import pair_chain
from hansa.rooms.transfers.crossing.messages import Message

from .bridging import (
    HOLDERS,
    Bridge,
    Bridging,
    begin_bridges,
    is_current,
    observed,
    positions_of,
    require_bridge_ended,
)
from .model import Registry, require
from .simulation import ENDED, HEALED, LATE_SECONDS, RESEND_SECONDS, History
from .swaps import SwapHistory, SwappingRegistry

SECONDS_OF_FIVE_MINUTES = 30.0
"""Five minutes of a saga pass in so many seconds of a history."""
DAY = slashes.EXPIRY_SECONDS
CHAIN_ENTRY = "slash_settled"
SECONDS_OF_A_DAY = 300.0
"""As `SECONDS_OF_FIVE_MINUTES`, of a settlement."""
SPENT_SECONDS = 300.0
"""For so long after the last fault some defendants of forgotten slashes have nothing left."""


@dataclass
class Slashes:
    """What a registry keeps of the slashes with one peer."""

    outgoing: dict[int, Settlement] = field(default_factory=dict)
    incoming: dict[int, Settlement] = field(default_factory=dict)
    minted: dict[int, int] = field(default_factory=dict)
    destroyed: dict[int, int] = field(default_factory=dict)
    unconfirmed: set[int] = field(default_factory=set)
    """What ended here, and is shown to the peer since one of the two was restored."""
    given_up: set[int] = field(default_factory=set)
    """Statements shown to a peer when it was abandoned."""

    def copy(self) -> "Slashes":
        return Slashes(
            dict(self.outgoing),
            dict(self.incoming),
            dict(self.minted),
            dict(self.destroyed),
            set(self.unconfirmed),
            set(self.given_up),
        )

    def questions(self) -> list[tuple[Claim, Outcome | None]]:
        """What the peer is asked for, with the outcome that it signed where one is recorded."""
        return [
            (one.claim, _signed(one) if one.is_closed else None)
            for dispute, one in self.outgoing.items()
            if not one.is_closed or dispute in self.unconfirmed
        ]


class BusyRegistry(Registry):
    """A registry that bridges and slashes with each of its peers, beside its transfers."""

    bridges: dict[str, Bridge]
    slashes: dict[str, Slashes]

    def begin_beside(self) -> None:
        """Once the peers are known."""
        self.bridges = begin_bridges(self)
        self.slashes = {peer: Slashes() for peer in self.toward}

    def copy(self) -> "BusyRegistry":
        copied = super().copy()
        assert isinstance(copied, BusyRegistry)
        copied.bridges = {peer: kept.copy() for peer, kept in self.bridges.items()}
        copied.slashes = {peer: kept.copy() for peer, kept in self.slashes.items()}
        return copied

    def reopen(self, peer: str) -> None:
        super().reopen(peer)
        self.bridge(peer).reopen()
        kept = self.slashes[peer]
        kept.unconfirmed |= {dispute for dispute, one in kept.outgoing.items() if one.is_closed}

    def bridge(self, peer: str) -> Bridging:
        return Bridging(self, self.bridges[peer], peer)

    def held(self) -> int:
        return super().held() + sum(one.held + sum(one.locked.values()) for one in self.bridges.values())

    def issued_since(self) -> int:
        """What was minted as compensation, less what was slashed."""
        kept = self.slashes.values()
        return sum(sum(one.minted.values()) - sum(one.destroyed.values()) for one in kept)

    def rule(self, peer: str, claim: Claim, compensation: int) -> None:
        """A dispute was decided here against an agent of the peer, at the moment 0 of its own day."""
        self.slashes[peer].outgoing[claim.dispute_id] = slashes.opened(claim, compensation, 0.0)

    def claimed(
        self, peer: str, claim: Claim, shown: Outcome | None, refusal: str | None, *, is_auto: bool
    ) -> Outcome:
        """The peer asks for a slash, and may show what was signed here; what is stated about it now."""
        kept, dispute = self.slashes[peer], claim.dispute_id
        if not self.toward[peer].may_cross:
            refusal = "PEER_CLOSED"
        if shown is not None:
            before = slashes.decided_before(claim, kept.incoming.get(dispute), shown, 0.0)
            if before is not None:
                kept.incoming[dispute] = before
        elif dispute not in kept.incoming:
            kept.incoming[dispute] = slashes.claimed(claim, refusal, 0.0, is_auto=is_auto)
        return kept.incoming[dispute].outcome

    def decide_slash(
        self, peer: str, dispute: int, *, approves: bool, now: float, has_units: bool = True
    ) -> None:
        """An administrator decides, or what was approved is applied, if the defendant has units."""
        kept = self.slashes[peer]
        one = kept.incoming.get(dispute)
        if one is None:
            return
        if one.status is Status.SLASHING:
            slashed = min(self.units, one.slashed or one.claim.amount) if has_units else 0
            self.units, self.issued = self.units - slashed, self.issued - slashed
            kept.destroyed[dispute] = kept.destroyed.get(dispute, 0) + slashed
            kept.incoming[dispute] = slashes.applied(one, slashed)
            if slashed:
                self._record(peer, kept.incoming[dispute])
        elif slashes.may_be_decided(one, now):
            kept.incoming[dispute] = slashes.approved(one) if approves else slashes.rejected(one, "No.")
        self._require_sound()

    def abandon(self, peer: str) -> None:
        super().abandon(peer)
        self.bridge(peer).abandon()
        kept = self.slashes[peer]
        for dispute, asked in kept.outgoing.items():
            if not asked.is_closed or dispute in kept.unconfirmed:
                kept.outgoing[dispute] = slashes.on_abandon(asked)
        for dispute, one in kept.incoming.items():
            if not one.is_closed:
                kept.incoming[dispute] = slashes.on_abandon(one)
        kept.given_up |= kept.unconfirmed
        kept.unconfirmed.clear()

    def time_of_slashes(self, peer: str, now: float) -> None:
        """24 hours may have passed."""
        kept = self.slashes[peer]
        for rows in (kept.outgoing, kept.incoming):
            rows.update({name: slashes.on_time(one, now) for name, one in rows.items()})

    def confirmed(self, peer: str, outcome: Outcome, positions: Message) -> bool:
        """An outcome of the peer; whether a receipt is due. As `inbox.take_outcome`."""
        kept, dispute = self.slashes[peer], outcome.claim.dispute_id
        if not observed(self, peer, positions) or dispute not in kept.outgoing:
            return False
        is_late = not is_current(self, peer, positions)
        if is_late and outcome.status not in slashes.SLASHED_STATES:
            return False
        after = slashes.on_outcome(kept.outgoing[dispute], outcome)
        if after != kept.outgoing[dispute]:
            kept.outgoing[dispute] = after
            owed = slashes.owed(after) if after.is_closed else 0
            self.units, self.issued = self.units + owed, self.issued + owed
            kept.minted[dispute] = kept.minted.get(dispute, 0) + owed
            if after.status is Status.SETTLED:
                self._record(peer, after)
            (kept.unconfirmed.add if is_late else kept.unconfirmed.discard)(dispute)
        elif slashes.agrees(after, outcome) and not is_late:
            kept.unconfirmed.discard(dispute)
        self._require_sound()
        return after.is_closed

    def receipted(self, peer: str, dispute: int, positions: Message, sent: Message) -> None:
        """The peer has the outcome. As `inbox.take_receipt`."""
        if not self.is_confirmed(peer, positions, sent):
            return
        kept = self.slashes[peer]
        done = kept.incoming.get(dispute)
        if done is not None and done.status in slashes.DECIDED:
            kept.incoming[dispute] = slashes.acknowledged(done, slashes.Receipt(done.claim, done.status))

    def is_confirmed(self, peer: str, positions: Message, sent: Message) -> bool:
        """Whether a receipt with these positions counts, for a message that was sent with those."""
        if not observed(self, peer, positions) or not is_current(self, peer, positions):
            return False
        pair = self.toward[peer].pair
        return (pair.own.epoch, pair.seen.epoch) == (sent.own.epoch, sent.seen.epoch)

    def _record(self, peer: str, moved: Settlement) -> None:
        """What moved units is an entry of the chain."""
        kept = self.toward[peer]
        kept.pair = pair_chain.append(kept.pair, CHAIN_ENTRY, slashes.digest_of(moved))
        kept.heads[kept.pair.own.epoch, kept.pair.own.seq] = kept.pair.own.head

    def _require_sound(self) -> None:
        require(self.units >= 0, "an amount below zero", self.units)
        in_transit = sum(one.transit for one in self.toward.values())
        require(self.held() + in_transit == self.issued, "the book does not add up", self.name)


class BusySwappingRegistry(BusyRegistry, SwappingRegistry):
    """A busy registry whose transfers are swaps."""


class BusyHistory(History):
    """Everything beside transfers at once. A ruling that a restore lost is made again by its administrator."""

    may_be_attacked = False
    quiet_after = HEALED + 3 * SECONDS_OF_A_DAY

    def registry(self, name: str, limit: int, blocked: frozenset[str]) -> Registry:
        return BusyRegistry(name, 300_000, limit, 100_000, blocked)

    def begin(self) -> None:
        super().begin()
        self.sagas = self.disputes = self.uncollected = 0
        for one in self._busy():
            one.begin_beside()
            self._at(self.rng.uniform(0, RESEND_SECONDS), lambda name=one.name: self._round(name))

    def run(self) -> "BusyHistory":
        before = {one.name: one.issued for one in self._busy()}
        super().run()
        for one in self._busy():
            require(one.issued == before[one.name] + one.issued_since(), "units were made or lost", one.name)
            for peer in one.slashes:
                self.require_beside_ended(one, self._of(peer))
        return self

    def require_beside_ended(self, one: BusyRegistry, other: BusyRegistry) -> None:
        """Check the rules of the sagas and rulings of `one` with `other`, once nothing is under way. Raises: Broken."""
        kept, decided = one.slashes[other.name], other.slashes[one.name]
        require_bridge_ended(one.bridges[other.name], other.bridges[one.name])
        for dispute in kept.outgoing:
            self.require_slash_ended(one, other, dispute)
        for dispute, found in kept.incoming.items():
            require(dispute in decided.outgoing, "no ruling", found)

    def require_slash_ended(self, one: BusyRegistry, other: BusyRegistry, dispute: int) -> None:
        """Check the rules of one ruling of `one` with `other`. Raises: Broken."""
        kept, decided = one.slashes[other.name], other.slashes[one.name]
        asked = kept.outgoing[dispute]
        if not (other.was_restored and _is_forgotten_refusal(asked, decided)):
            _require_slash_ended(asked, decided, kept, dispute)

    def issued_since(self) -> int:
        return sum(one.issued_since() for one in self._busy())

    def counted(self) -> dict[str, int]:
        """How much of each kind came to a successful end."""
        bridges = [kept for one in self._busy() for kept in one.bridges.values()]
        asked = [kept for one in self._busy() for kept in one.slashes.values()]
        swaps = [
            kind for one in self.honest.values() for kept in one.toward.values() for kind, _ in kept.moved
        ]
        settled = sum(one.status is Status.SETTLED for kept in asked for one in kept.outgoing.values())
        completed = sum(saga.state is State.COMPLETED for kept in bridges for saga in kept.sagas.values())
        return {
            "swaps": swaps.count("commit_in"),
            "sagas": completed,
            "sagas after a restore": completed if any(one.was_restored for one in self._busy()) else 0,
            "slashes": settled,
            "slashes asked for without effect": self.uncollected,
            "slashes after a restore": settled if any(one.was_restored for one in self._busy()) else 0,
        }

    def _plan(self, names: list[str]) -> None:
        super()._plan(names)
        for _ in range(self.rng.randint(1, 4)):
            self._at(self.rng.uniform(0, 150), self._begin_saga)
        for _ in range(self.rng.randint(0, 3)):
            self._at(self.rng.uniform(0, 150), self._begin_slash)

    def _busy(self) -> list[BusyRegistry]:
        return [one for one in self.honest.values() if isinstance(one, BusyRegistry)]

    def _of(self, name: str) -> BusyRegistry:
        one = self.honest[name]
        assert isinstance(one, BusyRegistry)
        return one

    def _begin_saga(self) -> None:
        one, self.sagas = self.rng.choice(self._busy()), self.sagas + 1
        peer, direction = self.rng.choice(list(one.toward)), self.rng.choice(list(Direction))
        sender, receiver = (f"did:{name}:{self.rng.randint(1, HOLDERS)}" for name in (one.name, peer))
        terms = Terms(f"s{self.sagas}", direction, sender, receiver, self.rng.randint(1, 900), "AVT")
        one.bridge(peer).begin(terms, self._now_of_sagas)
        self._ask_about_sagas(one, peer)

    def _begin_slash(self) -> None:
        one, self.disputes = self.rng.choice(self._busy()), self.disputes + 1
        peer, amount = self.rng.choice(list(one.toward)), self.rng.randint(1, 900)
        claim = Claim(self.disputes, f"did:{peer}", f"did:{one.name}", amount, "AVT")
        compensation = self.rng.randint(0, amount)
        if one.toward[peer].is_peer:
            one.rule(peer, claim, compensation)
            self._ask_about_slashes(one, peer)

    def _restore(self, name: str) -> None:
        before = self._of(name).slashes
        super()._restore(name)
        for peer, kept in before.items():
            for ruled in kept.outgoing.values():
                again = self.now + self.rng.uniform(0, 100)
                self._at(again, lambda peer=peer, ruled=ruled: self._rule_again(name, peer, ruled))

    def _rule_again(self, name: str, peer: str, ruled: Settlement) -> None:
        one = self._of(name)
        if not one.toward[peer].is_peer:
            if self.now < HEALED:
                again = self.now + RESEND_SECONDS
                self._at(again, lambda: self._rule_again(name, peer, ruled))
            return
        if ruled.claim.dispute_id not in one.slashes[peer].outgoing:
            one.rule(peer, ruled.claim, ruled.compensation)
            self._ask_about_slashes(one, peer)

    def _round(self, name: str) -> None:
        """What the jobs of a registry do: decide, expire, and send again what is not answered."""
        one = self._of(name)
        for peer, kept in one.slashes.items():
            one.time_of_slashes(peer, self.now / SECONDS_OF_A_DAY * DAY)
            for dispute in list(kept.incoming):
                if self.rng.random() < 0.3 or kept.incoming[dispute].status is Status.SLASHING:
                    approves, now = self.rng.random() < 0.7, self.now / SECONDS_OF_A_DAY * DAY
                    has_units = not self._has_spent(kept.incoming[dispute])
                    one.decide_slash(peer, dispute, approves=approves, now=now, has_units=has_units)
                self._confirm(one, peer, dispute)
            self._ask_about_sagas(one, peer)
            self._ask_about_slashes(one, peer)
        if self.now < self.quiet_after:
            self._at(self.now + 5 * RESEND_SECONDS, lambda: self._round(name))

    def _has_spent(self, asked: Settlement) -> bool:
        """Whether the defendant of a slash that a restore made forgotten has nothing left; later it has units again."""
        is_again = asked.status is Status.SLASHING and asked.slashed > 0
        has_spent = is_again and asked.claim.amount % 2 == 0 and self.now < HEALED + SPENT_SECONDS
        self.uncollected += has_spent
        return has_spent

    @property
    def _now_of_sagas(self) -> float:
        return self.now / SECONDS_OF_FIVE_MINUTES * sagas.TIMEOUT_SECONDS

    def _ask_about_sagas(self, one: BusyRegistry, peer: str) -> None:
        for message in one.bridge(peer).due(self._now_of_sagas):
            self._travel(message.type.value, lambda message=message: self._bridge(one.name, peer, message))

    def _bridge(self, author: str, to: str, message: BridgeMessage) -> None:
        refuses = message.terms.amount % 7 == 0
        for answer in self._of(to).bridge(author).receive(message, refuses=refuses):
            self._travel(answer.type.value, lambda answer=answer: self._bridge(to, author, answer))

    def _ask_about_slashes(self, one: BusyRegistry, peer: str) -> None:
        if not one.toward[peer].is_peer:
            return
        for question in one.slashes[peer].questions():
            kind = "request" if question[1] is None else "request with proof"
            self._travel(kind, lambda question=question: self._claim(one.name, peer, *question))

    def _claim(self, author: str, to: str, claim: Claim, shown: Outcome | None) -> None:
        if not self._of(to).toward[author].is_peer:
            return
        refusal = "DEFENDANT_UNKNOWN" if claim.amount % 7 == 0 else None
        outcome = self._of(to).claimed(author, claim, shown, refusal, is_auto=claim.amount % 3 == 0)
        positions = positions_of(self._of(to), author)
        # An answer is not answered: its author has a receipt only for the confirmation that it sends itself.
        self._travel("state", lambda: self._of(author).confirmed(to, outcome, positions))

    def _confirm(self, one: BusyRegistry, peer: str, dispute: int) -> None:
        kept = one.slashes[peer].incoming[dispute]
        if one.toward[peer].is_peer and kept.status in slashes.DECIDED and not kept.is_closed:
            positions = positions_of(one, peer)
            self._travel("confirmation", lambda: self._outcome(one.name, peer, kept.outcome, positions))

    def _outcome(self, author: str, to: str, outcome: Outcome, sent: Message) -> None:
        if self._of(to).confirmed(author, outcome, sent):
            dispute, positions = outcome.claim.dispute_id, positions_of(self._of(to), author)
            self._travel("receipt", lambda: self._of(author).receipted(to, dispute, positions, sent))

    def _travel(self, kind: str, arrives: Callable[[], None]) -> None:
        """A message through the network of this history."""
        rng, faults, is_faulty = self.rng, self.faults, self.now < HEALED
        if is_faulty and rng.random() < faults.lost + faults.corrupted:
            self._cover(kind, "lost")
            return
        copies = 2 if is_faulty and rng.random() < faults.doubled else 1
        for _ in range(copies):
            delay = rng.uniform(0.01, 0.2)
            is_late = is_faulty and rng.random() < faults.late
            if is_late:
                delay += rng.choice(LATE_SECONDS)
            self._cover(kind, "late" if is_late else "doubled" if copies == 2 else "none")
            if self.now + delay < ENDED:
                self._at(self.now + delay, arrives)

    def _cover(self, kind: str, fault: str) -> None:
        key = ("beside", kind, fault)
        self.coverage[key] = self.coverage.get(key, 0) + 1


class TogetherHistory(BusyHistory, SwapHistory):
    """Busy history, with swaps for transfers."""

    def registry(self, name: str, limit: int, blocked: frozenset[str]) -> Registry:
        return BusySwappingRegistry(name, 300_000, limit, 100_000, blocked)

    def run(self) -> "TogetherHistory":
        super().run()
        return self


def _signed(recorded: Settlement) -> Outcome:
    """The outcome that the peer signed, of a settlement that ended here by it."""
    is_slashed = recorded.status is Status.SETTLED
    return replace(recorded.outcome, status=Status.SLASHED if is_slashed else recorded.status)


def _is_forgotten_refusal(asked: Settlement, decided: Slashes) -> bool:
    """A registry that forgot a refusal was asked by nobody again: nothing had been moved."""
    has_refused = asked.is_closed and asked.status is not Status.SETTLED
    return has_refused and asked.claim.dispute_id not in decided.incoming


def _require_slash_ended(asked: Settlement, decided: Slashes, asking: Slashes, dispute: int) -> None:
    there = decided.incoming.get(dispute)
    require(there is not None and there.is_closed and asked.is_closed, "a slash without an end", asked, there)
    assert there is not None
    destroyed, minted = decided.destroyed.get(dispute, 0), asking.minted.get(dispute, 0)
    is_settled = (asked.status is Status.SETTLED, there.status is Status.SETTLED)
    require(is_settled in {(True, True), (False, False)}, "the sides disagree", asked, there)
    require(asked.slashed == destroyed, "what was destroyed is not what was confirmed", asked, destroyed)
    require(minted == min(destroyed, asked.compensation), "the compensation differs", asked, minted)
