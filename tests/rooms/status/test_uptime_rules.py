"""Uptime from measurements: enclosed time without a failure is up, everything else is down."""

from datetime import UTC, date, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from hansa.rooms.status import rules
from hansa.rooms.status.records import Measured, Measurements, State

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
DAY = date(2026, 11, 30)
STATES: tuple[State, ...] = ("ok", "degraded", "failed", "off")


def measured(at: datetime, state: State = "ok", began_at: datetime | None = None) -> Measured:
    return Measured("database", state, at, at, began_at or at)


def uptime(at: datetime, last: Measured, days: dict[date, int]) -> dict[date, float | None]:
    found = Measurements(at, {"database": last}, {("database", day): up for day, up in days.items()})
    return dict(rules.uptime_of(found, "database"))


def test_time_between_two_measurements_is_up_unless_one_of_them_found_a_failure():
    later = NOON + timedelta(seconds=60)
    assert rules.up_between(measured(NOON), "ok", later) == {DAY: 60_000}
    assert rules.up_between(measured(NOON, "degraded"), "off", later) == {DAY: 60_000}
    assert rules.up_between(measured(NOON, "failed"), "ok", later) == {}
    assert rules.up_between(measured(NOON), "failed", later) == {}


def test_a_gap_counts_as_down_and_begins_the_state_anew():
    just, gap = NOON + rules.GAP_MAX, NOON + rules.GAP_MAX + timedelta(milliseconds=1)
    assert rules.up_between(measured(NOON), "ok", just) == {DAY: 150_000}
    assert rules.up_between(measured(NOON), "ok", gap) == {}
    assert rules.since(measured(NOON), "ok", just) == NOON
    assert rules.since(measured(NOON), "ok", gap) == gap
    assert rules.since(measured(NOON), "failed", just) == just


def test_a_measurement_after_midnight_adds_to_both_days():
    before = datetime(2026, 11, 30, 23, 59, 30, tzinfo=UTC)
    added = rules.up_between(measured(before), "ok", before + timedelta(seconds=60))
    assert added == {DAY: 30_000, date(2026, 12, 1): 30_000}


def test_ninety_days_are_shown_and_those_before_the_first_measurement_are_not_known():
    shown = uptime(NOON, measured(NOON, began_at=NOON - timedelta(hours=2)), {DAY: 7_200_000})
    assert len(shown) == rules.DAYS
    assert list(shown) == sorted(shown)
    assert shown.pop(DAY) == 1
    assert set(shown.values()) == {None}


def test_a_day_without_any_measurement_is_a_day_down():
    began = NOON - timedelta(days=3)
    shown = uptime(NOON, measured(NOON, began_at=began), {began.date(): 43_200_000, DAY: 43_200_000})
    assert [share for share in shown.values() if share is not None] == [1, 0, 0, 1]


def test_a_stopped_registry_loses_uptime_while_it_is_stopped():
    began = NOON - timedelta(hours=1)
    last = measured(NOON, began_at=began)
    assert uptime(NOON + timedelta(seconds=100), last, {DAY: 3_600_000})[DAY] == 1
    assert uptime(NOON + timedelta(hours=1), last, {DAY: 3_600_000})[DAY] == 0.5


def test_a_day_with_the_shortest_outage_never_shows_as_whole():
    began = datetime(2026, 11, 29, tzinfo=UTC)
    shown = uptime(NOON, measured(NOON, began_at=began), {date(2026, 11, 29): 86_399_999, DAY: 43_200_000})
    assert shown[date(2026, 11, 29)] == 0.9999


@given(st.lists(st.tuples(st.integers(1, 400), st.sampled_from(STATES)), min_size=1, max_size=60))
def test_uptime_is_the_enclosed_time_without_a_failure_in_any_history(history):
    moment = began = datetime(2026, 11, 29, 23, 50, tzinfo=UTC)
    last, days, expected = measured(began), dict.fromkeys([date(2026, 11, 29), DAY], 0), 0
    for seconds, state in history:
        moment += timedelta(seconds=seconds)
        for day, up in rules.up_between(last, state, moment).items():
            days[day] = days.get(day, 0) + up
        if seconds <= 150 and "failed" not in {last.state, state}:
            expected += seconds * 1000
        last = measured(moment, state, began)
    assert sum(days.values()) == expected
    assert all(0 <= share <= 1 for share in uptime(moment, last, days).values() if share is not None)


def test_the_worst_component_decides_and_one_that_is_off_does_not_count():
    assert rules.worst({"database": "ok", "mcp": "off"}) == "ok"
    assert rules.worst({"database": "ok", "mail": "degraded"}) == "degraded"
    assert rules.worst({"database": "failed", "mail": "degraded"}) == "failed"
