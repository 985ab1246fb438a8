"""A busy process sends a second batch later: it has to answer and to take in while the database decides."""

import time

import pytest

from hansa.rooms.ledger.batch import BUSY_SPLIT_MIN, SPLIT_MIN, Usage


@pytest.mark.parametrize(
    ("part", "whole"), [(0.0, SPLIT_MIN), (0.4, SPLIT_MIN), (0.6, BUSY_SPLIT_MIN), (1.0, BUSY_SPLIT_MIN)]
)
def test_a_process_is_busy_whose_thread_runs_for_half_of_the_time(
    monkeypatch: pytest.MonkeyPatch, part: float, whole: int
):
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(time, "thread_time", lambda: clock[0] * part)
    usage = Usage()
    assert usage.whole == SPLIT_MIN
    for _ in range(40):
        clock[0] += 0.005
        usage.measure()
    assert usage.whole == whole


def test_two_batches_that_end_at_the_same_moment_change_nothing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(time, "monotonic", lambda: 1.0)
    usage = Usage()
    usage.measure()
    assert usage.whole == SPLIT_MIN


def test_a_process_that_was_busy_is_not_after_some_quiet_batches(monkeypatch: pytest.MonkeyPatch):
    clock, ran = [0.0], [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(time, "thread_time", lambda: ran[0])
    usage = Usage()
    for busy in [True] * 40 + [False] * 40:
        clock[0] += 0.005
        ran[0] += 0.005 if busy else 0.0
        usage.measure()
    assert usage.whole == SPLIT_MIN
