"""Counting of signals against a plain model, over drawn histories."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from hansa.rooms.achievements.earning import DEFINITIONS, counted, parties
from hansa.rooms.achievements.records import Earned, Tally
from hansa.rooms.reputation import RecordedSignal

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
AGENTS = ("did:hansa:here:one", "did:hansa:here:two")


def signal(number: int, kind: str, giver: str, receiver: str, *flags: bool) -> RecordedSignal:
    counts, is_verified, is_foreign = flags
    return RecordedSignal(
        id=number,
        event_seq=number,
        at=BEGINNING + timedelta(hours=number),
        kind=kind,  # type: ignore[arg-type]
        giver=giver,
        receiver=receiver,
        counts=counts,
        is_verified=is_verified and counts,
        is_foreign=is_foreign,
    )


def paid(number: int, *, is_verified: bool = True, is_foreign: bool = False) -> RecordedSignal:
    return signal(number, "payment", "payer", AGENTS[0], True, is_verified, is_foreign)


def counted_all(signals: Sequence[RecordedSignal]) -> dict[str, list[Earned]]:
    tallies: dict[str, Tally] = {}
    earned: dict[str, list[Earned]] = {}
    for one in signals:
        for did in parties(one):
            tallies[did], gained = counted(tallies.get(did, Tally()), one)
            for agent, gain in gained:
                earned.setdefault(agent, []).append(gain)
    return earned


def by_model(signals: Sequence[RecordedSignal], did: str) -> dict[str, int]:
    """First event after which the whole history so far satisfies each definition."""
    found: dict[str, int] = {}
    for end in range(1, len(signals) + 1):
        before = signals[:end]
        jobs = [one for one in before if one.kind == "payment" and one.receiver == did and one.counts]
        verified = [one for one in jobs if one.is_verified]
        lost = [
            one.id
            for one in before
            if (one.kind == "ruling_for_complainant" and one.receiver == did)
            or (one.kind == "ruling_for_defendant" and one.giver == did)
        ]
        have = {mark.code: len(verified) for mark in DEFINITIONS if mark.is_mark}
        have["first_job_abroad"] = sum(one.is_foreign for one in verified)
        have["hundred_settled"] = sum(one.id > max(lost, default=0) for one in jobs)
        for definition in DEFINITIONS:
            if have.get(definition.code, 0) >= definition.need:
                found.setdefault(definition.code, before[-1].event_seq)
    return found


KINDS = st.sampled_from(["payment"] * 12 + ["ruling_for_defendant", "ruling_for_complainant"])
HISTORIES = st.lists(
    st.tuples(KINDS, st.sampled_from(AGENTS), st.booleans(), st.booleans(), st.booleans()), max_size=60
)


@given(HISTORIES)
def test_each_achievement_is_earned_by_the_first_event_that_satisfies_it(history):
    signals = [
        signal(number, kind, AGENTS[receiver == AGENTS[0]], receiver, *flags)
        for number, (kind, receiver, *flags) in enumerate(history, 1)
    ]
    earned = counted_all(signals)
    for did in AGENTS:
        assert {one.code: one.event_seq for one in earned.get(did, [])} == by_model(signals, did)
        assert len({one.code for one in earned.get(did, [])}) == len(earned.get(did, []))


def test_a_hundred_settled_payments_without_a_lost_dispute_are_counted_anew_after_one():
    lost = signal(100, "ruling_for_complainant", "payer", AGENTS[0], True, False, False)
    history = [*(paid(one) for one in range(1, 100)), lost, *(paid(one) for one in range(101, 202))]
    gained = {one.code: one.event_seq for one in counted_all(history)[AGENTS[0]]}
    assert gained["hundred_settled"] == 200
    assert gained["mark_master"] == 151
    assert "mark_sovereign" not in gained


def test_two_hundred_and_fifty_verified_jobs_earn_the_last_mark():
    gained = {one.code: one.event_seq for one in counted_all([paid(one) for one in range(1, 251)])[AGENTS[0]]}
    assert {code: seq for code, seq in gained.items() if code.startswith("mark_")} == {
        "mark_proven": 1,
        "mark_established": 5,
        "mark_seasoned": 15,
        "mark_veteran": 40,
        "mark_expert": 80,
        "mark_master": 150,
        "mark_sovereign": 250,
    }
    assert gained["hundred_settled"] == 100
