"""Projections: balances from the log alone, from zero and from a baseline."""

import asyncio
import random
from typing import Any

import pytest

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor
from hansa.rooms import ledger
from hansa.rooms.journal.projection import snapshot
from hansa.rooms.journal.projection.snapshot import projected_balances
from tests.all_events import ALL_EVENTS
from tests.registry import StartRegistry, TestAgent, TestDeveloper, TestRegistry
from tests.rooms.ledger.treasury import destroy

PATH = "/admin/projection-snapshot"


@pytest.fixture
async def registry(start_registry: StartRegistry) -> TestRegistry:
    return await start_registry(enable_projection_snapshots=True, agent_rbac_default_roles="trader,staker")


@pytest.fixture
async def administrator(registry: TestRegistry) -> TestDeveloper:
    return await registry.administrator("admin_platform")


async def take(administrator: TestDeveloper) -> dict[str, Any]:
    answer = await administrator.registry.post(PATH, headers=administrator.headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def projected(registry: TestRegistry, *, from_zero: bool) -> dict[tuple[str, str], int]:
    async def read(tx: Tx) -> dict[tuple[str, str], int]:
        folded = projected_balances(tx, from_zero=from_zero)
        return {(held.account, held.bucket): held.amount async for held in folded}

    return await registry.database.read(read)


async def in_the_book(registry: TestRegistry) -> dict[tuple[str, str], int]:
    rows = await registry.database.read(lambda tx: tx.fetch("SELECT did, liquid, staked FROM ledger_account"))
    both = {(row["did"], bucket): row[bucket] for row in rows for bucket in ("liquid", "staked")}
    return {key: amount for key, amount in both.items() if amount}


async def prove(registry: TestRegistry) -> None:
    held = await in_the_book(registry)
    assert await projected(registry, from_zero=True) == held
    assert await projected(registry, from_zero=False) == held


async def act_at_random(agents: list[TestAgent], chance: random.Random) -> None:
    agent, other = chance.sample(agents, 2)
    amount = f"{chance.uniform(0.00000001, 15):.8f}"
    if chance.random() < 0.7:
        await agent.transfer(other, amount)
    elif chance.random() < 0.6:
        await agent.registry.post(
            "/staking/stake", json={"amount": "10", "lock_period": 0}, headers=agent.headers
        )
    else:
        await agent.registry.post("/staking/unstake", json={"amount": amount}, headers=agent.headers)


@pytest.mark.parametrize("seed", range(3))
async def test_balances_are_the_same_from_zero_from_the_newest_baseline_and_in_the_book(
    registry: TestRegistry, administrator: TestDeveloper, seed: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(snapshot, "BALANCES_PER_EVENT", 3)
    chance = random.Random(seed)
    agents = [await registry.agent() for _ in range(4)]
    for _ in range(3):
        for _ in range(12):
            await act_at_random(agents, chance)
        await prove(registry)
        await take(administrator)
        await prove(registry)
    await act_at_random(agents, chance)
    await prove(registry)


async def test_a_burn_before_and_after_a_baseline_is_folded_once(
    registry: TestRegistry, administrator: TestDeveloper
):
    await registry.agent()
    for number in range(2):
        await destroy(registry, 5, f"before {number}")
        await prove(registry)
        await take(administrator)
        await destroy(registry, 7, f"after {number}")
        await prove(registry)


async def test_a_baseline_holds_every_balance_of_one_moment(
    registry: TestRegistry, administrator: TestDeveloper, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(snapshot, "BALANCES_PER_EVENT", 2)
    agents = [await registry.agent() for _ in range(3)]
    await agents[0].transfer(agents[1], "1")
    returned = await take(administrator)
    held = await in_the_book(registry)
    assert (returned["balances"], returned["events"]) == (len(held), -(-len(held) // 2))
    page = await registry.get(
        "/events/", params={"event_type": "ProjectionSnapshot"}, headers=registry.internal
    )
    parts = page.json()["items"]
    assert (parts[0]["id"], parts[0]["sequence"]) == (returned["event_id"], returned["sequence"])
    assert [part["data"]["part"] for part in parts] == list(range(returned["events"]))
    assert [part["data"]["is_last"] for part in parts] == [False] * (len(parts) - 1) + [True]
    assert {part["aggregate_id"] for part in parts} == {"did:hansa:system:registry"}
    shown = [balance for part in parts for balance in part["data"]["balances"]]
    assert {(one["account"], one["bucket"]) for one in shown} == held.keys()


async def test_a_transfer_that_is_open_while_the_baseline_is_read_comes_after_it(
    registry: TestRegistry, administrator: TestDeveloper
):
    payer, payee, third = [await registry.agent() for _ in range(3)]
    written, release = asyncio.Event(), asyncio.Event()

    async def slow(tx: Tx) -> None:
        order = ledger.TransferOrder(payer.did, payee.did, Minor(1))
        await ledger.transfer(tx, order, ledger.Book.of(registry.settings))
        written.set()
        await release.wait()

    late = asyncio.create_task(registry.database.transaction(slow))
    await written.wait()
    returned = await take(administrator)
    release.set()
    await late
    assert (await third.transfer(payee, "2")).status_code == 200
    assert returned["sequence"] > await registry.database.query(
        lambda tx: tx.fetchval(
            f"SELECT max(seq) FROM {ALL_EVENTS} e WHERE data ->> 'tx_type' = 'transfer' AND seq < $1",
            returned["sequence"],
        )
    )
    await prove(registry)


async def test_a_baseline_marked_to_be_skipped_is_skipped_by_folds(
    registry: TestRegistry, administrator: TestDeveloper
):
    await registry.agent()
    await take(administrator)
    # A baseline that is wrong shows whether it was used.
    await registry.database.transaction(
        lambda tx: tx.execute(
            "INSERT INTO journal_event (event_type, aggregate_id, aggregate_type, data, source_service)"
            " SELECT event_type, aggregate_id, aggregate_type, jsonb_set(data, '{balances}', '[]'), 'test'"
            " FROM journal_event WHERE event_type = 'ProjectionSnapshot'"
        )
    )
    assert await projected(registry, from_zero=False) == {}
    answer = await registry.http.put(
        "/api/v1/admin/event-emission-policies/ProjectionSnapshot",
        json={"skip_in_projection": True},
        headers=administrator.headers,
    )
    assert answer.status_code == 200
    await prove(registry)


async def test_no_baseline_is_written_over_a_difference(registry: TestRegistry, administrator: TestDeveloper):
    agent = await registry.agent()
    for change in ("liquid = liquid + 1", "liquid = liquid - 2", "liquid = liquid + 1, staked = 1"):
        await registry.database.transaction(
            lambda tx, change=change: tx.execute(
                f"UPDATE ledger_account SET {change} WHERE did = $1", agent.did
            )
        )
        answer = await registry.post(PATH, headers=administrator.headers)
        assert answer.status_code == 409
        assert answer.json()["error"]["code"] == "PROJECTION_DIVERGES"
        assert answer.json()["error"]["context"]["account"] == agent.did
    count = await registry.database.query(
        lambda tx: tx.fetchval("SELECT count(*) FROM journal_event WHERE event_type = 'ProjectionSnapshot'")
    )
    assert count == 0


async def test_a_baseline_that_its_policy_keeps_out_is_a_conflict(
    registry: TestRegistry, administrator: TestDeveloper
):
    await registry.http.put(
        "/api/v1/admin/event-emission-policies/ProjectionSnapshot",
        json={"emit_from_registry": False},
        headers=administrator.headers,
    )
    answer = await registry.post(PATH, headers=administrator.headers)
    assert answer.json()["error"]["code"] == "PROJECTION_SNAPSHOT_WITHHELD"


async def test_baselines_are_written_only_where_they_are_enabled(start_registry: StartRegistry):
    registry = await start_registry()
    administrator = await registry.administrator("admin_platform")
    answer = await registry.post(PATH, headers=administrator.headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "PROJECTION_SNAPSHOTS_DISABLED")


async def test_only_administrators_of_the_platform_write_baselines(registry: TestRegistry):
    other, agent = await registry.administrator("admin_treasury"), await registry.agent()
    assert (await registry.post(PATH, headers=other.headers)).status_code == 403
    assert (await registry.post(PATH, headers=agent.headers)).status_code == 401
    assert (await registry.post(PATH, headers=registry.internal)).status_code == 401
