"""Runs of pipelines in drawn histories with crashes at every step: nothing is paid twice, the budget holds, ended runs stay."""

import random
from types import ModuleType

import pytest

from hansa.rooms.pipelines import machine
from tests.properties.pipeline_model import History, World, WorldWithoutOpen, machine_that_pays_again
from tests.properties.scale import by_tier, printed_seed

HISTORIES = by_tier(2_000, 20_000, 100_000)
# Enough to find each planted fault.
PLANTED_HISTORIES = 2_000
STATUSES = {
    "queued",
    "running",
    "waiting_approval",
    "waiting_funds",
    "succeeded",
    "failed",
    "cancelled",
    "expired",
    "budget_exceeded",
}


def live_all(world: type[World], faulty: ModuleType) -> None:
    for seed in range(PLANTED_HISTORIES):
        History(random.Random(seed), world, faulty).live()


def test_no_step_is_paid_twice_and_no_budget_is_exceeded_in_histories_with_crashes_at_every_step() -> None:
    seen: set[str] = set()
    draws = random.Random(printed_seed())
    for _ in range(HISTORIES):
        history = History(random.Random(draws.getrandbits(64)))
        history.live()
        seen |= history.seen
    assert seen == STATUSES


def test_the_judge_sees_a_run_that_takes_unknown_for_failed_and_pays_again() -> None:
    with pytest.raises(AssertionError, match="paid twice"):
        live_all(World, machine_that_pays_again())


def test_the_judge_sees_a_budget_that_is_judged_without_open_amounts() -> None:
    with pytest.raises(AssertionError, match="over the budget"):
        live_all(WorldWithoutOpen, machine)
