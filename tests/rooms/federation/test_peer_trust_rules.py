"""The rules of peer trust: the score, and states with hysteresis, whatever the scores are."""

import random

import pytest

from hansa.rooms.federation.peer_trust.rules import FAILURES, SUCCESSES, Thresholds, next_state, score
from tests.properties.scale import by_tier, printed_seed

RUNS = by_tier(5_000, 200_000, 2_000_000)
LIMITS = Thresholds(10, 0.70, 0.50, 0.30, 0.05)
WORST_FIRST = ["suspended", "restricted", "warn", "ok"]


def test_the_prior_reads_a_half():
    assert score({}) == 0.5


@pytest.mark.parametrize(
    ("signals", "expected"),
    [
        ({"crossing": 8}, 0.9),
        ({"crossing": 8, "dispute_lost": 2}, 0.45),
        ({"card_refused": 1, "unanswered": 1}, 0.25),
    ],
)
def test_the_score_weighs_a_lost_dispute_five_times(signals: dict[str, float], expected: float):
    assert score(signals) == pytest.approx(expected)


def test_below_min_interactions_a_peer_is_unmeasured_and_no_threshold_applies():
    for present in ("unmeasured", *WORST_FIRST):
        assert next_state(present, 0.01, 9, LIMITS) == "unmeasured"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("present", "reached", "after"),
    [
        ("ok", 0.51, "warn"),
        ("ok", 0.4999, "restricted"),
        ("restricted", 0.5499, "restricted"),
        ("restricted", 0.55, "warn"),
        ("suspended", 0.3499, "suspended"),
        ("suspended", 0.35, "restricted"),
        ("suspended", 0.5499, "restricted"),
        ("suspended", 0.9, "ok"),
        ("warn", 0.70, "ok"),
        ("unmeasured", 0.1, "suspended"),
    ],
)
def test_a_restricted_peer_lifts_only_after_clearing_the_threshold_by_the_margin(
    present: str, reached: float, after: str
):
    assert next_state(present, reached, 10, LIMITS) == after  # type: ignore[arg-type]


def test_more_successes_never_lower_the_score_and_more_failures_never_raise_it():
    draw = random.Random(printed_seed())
    for _ in range(RUNS):
        signals = {kind: draw.uniform(0, 50) for kind in (*SUCCESSES, *FAILURES)}
        before = score(signals)
        assert 0 < before < 1
        kind = draw.choice([*signals])
        after = score({**signals, kind: signals[kind] + draw.uniform(0, 20)})
        assert after >= before if kind in SUCCESSES else after <= before


def test_a_better_score_never_leads_to_a_worse_state_and_a_state_once_reached_is_kept():
    draw = random.Random(printed_seed())
    for _ in range(RUNS):
        suspend, restrict, warn = sorted(draw.random() for _ in range(3))
        limits = Thresholds(10, warn, restrict, suspend, draw.uniform(0, 0.2))
        present = draw.choice(["unmeasured", *WORST_FIRST])
        low, high = sorted(draw.random() for _ in range(2))
        worse, better = (next_state(present, reached, 10, limits) for reached in (low, high))  # type: ignore[arg-type]
        assert WORST_FIRST.index(worse) <= WORST_FIRST.index(better)
        assert next_state(worse, low, 10, limits) == worse
        if present in {"restricted", "suspended"} and WORST_FIRST.index(worse) > WORST_FIRST.index(present):
            assert low >= (restrict if present == "restricted" else suspend) + limits.recover_margin
