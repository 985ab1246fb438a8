"""Slash settlements as a model: seeded histories of both sides over a network that loses, doubles and delays.

And every state of one claim: each message lost or repeated at any place, each decision, and time on either side.
"""

import dataclasses
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from msgspec.structs import replace

from hansa.rooms.commerce.slash_settlements import settlement as protocol
from hansa.rooms.commerce.slash_settlements.settlement import Claim, Outcome, Settlement, Status
from tests.properties.scale import by_tier

HISTORIES = by_tier(3_000, 100_000, 1_000_000)
STEPS = 40
HOUR = 3600.0


class Broken(AssertionError):
    """An invariant does not hold."""


@dataclass
class World:
    """One claim: the asking side, the deciding side once it was asked, and the moved units."""

    rng: random.Random
    outgoing: Settlement
    incoming: Settlement | None = None
    now: float = 0.0
    funds: int = 0
    destroyed: int = 0
    minted: int = 0

    def request(self) -> Outcome:
        """The asking side's question arrives; the answer."""
        claim = self.outgoing.claim
        if self.incoming is None:
            refusal = "DEFENDANT_UNKNOWN" if self.rng.random() < 0.1 else None
            self.incoming = protocol.claimed(claim, refusal, self.now, is_auto=self.rng.random() < 0.3)
        return self.incoming.outcome

    def outcome_arrives(self, outcome: Outcome) -> bool:
        """An outcome, however late; whether the asking side sends a receipt."""
        after = protocol.on_outcome(self.outgoing, outcome)
        if after != self.outgoing:
            self.outgoing = after
            self.minted += protocol.owed(after) if after.is_closed else 0
        return after.is_closed

    def decide(self) -> None:
        """An administrator of the deciding side, or its job."""
        one = self.incoming
        if one is None:
            return
        if one.status is Status.SLASHING:
            slashed = min(self.funds, one.claim.amount)
            self.funds, self.destroyed = self.funds - slashed, self.destroyed + slashed
            self.incoming = protocol.applied(one, slashed)
        elif protocol.may_be_decided(one, self.now):
            is_yes = self.rng.random() < 0.7
            self.incoming = protocol.approved(one) if is_yes else protocol.rejected(one, "No.")

    def time_passes(self) -> None:
        self.now += self.rng.choice((0.1, 1.0, 20.0)) * HOUR
        self.outgoing = protocol.on_time(self.outgoing, self.now)
        if self.incoming is not None:
            self.incoming = protocol.on_time(self.incoming, self.now)

    def receipt_arrives(self) -> None:
        if self.incoming is not None and self.incoming.status in protocol.DECIDED:
            receipt = protocol.Receipt(self.incoming.claim, self.incoming.status)
            self.incoming = protocol.acknowledged(self.incoming, receipt)

    def require_sound(self) -> None:
        claim = self.outgoing.claim
        if self.minted > min(self.destroyed, self.outgoing.compensation) or self.destroyed > claim.amount:
            raise Broken("more was made or destroyed than was confirmed", self)

    def require_settled(self) -> None:
        """Everything faithful from now on: both sides end alike."""
        assert self.incoming is not None
        if not (self.outgoing.is_closed and self.incoming.is_closed):
            raise Broken("not closed", self)
        if self.outgoing.status is not self.incoming.status or self.outgoing.slashed != self.destroyed:
            raise Broken("the sides disagree", self)
        if self.minted != min(self.destroyed, self.outgoing.compensation):
            raise Broken("the compensation is not what was confirmed", self)


def _history(seed: int) -> World:
    rng = random.Random(seed)
    claim = Claim(1, "did:defendant", "did:complainant", rng.randint(1, 100), "AVT")
    world = World(rng, protocol.opened(claim, rng.randint(0, claim.amount), 0.0), funds=rng.randint(0, 120))
    in_transit: list[Outcome] = []
    acts: list[Callable[[], None]] = [
        lambda: in_transit.append(world.request()),
        lambda: in_transit.append(world.incoming.outcome) if world.incoming else None,
        lambda: _deliver(world, in_transit),
        world.decide,
        world.time_passes,
    ]
    for _ in range(STEPS):
        rng.choice(acts)()
        world.require_sound()
    world.outcome_arrives(world.request())
    world.now += 25 * HOUR
    world.time_passes()
    world.decide()
    if world.outcome_arrives(world.request()):
        world.receipt_arrives()
    world.require_sound()
    world.require_settled()
    return world


def _deliver(world: World, in_transit: list[Outcome]) -> None:
    """Any outcome that was ever sent, again or late; its receipt may be lost."""
    if in_transit and world.outcome_arrives(world.rng.choice(in_transit)) and world.rng.random() < 0.5:
        world.receipt_arrives()


def test_units_are_made_only_against_units_that_were_destroyed_and_both_sides_end_alike():
    seen = {_history(seed).outgoing.status for seed in range(HISTORIES)}
    assert seen == {Status.SETTLED, Status.FAILED, Status.EXPIRED}


def _mint_each_outcome(patch: pytest.MonkeyPatch) -> None:
    right = protocol.on_outcome
    patch.setattr(
        protocol,
        "on_outcome",
        lambda one, outcome: right(replace(one, is_closed=False, status=Status.SLASHING), outcome),
    )


def _expiry_is_final(patch: pytest.MonkeyPatch) -> None:
    right = protocol.on_time

    def on_time(one: Settlement, now: float) -> Settlement:
        after = right(one, now)
        return replace(after, is_closed=True) if after.status is Status.EXPIRED else after

    patch.setattr(protocol, "on_time", on_time)


def _mint_as_ruled(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(protocol, "owed", lambda one: one.compensation if one.status is Status.SETTLED else 0)


@pytest.mark.parametrize("plant", [_mint_each_outcome, _expiry_is_final, _mint_as_ruled])
def test_a_bug_in_a_settlement_is_found(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
):
    plant(monkeypatch)
    with pytest.raises(Broken):
        _run_many()


def _run_many() -> None:
    for seed in range(2_000):
        _history(seed)


DAY = 24 * HOUR
Small = tuple[World, frozenset[Outcome], bool]
"""The world, every outcome that was ever sent, and whether the asking side has sent a receipt."""


def _explore(funds: int, compensation: int) -> tuple[int, set[Status]]:
    """Every state of a claim of 10 units; their number, and how the claim may end. Raises: Broken."""
    claim = Claim(1, "did:defendant", "did:complainant", 10, "AVT")
    start = World(random.Random(0), protocol.opened(claim, compensation, 0.0), funds=funds)
    todo: list[Small] = [(start, frozenset(), False)]
    seen: set[object] = set()
    ends: set[Status] = set()
    while todo:
        present = todo.pop()
        world, sent, receipted = present
        key = (world.outgoing, world.incoming, world.funds, world.destroyed, world.minted, sent, receipted)
        if key in seen:
            continue
        seen.add(key)
        world.require_sound()
        if world.incoming is not None and world.incoming.is_closed and world.outgoing.is_closed:
            world.require_settled()
            ends.add(world.outgoing.status)
        todo += _following(present)
    return len(seen), ends


def _following(present: Small) -> Iterator[Small]:
    world, sent, receipted = present
    yield from _asked(world, sent, receipted)
    for outcome in sent:
        after = dataclasses.replace(world)
        yield after, sent, after.outcome_arrives(outcome) or receipted
    for late in ("outgoing", "incoming"):
        kept = getattr(world, late)
        if kept is not None:
            yield dataclasses.replace(world, **{late: protocol.on_time(kept, DAY)}), sent, receipted
    one = world.incoming
    if one is None:
        return
    yield world, sent | {one.outcome}, receipted
    if receipted:
        after = dataclasses.replace(world)
        after.receipt_arrives()
        yield after, sent, receipted
    if one.status is Status.SLASHING:
        after = dataclasses.replace(world)
        after.decide()
        yield after, sent, receipted
    elif protocol.may_be_decided(one, 0.0):
        for decided in (protocol.approved(one), protocol.rejected(one, "No.")):
            yield dataclasses.replace(world, incoming=decided), sent, receipted


def _asked(world: World, sent: frozenset[Outcome], receipted: bool) -> Iterator[Small]:
    """The request arrives, for the first time with each outcome that it may have."""
    claim = world.outgoing.claim
    first = [
        protocol.claimed(claim, "DEFENDANT_UNKNOWN", 0.0, is_auto=False),
        protocol.claimed(claim, None, 0.0, is_auto=False),
        protocol.claimed(claim, None, 0.0, is_auto=True),
    ]
    for incoming in first if world.incoming is None else [world.incoming]:
        yield dataclasses.replace(world, incoming=incoming), sent | {incoming.outcome}, receipted


@pytest.mark.parametrize(("funds", "compensation"), [(0, 10), (4, 10), (12, 10), (12, 3), (12, 0)])
def test_a_small_settlement_holds_in_every_state_that_it_can_reach(funds: int, compensation: int):
    states, ends = _explore(funds, compensation)
    print(f"{states} states, ends {sorted(ends)}")
    assert states >= 50
    settled = set() if funds == 0 else {Status.SETTLED}
    assert ends == {Status.FAILED, Status.EXPIRED} | settled


@pytest.mark.parametrize("plant", [_mint_each_outcome, _mint_as_ruled])
def test_the_exploration_finds_a_bug_in_a_settlement(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
):
    plant(monkeypatch)
    with pytest.raises(Broken):
        _explore(4, 10)
