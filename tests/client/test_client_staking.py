"""Staking by the client."""

from decimal import Decimal

import pytest

from hansa_client.errors import Forbidden
from tests.client.conftest import Open
from tests.client.faults import Faults
from tests.client.test_client_accounts import registered
from tests.registry import card_of

STAKE = "/api/v1/staking/stake"


async def staker(connect: Open, registry) -> object:
    owner = await registered(connect)
    created = await owner.agents.create(card=card_of("Saver"))
    tokens = await owner.accounts.login("ada@example.org", "Correct-Horse-7-Battery")
    answer = await registry.post(
        f"/agents/{created.agent_did}/authz/roles",
        json={"role": "staker"},
        headers={"Authorization": f"Bearer {tokens.access_token}"},
    )
    assert answer.status_code == 200, answer.text
    return connect(agent=created.credentials)


async def test_units_are_staked_and_released(connect: Open, registry):
    agent = await staker(connect, registry)
    assert (await agent.staking.status()).minimum_stake == Decimal(10)
    staked = await agent.staking.stake(30)
    released = await agent.staking.unstake("10", position_id=staked.position_id)
    assert [draw.remaining for draw in released.positions] == [Decimal(20)]
    balance = await agent.staking.balance()
    assert (balance.liquid_balance, balance.staked_balance) == (Decimal(80), Decimal(20))
    assert [one.amount for one in (await agent.staking.positions()).items] == [Decimal(20)]


async def test_a_stake_whose_answer_was_lost_is_made_once(connect: Open, faults: Faults, registry):
    agent = await staker(connect, registry)
    faults.next(STAKE, "answer lost", "503")
    await agent.staking.stake("30", lock_days=7)
    positions = (await agent.staking.positions()).items
    assert [(one.amount, one.lock_period) for one in positions] == [(Decimal(30), 7)]
    assert len(set(faults.keys(STAKE))) == 1
    with pytest.raises(Forbidden):
        await agent.staking.unstake("30")


async def test_where_rewards_are_off_a_claim_is_refused(connect: Open, registry):
    agent = await staker(connect, registry)
    with pytest.raises(Forbidden) as refused:
        await agent.staking.claim_rewards()
    assert refused.value.code == "staking_rewards_disabled"


async def test_the_rewards_of_a_stake_are_added_to_it_or_no_longer(connect: Open, registry):
    agent = await staker(connect, registry)
    staked = await agent.staking.stake("30")
    assert staked.auto_compound is False
    assert (await agent.staking.auto_compound(staked.position_id)).auto_compound is True
    assert [one.auto_compound for one in (await agent.staking.positions()).items] == [True]
    assert (await agent.staking.auto_compound(staked.position_id, on=False)).auto_compound is False
