"""The published fee: 0.5 % up to one turnover of the largest balance held in the hour, in a line to 5 % at ten."""

from fractions import Fraction

import pytest
from msgspec.structs import replace

from hansa.foundation.values.money import UNIT, Minor
from hansa.rooms.ledger import rules
from tests.properties import reference_book as reference
from tests.registry import TestAgent, TestRegistry

POLICY = rules.FeePolicy()
NOW = 30_000_000
HOLDING = "UPDATE ledger_account SET liquid = $2, pace = '{}' WHERE did = $1"


def account(liquid: int, *pace: tuple[int, int, int], did: str = "did:hansa:payer") -> reference.Account:
    return reference.Account(id=1, did=did, is_active=True, liquid=Minor(liquid), pace=pace, minute=NOW)


@pytest.mark.parametrize(
    ("turnover", "rate"),
    [
        (Fraction(0), Fraction(5, 1000)),
        (Fraction(1, 2), Fraction(5, 1000)),
        (Fraction(1), Fraction(5, 1000)),
        (1 + Fraction(1, 10**9), Fraction(5, 1000) + Fraction(5, 1000 * 10**9)),
        (Fraction(2), Fraction(10, 1000)),
        (Fraction(11, 2), Fraction(275, 10_000)),
        (10 - Fraction(1, 10**9), Fraction(5, 100) - Fraction(5, 1000 * 10**9)),
        (Fraction(10), Fraction(5, 100)),
        (Fraction(1000), Fraction(5, 100)),
    ],
)
def test_the_rate_is_the_base_up_to_one_turnover_and_climbs_in_a_line_to_ten(
    turnover: Fraction, rate: Fraction
) -> None:
    assert reference.fee_rate(turnover, POLICY) == rate


@pytest.mark.parametrize(
    ("amount", "fee"),
    [
        (1, 0),
        (99, 0),
        (100, 0),  # 0.5 of a minor unit: to the even neighbour, nothing
        (101, 1),
        (300, 2),  # 1.5: to the even neighbour, two
        (500, 2),  # 2.5: to the even neighbour, two
        (700, 4),
        (10 * UNIT, 5_000_000),
        (10**10 * UNIT, 5 * 10**7 * UNIT),
    ],
)
def test_the_fee_is_rounded_half_to_even_at_the_smallest_unit(amount: int, fee: int) -> None:
    assert reference.fee_on(Minor(amount), account(10**18), POLICY) == fee


@pytest.mark.parametrize(("amount", "fee"), [(9, 0), (10, 0), (11, 1), (30, 2), (50, 2), (70, 4)])
def test_the_highest_fee_of_dust_is_rounded_alike(amount: int, fee: int) -> None:
    payer = account(100, (NOW, 10**6, 10**5))
    assert reference.fee_on(Minor(amount), payer, POLICY) == fee


def test_an_account_that_never_sent_turned_nothing_over() -> None:
    assert reference.velocity(account(100)) == 0


def test_an_empty_account_that_never_sent_turned_nothing_over() -> None:
    assert reference.velocity(account(0)) == 0


def test_turnover_is_what_was_sent_over_the_most_that_was_held_before() -> None:
    assert reference.velocity(account(40, (NOW, 60, 100))) == Fraction(60, 100)


def test_turnover_is_over_the_present_balance_where_that_is_the_largest() -> None:
    assert reference.velocity(account(240, (NOW, 60, 100))) == Fraction(60, 240)


def test_turnover_sums_the_minutes_of_an_hour() -> None:
    assert reference.velocity(
        account(1, (NOW - 59, 100, 100), (NOW - 30, 50, 80), (NOW, 30, 60))
    ) == Fraction(180, 100)


def test_a_minute_counts_for_fifty_nine_minutes_after_it() -> None:
    assert reference.velocity(account(10, (NOW - 59, 100, 100))) == 1


def test_after_an_hour_neither_what_was_sent_nor_what_was_held_counts() -> None:
    assert reference.velocity(account(10, (NOW - 60, 1000, 1000), (NOW, 5, 15))) == Fraction(5, 15)


def test_sending_begins_a_minute_with_the_balance_before_it() -> None:
    assert reference.pace_after_sending(account(100), Minor(30)) == ((NOW, 30, 100),)


def test_sending_again_in_a_minute_adds_up_and_keeps_the_largest_balance() -> None:
    assert reference.pace_after_sending(account(70, (NOW, 30, 100)), Minor(20)) == ((NOW, 50, 100),)
    assert reference.pace_after_sending(account(170, (NOW, 30, 100)), Minor(20)) == ((NOW, 50, 170),)


def test_sending_drops_the_minutes_that_no_longer_count() -> None:
    paced = reference.pace_after_sending(account(5, (NOW - 60, 9, 99), (NOW - 59, 8, 88)), Minor(1))
    assert paced == ((NOW - 59, 8, 88), (NOW, 1, 5))


def test_the_pace_keeps_one_entry_for_each_minute_of_the_hour() -> None:
    payer = account(10**9)
    for minute in range(NOW, NOW + 200):
        payer = reference.Account(1, payer.did, True, payer.liquid, payer.pace, minute)
        for _ in range(2):
            payer = replace(payer, pace=reference.pace_after_sending(payer, Minor(1)))
    assert [minute for minute, _, _ in payer.pace] == list(range(NOW + 140, NOW + 200))


def test_what_is_sent_in_one_minute_may_pass_what_the_database_holds_in_a_number() -> None:
    largest = 2**63 - 1
    payer = account(10**18, (NOW, largest - 5, 10**18))
    paced = reference.pace_after_sending(payer, Minor(10))
    assert all(sent <= largest for _, sent, _ in paced)
    assert sum(sent for _, sent, _ in paced) == largest + 5


@pytest.fixture
async def payer(registry: TestRegistry) -> TestAgent:
    return await registry.agent()


async def test_a_balance_that_just_covers_amount_and_fee_is_enough(
    registry: TestRegistry, payer: TestAgent
) -> None:
    payee = await registry.agent()
    await registry.database.transaction(lambda tx: tx.execute(HOLDING, payer.did, 100_500))
    assert (await payer.transfer(payee, "0.001")).json()["new_sender_balance"] == "0"


async def test_a_balance_one_minor_unit_short_is_refused_with_both_figures(
    registry: TestRegistry, payer: TestAgent
) -> None:
    payee = await registry.agent()
    await registry.database.transaction(lambda tx: tx.execute(HOLDING, payer.did, 100_499))
    refusal = (await payer.transfer(payee, "0.001")).json()
    assert refusal["error"]["context"] == {"available": "0.00100499", "required": "0.001005"}
