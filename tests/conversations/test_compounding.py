"""Rewards that are added to the stake that earned them."""

from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any

import httpx2
import pytest

from hansa.foundation.values.money import parse_amount
from hansa.rooms.ledger import staking
from tests.all_events import require_schemas_kept
from tests.notified import notified_of, subscribe
from tests.registry import DatabaseFarm, StartRegistry, TestAgent, at_once
from tests.rooms.ledger.staking.stakers import ROLES, Stakers, open_stakers, refused


@pytest.fixture(scope="module")
async def open_here(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stakers]:
    directory = tmp_path_factory.mktemp("compounding")
    async with open_stakers(database_farm, directory, staking_rewards_enabled=True) as stakers:
        yield stakers


@pytest.fixture
async def stakers(open_here: Stakers) -> AsyncIterator[Stakers]:
    """No unit is made or lost in any conversation."""
    yield open_here
    await open_here.prove()


@pytest.fixture
async def alice(stakers: Stakers) -> TestAgent:
    return await stakers.agent("200")


async def change(agent: TestAgent, position: str, value: object = True, **headers: str) -> httpx2.Response:
    return await agent.registry.http.request(
        "PATCH",
        f"/api/v1/staking/my-positions/{position}",
        json={"auto_compound": value},
        headers={**agent.headers, **headers},
    )


async def compounding(stakers: Stakers, agent: TestAgent, amount: str, **members: Any) -> str:
    """A new position whose rewards are added to it."""
    position: str = (await stakers.stake(agent, amount, **members))["position_id"]
    answer = await change(agent, position)
    assert (answer.status_code, answer.json()["auto_compound"]) == (200, True)
    return position


async def run(stakers: Stakers) -> int:
    return await staking.compound_all(stakers.purses.registry.runtime)


async def positions_of(stakers: Stakers, agent: TestAgent) -> dict[str, Decimal]:
    page = await stakers.read(agent, "my-positions")
    return {one["position_id"]: Decimal(one["amount"]) for one in page["items"]}


# The setting


async def test_a_position_shows_where_its_rewards_go(stakers: Stakers, alice: TestAgent) -> None:
    made = await stakers.stake(alice, "50", lock_period=30)
    assert made["auto_compound"] is False
    answer = await change(alice, made["position_id"])
    (listed,) = (await stakers.read(alice, "my-positions"))["items"]
    assert answer.json() == listed
    assert listed["auto_compound"] is True
    off = await change(alice, made["position_id"], False)
    assert (off.status_code, off.json()["auto_compound"]) == (200, False)


async def test_a_change_repeated_under_its_key_gets_the_first_answer(
    stakers: Stakers, alice: TestAgent
) -> None:
    position = (await stakers.stake(alice, "50"))["position_id"]
    key = {"Idempotency-Key": "compound-1"}
    first, again = [await change(alice, position, **key) for _ in range(2)]
    assert (first.status_code, again.text) == (200, first.text)
    assert again.headers["Idempotent-Replayed"] == "true"
    other = await change(alice, position, False, **key)
    assert other.status_code == 422


async def test_only_an_active_position_of_the_agent_itself_is_changed(
    stakers: Stakers, alice: TestAgent
) -> None:
    bob = await stakers.agent("100")
    theirs = (await stakers.stake(bob, "50"))["position_id"]
    for position in (theirs, "stake-999999999", "17", "tx-1"):
        assert refused(await change(alice, position)) == (404, "POSITION_UNKNOWN")
    own = (await stakers.stake(alice, "50"))["position_id"]
    await stakers.unstake(alice, "50")
    for value in (True, False):
        assert refused(await change(alice, own, value)) == (409, "POSITION_RELEASED")
    for other in ("yes", 1, None):
        assert refused(await change(alice, own, other)) == (422, "VALIDATION_ERROR")


async def test_where_staking_is_disabled_a_position_is_only_turned_off(start_registry: StartRegistry) -> None:
    registry = await start_registry(agent_rbac_default_roles=ROLES, staking_enabled=False)
    agent = await registry.agent()
    assert refused(await change(agent, "stake-1")) == (403, "staking_disabled")
    assert refused(await change(agent, "stake-1", False)) == (404, "POSITION_UNKNOWN")


# The growth


async def test_the_reward_of_a_day_is_added_to_its_position_and_no_other(
    stakers: Stakers, alice: TestAgent
) -> None:
    await stakers.fill_fee_collector("50")
    grows = await compounding(stakers, alice, "100", lock_period=365)
    rests = (await stakers.stake(alice, "50", lock_period=365))["position_id"]
    await stakers.elapse(alice, 365)
    before = await stakers.fee_collector_holds()
    assert await run(stakers) == 1
    held = await positions_of(stakers, alice)
    added = held[grows] - 100
    assert Decimal(10) <= added < Decimal("10.0001")
    assert held[rests] == 50
    assert before - await stakers.fee_collector_holds() == parse_amount(str(added))
    assert await stakers.held(alice) == ("50", str(150 + added))
    stats = await stakers.read(alice, "my-stats")
    assert Decimal(stats["total_compounded"]) == Decimal(stats["total_rewards"]) == added
    assert Decimal(5) <= Decimal(stats["claimable_rewards"]) < Decimal("5.0001"), "of the other position"
    (line, *_) = (await stakers.read(alice, "history"))["items"]
    assert (line["type"], line["amount"], line["position_id"]) == ("compound", str(added), grows)


async def test_a_position_grows_once_a_day(stakers: Stakers, alice: TestAgent) -> None:
    await stakers.fill_fee_collector("50")
    position = await compounding(stakers, alice, "100")
    assert await run(stakers) == 0, "the position is younger than a day"
    await stakers.elapse(alice, 1)
    assert (await run(stakers), await run(stakers)) == (1, 0)
    first = (await positions_of(stakers, alice))[position] - 100
    assert Decimal("0.00547945") <= first < Decimal("0.0055")
    await stakers.elapse(alice, 365)
    assert await run(stakers) == 1
    second = (await positions_of(stakers, alice))[position] - 100 - first
    assert second >= 2 + first * Decimal("0.0199"), "what was added earns as well"


async def test_a_claim_and_a_compounding_never_pay_the_same_reward(
    stakers: Stakers, alice: TestAgent
) -> None:
    await stakers.fill_fee_collector("50")
    position = await compounding(stakers, alice, "100", lock_period=365)
    await stakers.elapse(alice, 365)
    claimed = Decimal((await stakers.claim(alice))["amount"])
    assert claimed >= 10
    assert await run(stakers) == 0
    await stakers.elapse(alice, 365)
    assert await run(stakers) == 1
    assert Decimal((await stakers.claim(alice))["amount"]) < Decimal("0.0001")
    assert Decimal(10) <= (await positions_of(stakers, alice))[position] - 100 < Decimal("10.0001")


async def test_runs_and_claims_at_the_same_moment_pay_one_reward(stakers: Stakers, alice: TestAgent) -> None:
    await stakers.fill_fee_collector("50")
    position = await compounding(stakers, alice, "100", lock_period=365)
    await stakers.elapse(alice, 365)
    before = await stakers.fee_collector_holds()
    await at_once(run(stakers), stakers.claim(alice), run(stakers), stakers.claim(alice))
    paid = before - await stakers.fee_collector_holds()
    assert parse_amount("10") <= paid < parse_amount("10.0001")
    liquid, staked = (parse_amount(one) for one in await stakers.held(alice))
    assert liquid + staked == parse_amount("200") + paid
    assert parse_amount(str((await positions_of(stakers, alice))[position])) == staked


async def test_what_was_added_is_locked_with_its_position(stakers: Stakers, alice: TestAgent) -> None:
    await stakers.fill_fee_collector("50")
    position = await compounding(stakers, alice, "100", lock_period=365)
    await stakers.elapse(alice, 364)
    await run(stakers)
    whole = str((await positions_of(stakers, alice))[position])
    early = await stakers.post(alice, "unstake", amount=whole, position_id=position)
    assert refused(early) == (403, "POSITION_LOCKED")
    await stakers.elapse(alice, 1)
    assert (await stakers.unstake(alice, whole, position_id=position))["positions"][0]["remaining"] == "0"


async def test_an_empty_fee_collector_adds_nothing_and_the_reward_is_added_later(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> None:
    directory = tmp_path_factory.mktemp("poor")
    async with open_stakers(database_farm, directory, staking_rewards_enabled=True) as poor:
        agent = await poor.agent("200")
        first = await compounding(poor, agent, "100", lock_period=365)
        second = await compounding(poor, agent, "100", lock_period=365)
        await poor.elapse(agent, 365)
        assert await run(poor) == 0
        assert await poor.held(agent) == ("0", "200")
        await poor.fill_fee_collector("4", number=3)
        assert await run(poor) == 1
        assert await positions_of(poor, agent) == {first: 104, second: 100}
        assert await poor.fee_collector_holds() == 0
        await poor.fill_fee_collector("40")
        # The rest of the first reward is due; the second was not counted, and is added now.
        assert await run(poor) == 1
        held = await positions_of(poor, agent)
        assert Decimal(10) <= held[second] - 100 < Decimal("10.0001")
        assert held[first] < Decimal("104.0001")
        claimed = Decimal((await poor.claim(agent))["amount"])
        assert Decimal(6) <= claimed < Decimal("6.0001")
        await poor.prove()


async def test_a_suspended_agent_is_not_compounded_until_it_is_reinstated(
    stakers: Stakers, alice: TestAgent
) -> None:
    await stakers.fill_fee_collector("50")
    registry = stakers.purses.registry
    enforcer = await registry.administrator("admin_enforcement")
    position = await compounding(stakers, alice, "100")
    await stakers.elapse(alice, 365)
    for soft in (True, False):
        act = {"agent_dids": [alice.did], "reason": "For a test.", "soft_suspend": soft}
        await registry.post("/admin/agents/bulk/suspend", json=act, headers=enforcer.headers)
        assert await run(stakers) == 0
        back = {"agent_dids": [alice.did]}
        await registry.post("/admin/agents/bulk/reinstate", json=back, headers=enforcer.headers)
    assert await run(stakers) == 1
    assert (await stakers.purses.fetchval(_REMAINING, int(position.removeprefix("stake-")))) >= 102 * 10**8


_REMAINING = "SELECT remaining FROM ledger_stake_position WHERE id = $1"


async def test_nothing_is_added_while_rewards_are_not_paid(start_registry: StartRegistry) -> None:
    registry = await start_registry(agent_rbac_default_roles=ROLES)
    agent = await registry.agent()
    made = await registry.post("/staking/stake", json={"amount": "10"}, headers=agent.headers)
    assert (await change(agent, made.json()["position_id"])).status_code == 200
    aged = "UPDATE ledger_stake_position SET staked_at = staked_at - interval '9 days'"
    await registry.database.transaction(lambda tx: tx.execute(aged))
    assert await staking.compound_all(registry.runtime) == 0
    balance = await registry.get("/staking/balance", headers=agent.headers)
    assert balance.json()["staked_balance"] == "10"


async def test_a_compounded_reward_counts_as_a_stake_from_its_own_moment_on(
    stakers: Stakers, alice: TestAgent
) -> None:
    await stakers.fill_fee_collector("50")
    registry = stakers.purses.registry
    await compounding(stakers, alice, "100", lock_period=365)
    await stakers.elapse(alice, 365)
    before = await stakers.purses.fetchval("SELECT clock_timestamp()")
    all_before = await registry.database.read(lambda tx: staking.staked_then(tx, before))
    await run(stakers)
    then = await registry.database.read(lambda tx: staking.read_stake(tx, alice.did, before))
    after = await stakers.purses.fetchval("SELECT clock_timestamp()")
    now = await registry.database.read(lambda tx: staking.read_stake(tx, alice.did, after))
    assert then.then == parse_amount("100")
    assert then.now == now.then == now.now >= parse_amount("110")
    assert await registry.database.read(lambda tx: staking.staked_then(tx, before)) == all_before
    grown = await registry.database.read(lambda tx: staking.staked_then(tx, after))
    assert grown == all_before + now.now - parse_amount("100")


async def test_a_compounding_is_recorded_in_the_journal_and_the_owner_is_notified(
    stakers: Stakers, alice: TestAgent
) -> None:
    await stakers.fill_fee_collector("50")
    registry = stakers.purses.registry
    await subscribe(stakers.purses.developer, "rewards.auto_compounded")
    named = [await compounding(stakers, alice, "100"), await compounding(stakers, alice, "50")]
    await stakers.elapse(alice, 365)
    await run(stakers)
    (event,) = await stakers.events("RewardsAutoCompounded", alice)
    assert (event["from"], event["account"]) == ("did:hansa:system:fee_collector", alice.did)
    assert [one["position_id"] for one in event["positions"]] == named
    assert sum(Decimal(one["amount"]) for one in event["positions"]) == Decimal(event["amount"])
    lines = (await registry.get("/teg/transactions", headers=alice.headers)).json()["items"]
    (line,) = [one for one in lines if one["tx_type"] == "compound"]
    assert (line["direction"], line["amount"], line["balance_after"]) == ("received", event["amount"], "50")
    own = await registry.get(f"/events/aggregate/{alice.did}", headers=registry.internal)
    assert own.json()["pagination"]["total_items"] == len(own.json()["items"])
    assert ("rewards.auto_compounded", event) in await notified_of(registry, alice.did)
    await require_schemas_kept(registry.database, "RewardsAutoCompounded")
