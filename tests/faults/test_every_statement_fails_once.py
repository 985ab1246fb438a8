"""Each statement of each act that moves units fails once, by each fault there is; nothing is lost and all goes on."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from hansa.foundation.values.money import Minor
from hansa.rooms import ledger
from tests.all_events import ALL_EVENTS
from tests.faults.acts import BATCH, OTHERS, TRANSFER, UNIT, Act, Asking, Outcome, World, outcome_of, render
from tests.faults.failing import Fault, Plan, put_under_plan
from tests.faults.traffic import request_of
from tests.properties.proof import prove_book
from tests.properties.scale import by_tier
from tests.registry import StartRegistry, at_once

ACTS = by_tier((TRANSFER, BATCH), (TRANSFER, BATCH, *OTHERS), (TRANSFER, BATCH, *OTHERS))
POOL_SIZE = 2
HANG_SECONDS = 30
TRIES = POOL_SIZE + 2
ROLES = ["trader", "client", "staker"]

# All that an act writes: how often each table grew, and by how much.
_EXTENT = f"""
SELECT (SELECT count(*) FROM ledger_transaction) AS transactions, (SELECT sum(amount) FROM ledger_transaction) AS amounts,
  (SELECT count(*) FROM ledger_posting) AS postings, (SELECT count(*) FROM {ALL_EVENTS} e) AS events,
  (SELECT count(*) FROM plumbing_idempotency) AS answers, (SELECT count(*) FROM ledger_account) AS accounts,
  (SELECT count(*) FROM ledger_stake_position) AS positions,
  (SELECT sum(remaining) FROM ledger_stake_position) AS remaining,
  (SELECT sum(due) FROM ledger_stake_reward) AS due, (SELECT sum(staked) FROM ledger_account) AS staked,
  (SELECT count(*) FROM agents_agent) AS agents, (SELECT count(*) FROM agents_genesis_grant) AS grants,
  (SELECT count(*) FROM agents_bootstrap_token WHERE used_at IS NOT NULL) AS burnt_tokens,
  (SELECT count(*) FROM catalogue_card) AS cards, (SELECT count(*) FROM agents_key) AS keys,
  (SELECT count(*) FROM agents_key WHERE valid_until IS NULL) AS present_keys,
  (SELECT count(*) FROM agents_agent WHERE status = 'revoked') AS revoked_agents,
  (SELECT count(*) FROM catalogue_card WHERE status = 'revoked') AS revoked_cards,
  (SELECT count(*) FROM agents_mtls) AS identities,
  (SELECT count(*) FROM agents_mtls WHERE status = 'revoked') AS revoked_identities
"""


@pytest.fixture
async def world(start_registry: StartRegistry) -> World:
    """A registry with few connections, so that a spoilt one is met again at once."""
    registry = await start_registry(
        database_pool_size=POOL_SIZE,
        genesis_supply="1000000000",
        genesis_grant_amount="100000",
        staking_rewards_enabled=True,
        agent_rbac_default_roles=ROLES,
        rate_limit_reads="off",
    )
    world = World(registry, await registry.agent(), await registry.agent())
    fees = Minor(1000 * UNIT)
    assert await registry.database.transaction(
        lambda tx: ledger.grant(tx, payee=world.book.fee_collector, amount=fees, ref="fees", book=world.book)
    )
    return world


@pytest.fixture
async def observer(world: World) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """A connection that never fails."""
    connection = await asyncpg.connect(world.registry.database.dsn)
    yield connection
    await connection.close()


@pytest.fixture
async def plan(world: World, observer: "asyncpg.Connection[asyncpg.Record]") -> Plan:
    plan = Plan(observer)
    await put_under_plan(world.registry.database, plan)
    return plan


@pytest.mark.parametrize("act", ACTS, ids=str)
async def test_nothing_is_lost_whichever_statement_fails_and_however(
    act: Act, world: World, plan: Plan, observer: "asyncpg.Connection[asyncpg.Record]"
):
    statements, growth = await _undisturbed(act, world, plan, observer)
    assert statements[-1].startswith(("COMMIT", "ROLLBACK", "SELECT * FROM ledger_apply(")), statements
    for number, statement in enumerate(statements):
        for fault in Fault:
            site = f"{act}, statement {number} of {len(statements)} ({statement[:60]}): {fault.value}"
            asked = await act.prepare(world)
            before = await _extent(observer)
            plan.fail(number, fault)
            outcomes = await _within_reason(asked)
            assert plan.has_failed, site
            assert all(outcome.is_polite for outcome in outcomes), (site, outcomes)
            plan.watch()
            settled = await _settled(asked, site)
            assert _are_final(settled, act), (site, settled)
            assert not act.takes_key or _are_repeated(outcomes, settled), (site, outcomes, settled)
            assert await _grown(observer, before) == growth, site
            await prove_book(observer)
    await _prove_pool(world)
    print(f"{act}: {len(statements)} statements x {len(Fault)} faults, each failed once")


async def test_a_batch_that_the_database_refuses_is_written_one_by_one(
    world: World, plan: Plan, observer: "asyncpg.Connection[asyncpg.Record]"
):
    group = ledger.GroupCommit(world.registry.database, world.book)
    sound = ledger.TransferOrder(world.alice.did, world.bob.did, Minor(UNIT))
    unwritable = ledger.TransferOrder(world.alice.did, world.bob.did, Minor(UNIT), message="long" * 100)
    keys = [world.new_key() for _ in range(3)]
    before = await _extent(observer)
    first, refused, last = await asyncio.gather(
        group.transfer(sound, request_of(sound, keys[0]), render),
        _crash_of(group, unwritable, keys[1]),
        group.transfer(sound, request_of(sound, keys[2]), render),
    )
    assert isinstance(refused, asyncpg.CheckViolationError)
    assert first.text != last.text
    assert (await _grown(observer, before))["transactions"] == 2
    again = await outcome_of(group.transfer(sound, request_of(sound, keys[0]), render))
    assert again.status == 200
    assert (await _grown(observer, before))["transactions"] == 2
    await prove_book(observer)


# What the batch writes inside its one statement, each in turn refused by the database once.
_REFUSE = """
CREATE SEQUENCE refusals;
CREATE FUNCTION refuse_batches() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF current_query() LIKE '%ledger_apply%' AND nextval('refusals') = 1 THEN
    RAISE EXCEPTION 'refused on purpose';
  END IF;
  RETURN NEW;
END $$
"""


@pytest.mark.parametrize(
    "written",
    [
        "UPDATE ON ledger_account",
        "INSERT ON ledger_transaction",
        "INSERT ON ledger_posting",
        "INSERT ON journal_event",
        "INSERT ON plumbing_idempotency",
    ],
)
async def test_whatever_a_batch_fails_to_write_its_transfers_are_written_once(
    written: str, world: World, observer: "asyncpg.Connection[asyncpg.Record]"
):
    group = ledger.GroupCommit(world.registry.database, world.book)
    order = ledger.TransferOrder(world.alice.did, world.bob.did, Minor(UNIT))
    keys = [world.new_key() for _ in range(3)]
    before = await _extent(observer)
    await observer.execute(_REFUSE)
    await observer.execute(
        f"CREATE TRIGGER refusing BEFORE {written} FOR EACH ROW EXECUTE FUNCTION refuse_batches()"
    )
    try:
        returned = await asyncio.gather(
            *(group.transfer(order, request_of(order, key), render) for key in keys)
        )
    finally:
        await observer.execute("DROP FUNCTION refuse_batches() CASCADE")
        await observer.execute("DROP SEQUENCE refusals")
    assert [one.replayed for one in returned] == [False] * 3
    assert (await _grown(observer, before))["transactions"] == 3
    again = await group.transfer(order, request_of(order, keys[0]), render)
    assert (again.replayed, again.text) == (True, returned[0].text)
    await prove_book(observer)


async def _crash_of(group: ledger.GroupCommit, order: ledger.TransferOrder, key: str) -> Exception | None:
    try:
        await group.transfer(order, request_of(order, key), render)
    except asyncpg.PostgresError as error:
        return error
    return None


async def _undisturbed(
    act: Act, world: World, plan: Plan, observer: "asyncpg.Connection[asyncpg.Record]"
) -> tuple[list[str], dict[str, int]]:
    """Return the statements of an act and its writes, when nothing fails."""
    # What a process reads once is read the first time.
    await (await act.prepare(world))()
    asked = await act.prepare(world)
    before = await _extent(observer)
    plan.watch()
    outcomes = await asked()
    statements = list(plan.listed)
    assert _are_final(outcomes, act), outcomes
    return statements, await _grown(observer, before)


async def _within_reason(asked: Asking) -> list[Outcome]:
    async with asyncio.timeout(HANG_SECONDS):
        return await asked()


async def _settled(asked: Asking, site: str) -> list[Outcome]:
    """Ask again until all is decided; a connection that died without a word is found out by those who use it next."""
    for _ in range(TRIES):
        outcomes = await _within_reason(asked)
        assert all(outcome.is_polite for outcome in outcomes), (site, outcomes)
        if all(outcome.is_decided for outcome in outcomes):
            return outcomes
    raise AssertionError(f"{site}: the registry does not come back")


def _are_final(outcomes: list[Outcome], act: Act) -> bool:
    return all(outcome.status in finals for outcome, finals in zip(outcomes, act.finals, strict=True))


def _are_repeated(outcomes: list[Outcome], settled: list[Outcome]) -> bool:
    """Return whether each repetition that succeeds gives the first answer."""
    return all(
        one.text == other.text
        for one, other in zip(outcomes, settled, strict=True)
        if one.status == other.status == 200
    )


async def _extent(observer: "asyncpg.Connection[asyncpg.Record]") -> dict[str, int]:
    row = await observer.fetchrow(_EXTENT)
    assert row is not None
    return {name: int(value or 0) for name, value in row.items()}


async def _grown(observer: "asyncpg.Connection[asyncpg.Record]", before: dict[str, int]) -> dict[str, int]:
    return {name: value - before[name] for name, value in (await _extent(observer)).items()}


async def _prove_pool(world: World) -> None:
    """Every connection of the pool works; those found dead are replaced."""
    for _ in range(TRIES):
        answers = await at_once(*(world.registry.http.get("/health") for _ in range(POOL_SIZE * 2)))
        if all(answer.status_code == 200 for answer in answers):
            return
    raise AssertionError([answer.text for answer in answers])
