"""Each statement of each act on a payment token fails once; the token is in one state, and a repetition completes the act."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator

import asyncpg
import pytest

from tests.faults.acts import Outcome
from tests.faults.completed import faults_of_commits
from tests.faults.failing import Plan, put_under_plan
from tests.faults.payment_acts import PAYMENT_ACTS, PaymentAct, PaymentAsking, PaymentWorld
from tests.payment_proof import prove_tokens
from tests.properties.proof import prove_book, prove_supply
from tests.registry import DatabaseFarm, open_registry

# What is written for good by these: their lost answers are the ones that leave something behind.
COMMITTING = ("COMMIT", "commerce_verify_2(", "ledger_apply_extended(")
POOL_SIZE = 2
HANG_SECONDS = 30
TRIES = POOL_SIZE + 2

_STATES = "SELECT status, count(*) AS many FROM commerce_payment_token GROUP BY status"


@pytest.fixture(scope="module")
async def stage(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[PaymentWorld, Plan, "asyncpg.Connection[asyncpg.Record]"]]:
    """A registry with few connections, so that a spoilt one is met again at once."""
    dsn = await database_farm.fresh()
    directory = tmp_path_factory.mktemp("payments")
    settings = {"genesis_supply": "1000000000", "genesis_grant_amount": "100000"}
    async with open_registry(
        dsn,
        directory,
        database_pool_size=POOL_SIZE,
        rate_limit_reads="off",
        rate_limit_writes="off",
        **settings,
    ) as registry:
        world = await PaymentWorld.of(registry)
        observer = await asyncpg.connect(dsn)
        plan = Plan(observer)
        await put_under_plan(registry.database, plan)
        yield world, plan, observer
        await observer.close()


@pytest.mark.parametrize("act", PAYMENT_ACTS, ids=str)
async def test_whichever_statement_fails_the_token_is_in_one_state_and_a_repetition_completes_the_act(
    act: PaymentAct, stage: tuple[PaymentWorld, Plan, "asyncpg.Connection[asyncpg.Record]"]
):
    world, plan, observer = stage
    statements = await _undisturbed(act, world, plan)
    for number, statement in enumerate(statements):
        for fault in faults_of_commits(statement, COMMITTING):
            site = f"{act}, statement {number} of {len(statements)} ({statement[:60]}): {fault.value}"
            before = await _states(observer)
            asked = await act.prepare(world)
            plan.fail(number, fault)
            outcome = await _within_reason(asked)
            assert plan.has_failed, site
            assert outcome.is_polite, (site, outcome)
            await prove_tokens(observer)
            plan.watch()
            completed = await _completed(asked, site)
            assert completed.status in {200, act.repeated}, (site, completed)
            assert Counter(await _states(observer)) - Counter(before) == act.ends, site
            await prove_tokens(observer)
            await world.clear()
    await prove_tokens(observer)
    await prove_book(observer)
    await prove_supply(world.registry.supply)
    print(f"{act}: {len(statements)} statements, each failed once")


async def _undisturbed(act: PaymentAct, world: PaymentWorld, plan: Plan) -> list[str]:
    """The statements of an act when nothing fails."""
    # What a process reads once is read the first time.
    for _ in range(2):
        asked = await act.prepare(world)
        plan.watch()
        outcome = await asked()
        assert outcome.is_decided, outcome
    statements = list(plan.listed)
    await world.clear()
    return statements


async def _within_reason(asked: PaymentAsking) -> Outcome:
    async with asyncio.timeout(HANG_SECONDS):
        return await asked()


async def _completed(asked: PaymentAsking, site: str) -> Outcome:
    """Repeat until it is decided; a connection that died without a word is found out by those who use it next."""
    for _ in range(TRIES):
        outcome = await _within_reason(asked)
        assert outcome.is_polite, (site, outcome)
        if outcome.is_decided:
            return outcome
    raise AssertionError(f"{site}: the registry does not come back")


async def _states(observer: "asyncpg.Connection[asyncpg.Record]") -> dict[str, int]:
    return {row["status"]: row["many"] for row in await observer.fetch(_STATES)}


async def test_a_verification_costs_the_same_statements_whatever_the_token_is(
    stage: tuple[PaymentWorld, Plan, "asyncpg.Connection[asyncpg.Record]"],
):
    world, plan, _ = stage
    fresh, released = [(await world.authorized())["token"] for _ in range(2)]
    assert (await world.payments.release(released)).status_code == 200
    costs = []
    for token in (fresh, fresh, released, "apt_" + "0" * 64):
        plan.watch()
        await world.payments.verify(token)
        costs.append(plan.listed)
    assert costs == [costs[0]] * 4, costs
    assert len(costs[0]) <= 3, costs[0]
    await world.clear()
