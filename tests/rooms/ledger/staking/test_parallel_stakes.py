"""Staking at the same moment as itself and as transfers."""

from collections import Counter
from collections.abc import AsyncIterator

import pytest

from hansa.foundation.values.money import parse_amount
from tests.registry import DatabaseFarm, at_once
from tests.rooms.ledger.staking.stakers import Stakers, open_stakers

WRITERS = 64


@pytest.fixture(scope="module")
async def open_here(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stakers]:
    directory = tmp_path_factory.mktemp("parallel-stakes")
    async with open_stakers(database_farm, directory, staking_rewards_enabled=True) as stakers:
        yield stakers


@pytest.fixture
async def stakers(open_here: Stakers) -> AsyncIterator[Stakers]:
    """The book is proven after each race."""
    yield open_here
    await open_here.prove()


@pytest.mark.parametrize("named", [True, False], ids=["of one position", "of whatever is unlocked"])
async def test_of_two_releases_of_the_same_stake_one_wins(stakers: Stakers, named: bool) -> None:
    agent = await stakers.agent("100")
    position = (await stakers.stake(agent, "60"))["position_id"]
    members = {"amount": "60", **({"position_id": position} if named else {})}
    answers = await at_once(*(stakers.post(agent, "unstake", **members) for _ in range(8)))
    assert Counter(answer.status_code for answer in answers) == {200: 1, 403: 7}
    assert await stakers.held(agent) == ("100", "0")


async def test_parallel_releases_never_draw_more_than_is_staked(stakers: Stakers) -> None:
    agent = await stakers.agent("100")
    for amount in ("30", "30", "35"):
        await stakers.stake(agent, amount)
    answers = await at_once(*(stakers.post(agent, "unstake", amount="10") for _ in range(20)))
    assert Counter(answer.status_code for answer in answers) == {200: 9, 403: 11}
    assert await stakers.held(agent) == ("95", "5")


async def test_of_parallel_claims_one_is_paid(stakers: Stakers) -> None:
    agent = await stakers.agent("100")
    await stakers.fill_fee_collector("50")
    await stakers.stake(agent, "100", lock_period=365)
    await stakers.elapse(agent, 365)
    before = await stakers.fee_collector_holds()
    claims = await at_once(*(stakers.claim(agent) for _ in range(8)))
    paid = sum(parse_amount(claim["amount"]) for claim in claims)
    # The seconds that the race itself takes earn a little too.
    assert parse_amount("10") <= paid < parse_amount("10.0001")
    assert before - await stakers.fee_collector_holds() == paid


async def test_claims_of_many_agents_pay_what_the_fee_collector_holds_and_no_more(stakers: Stakers) -> None:
    agents = [await stakers.agent("100") for _ in range(6)]
    await stakers.fill_fee_collector("25")
    for agent in agents:
        await stakers.stake(agent, "100", lock_period=365)
        await stakers.elapse(agent, 20 * 365)
    held = await stakers.fee_collector_holds()
    claims = await at_once(*(stakers.claim(agent) for agent in agents))
    assert sum(parse_amount(claim["amount"]) for claim in claims) == held
    assert await stakers.fee_collector_holds() == 0


async def test_stakes_and_transfers_of_the_same_units_never_draw_more_than_the_balance(
    stakers: Stakers,
) -> None:
    agent, payee = await stakers.agent("100"), await stakers.agent("1")
    race = [
        work
        for _ in range(WRITERS // 2)
        for work in (stakers.post(agent, "stake", amount="10"), agent.transfer(payee, "10"))
    ]
    answers = await at_once(*race)
    stakes, transfers = answers[0::2], answers[1::2]
    assert {answer.status_code for answer in answers} == {200, 402}
    staked = 10 * sum(answer.status_code == 200 for answer in stakes)
    sent = sum(answer.status_code == 200 for answer in transfers)
    liquid, held = await stakers.held(agent)
    assert held == str(staked)
    assert parse_amount(liquid) < parse_amount("10.05")
    assert parse_amount(await payee.balance()) == parse_amount("1") + sent * parse_amount("10")


async def test_stakes_claims_releases_and_transfers_all_at_once_lose_nothing(stakers: Stakers) -> None:
    agents = [await stakers.agent("200") for _ in range(4)]
    await stakers.fill_fee_collector("10")
    for agent in agents:
        await stakers.stake(agent, "50", lock_period=180)
        await stakers.elapse(agent, 180)
    race = [
        work
        for agent, payee in zip(agents, agents[1:] + agents[:1], strict=True)
        for _ in range(4)
        for work in (
            stakers.post(agent, "stake", amount="10.5"),
            stakers.post(agent, "unstake", amount="12.25"),
            stakers.post(agent, "claim-rewards"),
            agent.transfer(payee, "7"),
        )
    ]
    assert {answer.status_code for answer in await at_once(*race)} <= {200, 402, 403}


async def test_one_key_in_parallel_is_one_stake(stakers: Stakers) -> None:
    agent = await stakers.agent("100")
    answers = await at_once(*(stakers.post(agent, "stake", key="once", amount="10") for _ in range(WRITERS)))
    assert {answer.status_code for answer in answers} <= {200, 422}
    assert len({answer.text for answer in answers if answer.status_code == 200}) == 1
    assert await stakers.held(agent) == ("90", "10")


async def test_a_claim_gathers_the_fees_of_all_accounts_that_collect_them(stakers: Stakers) -> None:
    agent = await stakers.agent("100")
    await stakers.fill_fee_collector("4")
    await stakers.fill_fee_collector("4", number=1)
    await stakers.fill_fee_collector("4", number=7)
    held = await stakers.fee_collector_holds()
    await stakers.stake(agent, "100", lock_period=365)
    await stakers.elapse(agent, 365)
    claim = await stakers.claim(agent)
    assert parse_amount("10") <= parse_amount(claim["amount"]) < parse_amount("10.0001")
    assert held - await stakers.fee_collector_holds() == parse_amount(claim["amount"])
    assert await stakers.fee_collector_holds(1) == await stakers.fee_collector_holds(7) == 0
