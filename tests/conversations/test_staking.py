"""The staking routes as the specification has them."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from hansa.foundation.values.money import parse_amount
from tests.registry import DatabaseFarm, StartRegistry, TestAgent, at_once, open_registry
from tests.rooms.ledger.staking.stakers import ROLES, Stakers, open_stakers, refused

POSITION = {
    "position_id",
    "agent_did",
    "amount",
    "staked_at",
    "lock_period",
    "unlocks_at",
    "is_active",
    "unstaked_at",
    "last_reward_claim",
    "auto_compound",
}
READS = ["status", "balance", "my-positions", "my-stats", "history"]


@pytest.fixture(scope="module")
async def open_here(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stakers]:
    directory = tmp_path_factory.mktemp("staking")
    async with open_stakers(database_farm, directory, staking_rewards_enabled=True) as stakers:
        yield stakers


@pytest.fixture
async def stakers(open_here: Stakers) -> AsyncIterator[Stakers]:
    """No unit is made or lost in any conversation."""
    yield open_here
    await open_here.prove()


@pytest.fixture
async def alice(stakers: Stakers) -> TestAgent:
    return await stakers.agent("100")


@pytest.fixture(scope="module")
async def refused_agent(open_here: Stakers) -> TestAgent:
    """An agent with 100 units; each of its requests is refused."""
    return await open_here.agent("100")


def names(positions: list[dict[str, Any]]) -> list[str]:
    return [position["position_id"] for position in positions]


# Stake


async def test_a_stake_moves_units_from_liquid_to_staked(stakers: Stakers, alice: TestAgent) -> None:
    await stakers.stake(alice, "40")
    assert await stakers.held(alice) == ("60", "40")
    assert await alice.balance() == "60"


async def test_the_answer_returns_the_position_and_both_balances(stakers: Stakers, alice: TestAgent) -> None:
    returned = await stakers.stake(alice, "40", lock_period=30)
    assert set(returned) == POSITION | {
        "transaction_id",
        "status",
        "currency",
        "liquid_balance",
        "staked_balance",
    }
    staked_at, unlocks_at = (datetime.fromisoformat(returned[name]) for name in ("staked_at", "unlocks_at"))
    assert unlocks_at - staked_at == timedelta(days=30)
    assert (returned["agent_did"], returned["amount"], returned["lock_period"]) == (alice.did, "40", 30)
    assert (returned["is_active"], returned["unstaked_at"], returned["last_reward_claim"]) == (
        True,
        None,
        None,
    )
    assert (returned["status"], returned["liquid_balance"], returned["staked_balance"]) == (
        "completed",
        "60",
        "40",
    )


async def test_without_a_lock_period_a_stake_can_be_released_at_once(
    stakers: Stakers, alice: TestAgent
) -> None:
    returned = await stakers.stake(alice, "40")
    assert (returned["lock_period"], returned["unlocks_at"]) == (0, returned["staked_at"])
    await stakers.unstake(alice, "40")
    assert await stakers.held(alice) == ("100", "0")


async def test_lock_period_days_is_the_same_as_lock_period(stakers: Stakers, alice: TestAgent) -> None:
    assert (await stakers.stake(alice, "10", lock_period_days=7))["lock_period"] == 7
    both = await stakers.post(alice, "stake", amount="10", lock_period=7, lock_period_days=7)
    assert refused(both) == (422, "VALIDATION_ERROR")


@pytest.mark.parametrize("days", [0, 365])
async def test_a_lock_lasts_from_0_to_365_days(stakers: Stakers, alice: TestAgent, days: int) -> None:
    assert (await stakers.stake(alice, "10", lock_period=days))["lock_period"] == days


@pytest.mark.parametrize("days", [-1, 366, 10**30, 1.5, "7", True, [7]])
async def test_any_other_lock_period_is_refused(
    open_here: Stakers, refused_agent: TestAgent, days: object
) -> None:
    assert refused(await open_here.post(refused_agent, "stake", amount="10", lock_period=days)) == (
        422,
        "VALIDATION_ERROR",
    )


@pytest.mark.parametrize(
    ("written", "amount"),
    [
        ("10", "10"),
        ("10.5", "10.5"),
        ('"10.50000000"', "10.5"),
        ("10.50000000", "10.5"),
        ("10.00000001", "10.00000001"),
        ("1e1", "10"),
        ("0.1e2", "10"),
        ("1234567890e-8", "12.3456789"),
    ],
)
async def test_an_amount_may_be_a_json_number_and_counts_digit_for_digit(
    stakers: Stakers, alice: TestAgent, written: str, amount: str
) -> None:
    answer = await stakers.raw(alice, "stake", f'{{"amount": {written}}}')
    assert (answer.status_code, answer.json()["amount"]) == (200, amount)


async def test_a_number_of_eighteen_digits_is_staked_to_the_last(stakers: Stakers) -> None:
    whale = await stakers.agent("123456.5")
    answer = await stakers.raw(whale, "stake", '{"amount": 123456.12345679}')
    assert answer.json()["liquid_balance"] == "0.37654321"
    answer = await stakers.raw(whale, "stake", '{"amount": 1234567890.12345678}')
    assert answer.json()["error"]["context"]["required"] == "1234567890.12345678"


@pytest.mark.parametrize(
    "written",
    [
        *(
            "10.123456789",
            "10.000000000",
            "10.00000000000000000001",
            "1e-9",
            "1e11",
            "10000000001",
            "1e400",
            "1e-400",
        ),
        *("1e99999999999999999999", "1e-99999999999999999999", "9" * 65, "NaN", "Infinity", "-Infinity"),
        *("-10", "-10.5", "-0", "-0.0", "0", "0.0", "true", "null", "[10]", '{"a": 1}', "0x10", "+10", "010"),
        *(
            '"1e2"',
            '"-10"',
            '"10.123456789"',
            '"NaN"',
            '" 10"',
            '"10 "',
            '"10\\n"',
            '"1_0"',
            '"\\u0661\\u0660"',
            '""',
        ),
    ],
)
async def test_anything_else_is_no_amount(open_here: Stakers, refused_agent: TestAgent, written: str) -> None:
    for path in ("stake", "unstake"):
        answer = await open_here.raw(refused_agent, path, f'{{"amount": {written}}}')
        assert refused(answer) in {(422, "VALIDATION_ERROR"), (422, "BODY_INVALID")}, answer.text
    assert await open_here.held(refused_agent) == ("100", "0")


@pytest.mark.parametrize("amount", ["9.99999999", 9, 9.5, "0.00000001"])
async def test_less_than_the_minimum_is_refused(
    open_here: Stakers, refused_agent: TestAgent, amount: object
) -> None:
    answer = await open_here.post(refused_agent, "stake", amount=amount)
    assert refused(answer) == (422, "STAKE_BELOW_MINIMUM")
    assert answer.json()["error"]["context"] == {"minimum": "10"}


async def test_the_operator_sets_the_minimum(start_registry: StartRegistry) -> None:
    registry = await start_registry(staking_min_stake_amount="0.5", agent_rbac_default_roles=ROLES)
    agent = await registry.agent()
    for amount, status in (("0.5", 200), ("0.49999999", 422)):
        answer = await registry.post("/staking/stake", json={"amount": amount}, headers=agent.headers)
        assert answer.status_code == status


async def test_more_than_the_balance_is_refused_with_both_figures(stakers: Stakers, alice: TestAgent) -> None:
    await stakers.stake(alice, "60")
    answer = await stakers.post(alice, "stake", amount="40.00000001")
    assert refused(answer) == (402, "INSUFFICIENT_BALANCE")
    assert answer.json()["error"]["context"] == {"available": "40", "required": "40.00000001"}
    assert await stakers.held(alice) == ("40", "60")


async def test_all_that_an_agent_holds_can_be_staked(stakers: Stakers, alice: TestAgent) -> None:
    await stakers.stake(alice, "100")
    assert await stakers.held(alice) == ("0", "100")


async def test_staked_units_cannot_be_sent(stakers: Stakers, alice: TestAgent) -> None:
    await stakers.stake(alice, "95")
    answer = await alice.transfer(await stakers.agent(), "5")
    assert refused(answer) == (402, "INSUFFICIENT_BALANCE")


async def test_staking_needs_the_role_and_releasing_does_not(stakers: Stakers, alice: TestAgent) -> None:
    await stakers.stake(alice, "20")
    await stakers.purses.execute("UPDATE agents_agent SET roles = '{trader}' WHERE did = $1", alice.did)
    assert refused(await stakers.post(alice, "stake", amount="10")) == (403, "PERMISSION_MISSING")
    await stakers.unstake(alice, "20")


async def test_an_agent_holds_at_most_a_thousand_active_positions(stakers: Stakers) -> None:
    agent = await stakers.agent("20")
    made = await stakers.stake(agent, "10")
    await stakers.purses.execute(
        "INSERT INTO ledger_stake_position (account_id, amount, remaining, lock_period, unlocks_at)"
        " SELECT account_id, 1, 1, 0, now() FROM ledger_stake_position, generate_series(1, 999) WHERE id = $1",
        int(made["position_id"].removeprefix("stake-")),
    )
    assert refused(await stakers.post(agent, "stake", amount="10")) == (409, "TOO_MANY_POSITIONS")
    await stakers.purses.execute("DELETE FROM ledger_stake_position WHERE amount = 1")
    await stakers.stake(agent, "10")


async def test_a_turnover_is_measured_against_what_was_held_before_a_stake(stakers: Stakers) -> None:
    agent, friend = await stakers.agent("100"), await stakers.agent("100")
    await stakers.stake(agent, "89")
    for _ in range(4):
        answer = await agent.transfer(friend, "10")
        assert (answer.status_code, answer.json()["fee_amount"]) == (200, "0.05")
        await friend.transfer(agent, "10")


# Switched off


async def test_switched_off_a_stake_is_refused_and_a_release_is_not(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> None:
    directory = tmp_path_factory.mktemp("off")
    async with open_stakers(database_farm, directory, staking_enabled=False) as off:
        agent = await off.agent("100")
        assert refused(await off.post(agent, "stake", amount="10")) == (403, "staking_disabled")
        status = await off.read(agent, "status")
        assert (status["staking_enabled"], status["rewards_enabled"]) == (False, False)
        settings = off.purses.registry.settings
        async with open_registry(settings.database_url, settings.data_dir, staking_enabled=True) as on:
            answer = await on.post("/staking/stake", json={"amount": "10"}, headers=agent.headers)
            assert answer.status_code == 200
        await off.unstake(agent, "10")
        assert await off.held(agent) == ("100", "0")
        await off.prove()


# Unstake


async def test_a_release_draws_from_the_oldest_unlocked_positions_and_splits_the_last(
    stakers: Stakers, alice: TestAgent
) -> None:
    locked = await stakers.stake(alice, "10", lock_period=1)
    first, second = await stakers.stake(alice, "20"), await stakers.stake(alice, "30")
    returned = await stakers.unstake(alice, "25")
    assert returned["positions"] == [
        {"position_id": first["position_id"], "amount": "20", "remaining": "0"},
        {"position_id": second["position_id"], "amount": "5", "remaining": "25"},
    ]
    assert (returned["amount"], returned["liquid_balance"], returned["staked_balance"]) == ("25", "65", "35")
    page = await stakers.read(alice, "my-positions")
    assert names(page["items"]) == [locked["position_id"], second["position_id"], first["position_id"]]
    assert [item["amount"] for item in page["items"]] == ["10", "25", "20"]
    assert [item["is_active"] for item in page["items"]] == [True, True, False]
    assert page["items"][2]["unstaked_at"] == returned["timestamp"]


async def test_more_than_is_unlocked_is_refused(stakers: Stakers, alice: TestAgent) -> None:
    await stakers.stake(alice, "50", lock_period=1)
    await stakers.stake(alice, "20")
    answer = await stakers.post(alice, "unstake", amount="20.00000001")
    assert refused(answer) == (403, "INSUFFICIENT_UNLOCKED_STAKE")
    assert answer.json()["error"]["context"] == {"unlocked": "20", "required": "20.00000001"}
    assert await stakers.held(alice) == ("30", "70")


async def test_a_lock_ends_by_the_clock_of_the_database(stakers: Stakers, alice: TestAgent) -> None:
    position = await stakers.stake(alice, "50", lock_period=30)
    await stakers.elapse(alice, 29)
    assert refused(await stakers.post(alice, "unstake", amount="50")) == (403, "INSUFFICIENT_UNLOCKED_STAKE")
    one = {"amount": "50", "position_id": position["position_id"]}
    answer = await stakers.post(alice, "unstake", **one)
    assert refused(answer) == (403, "POSITION_LOCKED")
    assert answer.json()["error"]["context"].keys() == {"unlocks_at"}
    await stakers.elapse(alice, 1)
    await stakers.unstake(alice, **one)
    assert await stakers.held(alice) == ("100", "0")


async def test_a_named_position_alone_is_drawn_from(stakers: Stakers, alice: TestAgent) -> None:
    await stakers.stake(alice, "20")
    named = (await stakers.stake(alice, "30"))["position_id"]
    returned = await stakers.unstake(alice, "12", position_id=named)
    assert returned["positions"] == [{"position_id": named, "amount": "12", "remaining": "18"}]
    answer = await stakers.post(alice, "unstake", amount="18.5", position_id=named)
    assert refused(answer) == (403, "INSUFFICIENT_UNLOCKED_STAKE")


async def test_a_repeated_release_is_refused_the_second_time(stakers: Stakers, alice: TestAgent) -> None:
    one = {"amount": "20", "position_id": (await stakers.stake(alice, "20"))["position_id"]}
    await stakers.unstake(alice, **one)
    assert refused(await stakers.post(alice, "unstake", **one)) == (403, "INSUFFICIENT_UNLOCKED_STAKE")


@pytest.mark.parametrize("name", ["stake-999999999", "stake-99999999999999999999", "17", "", "tx-1", "ⅷ"])
async def test_an_unknown_position_is_not_found(
    open_here: Stakers, refused_agent: TestAgent, name: str
) -> None:
    answer = await open_here.post(refused_agent, "unstake", amount="1", position_id=name)
    assert refused(answer) == (404, "POSITION_UNKNOWN")


async def test_the_position_of_another_is_not_found(stakers: Stakers, alice: TestAgent) -> None:
    stranger = await stakers.agent("100")
    theirs = (await stakers.stake(stranger, "20"))["position_id"]
    await stakers.stake(alice, "20")
    answer = await stakers.post(alice, "unstake", amount="1", position_id=theirs)
    assert refused(answer) == (404, "POSITION_UNKNOWN")
    assert await stakers.held(stranger) == ("80", "20")


@pytest.mark.parametrize("name", [17, 1.5, True, ["stake-1"], {}, "x" * 65])
async def test_a_position_is_named_by_a_short_string(
    open_here: Stakers, refused_agent: TestAgent, name: object
) -> None:
    answer = await open_here.post(refused_agent, "unstake", amount="1", position_id=name)
    assert refused(answer) == (422, "VALIDATION_ERROR")


async def test_less_than_the_smallest_stake_can_be_released(stakers: Stakers, alice: TestAgent) -> None:
    await stakers.stake(alice, "10")
    answer = await stakers.raw(alice, "unstake", '{"amount": 1e-08}')
    assert (answer.status_code, answer.json()["amount"]) == (200, "0.00000001")
    assert await stakers.held(alice) == ("90.00000001", "9.99999999")


# Idempotent requests


@pytest.mark.parametrize("path", ["stake", "unstake"])
async def test_a_repeated_request_with_one_key_counts_once(
    stakers: Stakers, alice: TestAgent, path: str
) -> None:
    await stakers.stake(alice, "40")
    first = await stakers.post(alice, path, key="k", amount="10")
    again = await stakers.post(alice, path, key="k", amount="10")
    assert (again.status_code, again.text) == (200, first.text)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert await stakers.held(alice) == {"stake": ("50", "50"), "unstake": ("70", "30")}[path]
    other = await stakers.post(alice, path, key="k", amount="11")
    assert refused(other) == (422, "IDEMPOTENCY_KEY_REUSED")


async def test_the_key_of_a_refused_stake_is_free_again(stakers: Stakers, alice: TestAgent) -> None:
    assert (await stakers.post(alice, "stake", key="k", amount="101")).status_code == 402
    assert (await stakers.post(alice, "stake", key="k", amount="100")).status_code == 200


# Suspended


async def test_a_suspended_account_neither_stakes_nor_releases_nor_claims(
    stakers: Stakers, alice: TestAgent
) -> None:
    await stakers.stake(alice, "20")
    await stakers.suspend(alice)
    for path, members in (("stake", {"amount": "10"}), ("unstake", {"amount": "10"}), ("claim-rewards", {})):
        assert refused(await stakers.post(alice, path, **members)) == (403, "ACCOUNT_SUSPENDED")
    for path in READS:
        await stakers.read(alice, path)


# Rewards


async def test_a_claim_pays_a_years_interest_of_the_tier(stakers: Stakers, alice: TestAgent) -> None:
    await stakers.fill_fee_collector("50")
    await stakers.stake(alice, "50", lock_period=90)
    await stakers.stake(alice, "50")
    await stakers.elapse(alice, 365)
    before = await stakers.fee_collector_holds()
    returned = await stakers.claim(alice)
    # The seconds of the test itself earn a little too.
    assert Decimal("3.5") <= Decimal(returned["amount"]) < Decimal("3.5001")
    assert (returned["due"], returned["liquid_balance"]) == ("0", returned["amount"])
    assert before - await stakers.fee_collector_holds() == parse_amount(returned["amount"])


async def test_a_reward_is_paid_once(stakers: Stakers, alice: TestAgent) -> None:
    await stakers.fill_fee_collector("50")
    await stakers.stake(alice, "100", lock_period=365)
    await stakers.elapse(alice, 365)
    await stakers.claim(alice)
    assert Decimal((await stakers.claim(alice))["amount"]) < Decimal("0.0001")
    assert (
        Decimal(10) <= Decimal((await stakers.read(alice, "my-stats"))["total_rewards"]) < Decimal("10.0001")
    )


async def test_a_repeated_claim_returns_the_first_answer(stakers: Stakers, alice: TestAgent) -> None:
    await stakers.fill_fee_collector("50")
    await stakers.stake(alice, "100", lock_period=365)
    await stakers.elapse(alice, 365)
    registry, headers = stakers.purses.registry, {**alice.headers, "Idempotency-Key": "claim-1"}
    answers = await at_once(*(registry.post("/staking/claim-rewards", headers=headers) for _ in range(4)))
    done = [answer for answer in answers if answer.status_code == 200]
    assert {answer.status_code for answer in answers} <= {200, 422}
    again = await registry.post("/staking/claim-rewards", headers=headers)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert {answer.text for answer in done} == {again.text}
    assert again.json()["transaction_id"] is not None


async def test_a_claim_of_nothing_answers_zero(stakers: Stakers, alice: TestAgent) -> None:
    returned = await stakers.claim(alice)
    assert returned == {
        "transaction_id": None,
        "agent_did": alice.did,
        "amount": "0",
        "due": "0",
        "currency": "AVT",
        "liquid_balance": "100",
    }


async def test_a_claim_shows_its_time_on_active_positions(stakers: Stakers, alice: TestAgent) -> None:
    await stakers.fill_fee_collector("50")
    await stakers.stake(alice, "100")
    await stakers.elapse(alice, 10)
    await stakers.claim(alice)
    (position,) = (await stakers.read(alice, "my-positions"))["items"]
    assert position["last_reward_claim"] is not None


async def test_what_the_fee_collector_cannot_pay_stays_due_and_is_never_minted(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> None:
    directory = tmp_path_factory.mktemp("poor")
    async with open_stakers(database_farm, directory, staking_rewards_enabled=True) as poor:
        agent = await poor.agent("100")
        await poor.stake(agent, "100", lock_period=365)
        await poor.elapse(agent, 365)
        nothing = await poor.claim(agent)
        assert (nothing["transaction_id"], nothing["amount"]) == (None, "0")
        assert Decimal(nothing["due"]) >= 10
        await poor.fill_fee_collector("4")
        some = await poor.claim(agent)
        assert (some["amount"], some["liquid_balance"]) == ("4", "4")
        await poor.fill_fee_collector("40")
        rest = await poor.claim(agent)
        assert Decimal(6) <= Decimal(rest["amount"]) < Decimal("6.0001")
        assert rest["due"] == "0"
        await poor.prove()


async def test_a_release_loses_no_reward(stakers: Stakers, alice: TestAgent) -> None:
    await stakers.fill_fee_collector("50")
    await stakers.stake(alice, "100", lock_period=365)
    await stakers.elapse(alice, 365)
    await stakers.unstake(alice, "100")
    stats = await stakers.read(alice, "my-stats")
    assert Decimal(10) <= Decimal(stats["claimable_rewards"]) < Decimal("10.0001")
    assert (await stakers.claim(alice))["amount"] == stats["claimable_rewards"]


async def test_rewards_switched_off_are_not_paid(start_registry: StartRegistry) -> None:
    registry = await start_registry(agent_rbac_default_roles=ROLES)
    agent = await registry.agent()
    staked = await registry.post("/staking/stake", json={"amount": "10"}, headers=agent.headers)
    assert staked.status_code == 200
    answer = await registry.post("/staking/claim-rewards", headers=agent.headers)
    assert refused(answer) == (403, "staking_rewards_disabled")


# Reads


async def test_the_balance_shows_liquid_staked_locked_and_total(stakers: Stakers, alice: TestAgent) -> None:
    await stakers.stake(alice, "20")
    await stakers.stake(alice, "30", lock_period=1)
    assert await stakers.read(alice, "balance") == {
        "liquid_balance": "50",
        "staked_balance": "50",
        "locked_balance": "30",
        "total_balance": "100",
    }


async def test_the_status_shows_the_policy_and_the_figures_of_the_agent(
    stakers: Stakers, alice: TestAgent
) -> None:
    await stakers.stake(alice, "20")
    locked = await stakers.stake(alice, "30", lock_period=1)
    assert await stakers.read(alice, "status") == {
        "agent_did": alice.did,
        "staking_enabled": True,
        "rewards_enabled": True,
        "minimum_stake": "10",
        "lock_period_max": 365,
        "active_positions_max": 1000,
        "currency": "AVT",
        "staked_balance": "50",
        "locked_balance": "30",
        "unlocked_balance": "20",
        "active_positions": 2,
        "next_unlock_at": locked["unlocks_at"],
    }


async def test_the_stats_show_what_was_ever_staked(stakers: Stakers, alice: TestAgent) -> None:
    first = await stakers.stake(alice, "20")
    await stakers.stake(alice, "30", lock_period=1)
    await stakers.unstake(alice, "20")
    stats = await stakers.read(alice, "my-stats")
    assert Decimal(stats.pop("claimable_rewards")) < Decimal("0.0001")
    assert stats == {
        "agent_did": alice.did,
        "currency": "AVT",
        "total_staked": "50",
        "total_unstaked": "20",
        "total_rewards": "0",
        "total_compounded": "0",
        "staked_balance": "30",
        "active_positions": 1,
        "total_positions": 2,
        "first_staked_at": first["staked_at"],
    }


async def test_the_history_is_returned_newest_first_in_pages(stakers: Stakers, alice: TestAgent) -> None:
    first, second = await stakers.stake(alice, "20"), await stakers.stake(alice, "30")
    both, one = await stakers.unstake(alice, "25"), await stakers.unstake(alice, "5")
    page = await stakers.read(alice, "history", limit=3)
    assert [
        (line["transaction_id"], line["type"], line["amount"], line["position_id"]) for line in page["items"]
    ] == [
        (one["transaction_id"], "unstake", "5", second["position_id"]),
        (both["transaction_id"], "unstake", "25", None),
        (second["transaction_id"], "stake", "30", second["position_id"]),
    ]
    assert page["pagination"] == {
        "total_items": 4,
        "limit": 3,
        "offset": 0,
        "total_pages": 2,
        "current_page": 1,
    }
    (last,) = (await stakers.read(alice, "history", limit=3, offset=3))["items"]
    assert last["transaction_id"] == first["transaction_id"]


async def test_a_position_has_the_members_of_the_specification(stakers: Stakers, alice: TestAgent) -> None:
    await stakers.stake(alice, "20")
    page = await stakers.read(alice, "my-positions", limit=1)
    assert [set(item) for item in page["items"]] == [POSITION]
    assert page["pagination"]["total_items"] == 1


@pytest.mark.parametrize("path", ["my-positions", "history"])
@pytest.mark.parametrize("query", ["limit=0", "limit=501", "limit=x", "offset=-1", "offset=99999999999"])
async def test_a_page_out_of_bounds_is_refused(
    open_here: Stakers, refused_agent: TestAgent, path: str, query: str
) -> None:
    answer = await refused_agent.registry.get(f"/staking/{path}?{query}", headers=refused_agent.headers)
    assert refused(answer) == (422, "VALIDATION_ERROR")


async def test_the_tiers_and_the_sum_of_all_stakes_are_public(stakers: Stakers, alice: TestAgent) -> None:
    registry = stakers.purses.registry
    tiers = (await registry.get("/staking/apy-tiers")).json()
    assert tiers["rewards_enabled"] is True
    assert tiers["tiers"][0] == {"lock_days_min": 0, "lock_days_max": 29, "apy_percent": "2"}
    before = (await registry.get("/staking/global-stats")).json()
    await stakers.stake(alice, "20")
    await stakers.stake(alice, "30", lock_period=1)
    after = (await registry.get("/staking/global-stats")).json()
    assert Decimal(after["total_staked"]) - Decimal(before["total_staked"]) == 50
    assert Decimal(after["total_locked"]) - Decimal(before["total_locked"]) == 30
    assert after["active_positions"] - before["active_positions"] == 2
    assert after["stakers"] - before["stakers"] == 1


@pytest.mark.parametrize("path", READS)
async def test_what_an_agent_staked_is_returned_to_itself_alone(stakers: Stakers, path: str) -> None:
    registry, developer = stakers.purses.registry, stakers.purses.developer
    assert (await registry.get(f"/staking/{path}")).status_code == 401
    assert (await registry.get(f"/staking/{path}", headers=developer.headers)).status_code == 401


# Events


async def test_staking_records_in_the_journal_what_moved(stakers: Stakers, alice: TestAgent) -> None:
    await stakers.fill_fee_collector("50")
    made = await stakers.stake(alice, "100", lock_period=365)
    await stakers.elapse(alice, 365)
    await stakers.unstake(alice, "40")
    paid = await stakers.claim(alice)
    (staked,) = await stakers.events("TokensStaked", alice)
    assert (staked["account"], staked["amount"], staked["position_id"]) == (
        alice.did,
        "100",
        made["position_id"],
    )
    (unstaked,) = await stakers.events("TokensUnstaked", alice)
    assert unstaked["positions"] == [{"position_id": made["position_id"], "amount": "40"}]
    (reward,) = await stakers.events("RewardsDistributed", alice)
    assert (reward["from"], reward["to"]) == ("did:hansa:system:fee_collector", alice.did)
    assert reward["amount"] == paid["amount"]


async def test_one_event_moves_both_buckets_of_a_stake(stakers: Stakers, alice: TestAgent) -> None:
    await stakers.stake(alice, "40")
    moved = (await stakers.events("LedgerBalanceChanged", alice))[0]
    assert (moved["tx_type"], moved["fee"]) == ("stake", "0")
    assert moved["entries"] == [
        {"account": alice.did, "bucket": "liquid", "delta": "-40", "balance_after": "60"},
        {"account": alice.did, "bucket": "staked", "delta": "40", "balance_after": "40"},
    ]
