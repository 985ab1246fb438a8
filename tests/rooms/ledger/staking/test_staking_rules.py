"""The decisions of staking, by themselves."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from hansa.foundation.values.money import Minor, parse_amount
from hansa.rooms.ledger.staking import errors, rules

NOW = datetime(2026, 1, 1, tzinfo=UTC)
YEAR = 365 * 24 * 3600


def position(
    number: int, remaining: str, *, lock_period: int = 0, unlocked: bool = True, seconds: int = 0
) -> rules.Position:
    amount = parse_amount(remaining)
    return rules.Position(
        id=number,
        amount=amount,
        remaining=amount,
        lock_period=lock_period,
        staked_at=NOW,
        unlocks_at=NOW + timedelta(days=lock_period),
        unstaked_at=None,
        auto_compound=False,
        last_reward_claim=None,
        is_unlocked=unlocked,
        unrewarded_seconds=seconds,
    )


def drawn(draws: list[rules.Draw]) -> list[tuple[int, int]]:
    return [(one.position.id, one.amount) for one in draws]


def test_units_are_drawn_oldest_first_and_the_last_position_is_split() -> None:
    positions = [position(1, "10"), position(2, "20"), position(3, "30")]
    assert drawn(rules.draw_oldest_first(positions, parse_amount("25"))) == [
        (1, parse_amount("10")),
        (2, parse_amount("15")),
    ]


def test_locked_positions_are_passed_over() -> None:
    positions = [position(1, "10", unlocked=False), position(2, "20")]
    assert drawn(rules.draw_oldest_first(positions, parse_amount("20"))) == [(2, parse_amount("20"))]


def test_more_than_is_unlocked_is_refused_with_both_figures() -> None:
    positions = [position(1, "10", unlocked=False), position(2, "20")]
    with pytest.raises(errors.InsufficientUnlockedStake) as refusal:
        rules.draw_oldest_first(positions, parse_amount("20.00000001"))
    assert refusal.value.context == {"unlocked": "20", "required": "20.00000001"}


def test_a_released_position_has_nothing_left_to_draw() -> None:
    released = replace(position(1, "10"), remaining=Minor(0))
    with pytest.raises(errors.InsufficientUnlockedStake):
        rules.draw_from(released, Minor(1))


@pytest.mark.parametrize(
    "name", ["", "17", "stake-", "stake-0", "stake-017", "stake-1 ", "stake-1\n", "stake-١", "tx-1"]
)
def test_what_is_not_the_name_of_a_position_is_unknown(name: str) -> None:
    with pytest.raises(errors.PositionUnknown):
        rules.position_number(name)


def test_a_number_beyond_any_position_is_unknown() -> None:
    assert rules.position_number(f"stake-{2**63 - 1}") == 2**63 - 1
    with pytest.raises(errors.PositionUnknown):
        rules.position_number(f"stake-{2**63}")


@pytest.mark.parametrize(
    ("lock_period", "percent"),
    [(0, 2), (29, 2), (30, 3), (89, 3), (90, 5), (179, 5), (180, 7), (364, 7), (365, 10)],
)
def test_the_lock_period_chooses_the_rate(lock_period: int, percent: int) -> None:
    assert rules.yearly_percent(lock_period) == percent


def test_the_tiers_cover_every_lock_period_once() -> None:
    days = [day for tier in rules.REWARD_TIERS for day in range(tier.lock_days_min, tier.lock_days_max + 1)]
    assert days == list(range(rules.LOCK_PERIOD_MAX_DAYS + 1))


@pytest.mark.parametrize(
    ("staked", "lock_period", "seconds", "reward"),
    [
        ("100", 0, YEAR, "2"),
        ("100", 365, YEAR, "10"),
        ("100", 0, 2 * YEAR, "4"),
        ("100", 30, YEAR // 2, "1.5"),
        ("10", 0, 1, "0"),
        ("10", 0, 2, "0.00000001"),
        ("100", 0, 0, "0"),
    ],
)
def test_rewards_are_simple_yearly_interest_rounded_down(
    staked: str, lock_period: int, seconds: int, reward: str
) -> None:
    earning = position(1, staked, lock_period=lock_period, seconds=seconds)
    assert rules.reward_of(earning) == parse_amount(reward)
