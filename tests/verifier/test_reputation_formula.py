"""The formula of scores: bounds, order and decay, and a second reader that agrees on frozen vectors."""

import json
import random
from datetime import date
from pathlib import Path

import pytest

from hansa_verify import Signal, read_signal, scores_of
from hansa_verify.reputation import HALF_LIFE_DAYS, UNIT, day_of, decayed
from tests.properties.scale import by_tier, printed_seed

EPOCH = date(2026, 11, 23)
TODAY = day_of(EPOCH)
VECTORS = Path(__file__).parents[1] / "vectors" / "reputation"


def payment(giver: str, receiver: str, fee: int, age: int = 1, *, counts: bool = True) -> Signal:
    return Signal("payment", TODAY - age, giver, receiver, fee, counts)


def drawn(rng: random.Random, agents: int, count: int) -> list[Signal]:
    names = [f"did:x:{number}" for number in range(agents)]
    kinds = ["payment"] * 8 + ["ruling_for_defendant", "ruling_for_complainant"]
    return [
        Signal(rng.choice(kinds), TODAY - rng.randrange(1, 400), *rng.sample(names, 2), rng.randrange(UNIT * 50),
               rng.random() < 0.9)
        for _ in range(count)
    ]  # fmt: skip


def test_the_order_of_signals_is_irrelevant():
    rng = random.Random(printed_seed())
    for _ in range(by_tier(20, 500, 5000)):
        signals = drawn(rng, 8, 60)
        expected = scores_of(signals, EPOCH)
        rng.shuffle(signals)
        assert scores_of(signals, EPOCH) == expected


def test_agents_that_pay_each_other_gain_at_most_the_fees_that_they_pay():
    rng = random.Random(printed_seed())
    for _ in range(by_tier(20, 500, 5000)):
        signals = [signal for signal in drawn(rng, 6, 80) if signal.kind == "payment"]
        found = scores_of(signals, EPOCH).values()
        gained = sum(score.paid_work + score.payments_made for score in found)
        assert gained <= sum(signal.fee for signal in signals if signal.counts)


def test_half_is_left_after_the_half_life():
    assert decayed(UNIT, 0) == UNIT
    assert decayed(UNIT, HALF_LIFE_DAYS) == UNIT // 2
    assert decayed(UNIT, 10 * HALF_LIFE_DAYS) == UNIT >> 10


def test_what_does_not_count_or_happened_on_the_day_itself_is_no_evidence():
    signals = [payment("a", "b", UNIT, counts=False), payment("a", "b", UNIT, age=0)]
    assert {score.score for score in scores_of(signals, EPOCH).values()} == {0}


def test_a_lost_dispute_lowers_the_score_even_if_it_does_not_count():
    work = [payment("a", "b", 100 * UNIT), payment("b", "a", 100 * UNIT)]
    lost = Signal("ruling_for_complainant", TODAY - 1, "a", "b", 0, counts=False)
    assert scores_of([*work, lost], EPOCH)["b"].score < scores_of(work, EPOCH)["b"].score


@pytest.mark.parametrize("vector", sorted(VECTORS.glob("*.json")), ids=lambda path: path.stem)
def test_frozen_exports_give_the_frozen_scores(vector: Path):
    export = json.loads(vector.read_text())
    signals = [signal for signal in map(read_signal, export["events"]) if signal]
    found = scores_of(signals, date.fromisoformat(export["epoch"]))
    assert {did: score.score for did, score in found.items()} == {
        one["agent_did"]: one["score"] for one in export["scores"]
    }
