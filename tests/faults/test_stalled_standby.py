"""Synchronous replication stalls, then the leader is lost: nothing that was answered, sent or signed is missing."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from itertools import count
from pathlib import Path

import httpx2
import pytest

from hansa.foundation.plumbing.storage import connection
from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.values.errors import Unavailable
from hansa.rooms import auditor
from hansa.rooms.journal.feed import LIVE_FEED
from tests.faults.standby import Pair, leader_and_standby, migrated_cluster, until, value_of
from tests.paying import Payments
from tests.registry import TestRegistry, open_prepared, open_registry

TIMEOUT_SECONDS = 1.0


@pytest.fixture(scope="module")
async def cluster() -> AsyncIterator[Path]:
    async with migrated_cluster() as made:
        yield made


@pytest.fixture
async def pair(cluster: Path) -> AsyncIterator[Pair]:
    async with leader_and_standby(cluster) as made:
        yield made


@pytest.fixture
async def processes(
    pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[TestRegistry, TestRegistry]]:
    """Two processes of one registry on the leader. Their statements time out early, and each has connections at hand."""
    monkeypatch.setattr(connection, "STATEMENT_SECONDS", TIMEOUT_SECONDS)
    async with AsyncExitStack() as stack:
        one = await stack.enter_async_context(open_registry(pair.leader, tmp_path / "data"))
        two = await stack.enter_async_context(open_prepared(one.runtime.settings, pair.leader))
        for process in (one, two):
            await asyncio.gather(*(process.get("/public/supply-invariant") for _ in range(8)))
        yield one, two
        pair.resume()


async def repeated(answer: httpx2.Response) -> None:
    """A repetition is not answered from rows of the leader alone."""
    assert answer.status_code in {422, 503}, answer.text
    if answer.status_code == 422:
        assert answer.json()["error"]["code"] == "IDEMPOTENCY_KEY_IN_PROGRESS"


async def test_a_repeated_transfer_is_not_answered_before_the_standby_has_the_first(
    pair: Pair, processes: tuple[TestRegistry, TestRegistry]
):
    one, two = processes
    payer, payee = await one.agent(), await one.agent()
    await pair.stall()
    assert (await payer.transfer(payee, "10", key="order-1")).status_code == 503
    await repeated(await payer.transfer(payee, "10", key="order-1"))
    await repeated(await replace(payer, registry=two).transfer(payee, "10", key="order-1"))
    pair.resume()

    async def is_answered() -> bool:
        answer = await payer.transfer(payee, "10", key="order-1")
        return answer.status_code == 200 and answer.headers["idempotent-replayed"] == "true"

    await until(is_answered)
    assert await payee.balance() == "110"


async def test_a_commit_whose_wait_is_cancelled_by_an_administrator_is_not_acknowledged(
    pair: Pair, processes: tuple[TestRegistry, TestRegistry]
):
    one, two = processes
    payer, payee = await one.agent(), await one.agent()
    await pair.stall()
    sending = asyncio.create_task(payer.transfer(payee, "10", key="order-1"))
    await until(pair.commits_waiting)
    await pair.cancel_waiting()
    assert (await sending).status_code == 503
    # The rows are visible at the leader now, to the connections that the other process has.
    assert (await replace(payer, registry=two).transfer(payee, "10", key="order-1")).status_code == 503
    await pair.fail_over()
    assert (
        await value_of(pair.standby, "SELECT count(*) FROM ledger_transaction WHERE tx_type = 'transfer'")
        == 0
    )


async def test_events_that_only_the_leader_has_are_not_published(
    pair: Pair, processes: tuple[TestRegistry, TestRegistry]
):
    one, two = processes
    payer, payee = await one.agent(), await one.agent()
    feed = LIVE_FEED.of(two.runtime)
    async with feed.following(), feed.needed():
        with feed.listening("TokensTransferred", None) as queue:
            await pair.stall()
            sending = asyncio.create_task(payer.transfer(payee, "10"))
            await until(pair.commits_waiting)
            await pair.cancel_waiting()
            assert (await sending).status_code == 503
            for path in ("/public/eventstore-recent", "/agents/me/events"):
                answer = await two.get(path, headers=replace(payer, registry=two).headers)
                assert answer.status_code == 503, (path, answer.text)
            assert await queue.take(TIMEOUT_SECONDS) == []
            pair.resume()
            assert await queue.take(60)


async def test_a_checkpoint_that_only_the_leader_has_is_not_served(
    pair: Pair, processes: tuple[TestRegistry, TestRegistry]
):
    one, two = processes
    await auditor.run_cycle(one.runtime)
    assert (await two.http.get("/log/checkpoint")).status_code == 200
    await pair.stall()
    auditing = asyncio.create_task(auditor.run_cycle(one.runtime))
    await until(pair.commits_waiting)
    await pair.cancel_waiting()
    with pytest.raises(Unavailable):
        await auditing
    for path in ("/log/checkpoint", "/api/auditor/attestations/head", "/api/auditor/attestations"):
        answer = await two.http.get(path)
        assert answer.status_code == 503, (path, answer.text)


async def test_a_settled_payment_is_not_confirmed_before_the_standby_has_it(
    pair: Pair, processes: tuple[TestRegistry, TestRegistry]
):
    one, _ = processes
    payments = await Payments.between_two(one)
    token = (await payments.authorized("5"))["token"]
    await pair.stall()
    settling = asyncio.create_task(payments.settle(token))
    await until(pair.commits_waiting)
    await pair.cancel_waiting()
    assert (await settling).status_code == 503
    assert (await payments.settle(token)).status_code == 503


async def test_a_process_that_connects_during_the_stall_serves_nothing(pair: Pair):
    await pair.stall()
    database = Database(pair.leader)
    with pytest.raises(Unavailable):
        await database.open()
    await database.close()
    assert await pair.commits_waiting() == 0, "the wait of a connection that serves nothing is cancelled"
    pair.resume()
    await database.open()
    await database.close()


async def test_a_registry_whose_commits_hang_is_not_ready_and_lives(
    pair: Pair, processes: tuple[TestRegistry, TestRegistry]
):
    one, _ = processes
    assert (await one.http.get("/readyz")).status_code == 200
    await pair.stall()

    async def is_unready() -> bool:
        return (await one.http.get("/readyz")).status_code == 503

    await until(is_unready)
    assert (await one.http.get("/livez")).status_code == 200
    pair.resume()

    async def is_ready() -> bool:
        return (await one.http.get("/readyz")).status_code == 200

    await until(is_ready)


async def test_everything_acknowledged_survives_a_stall_and_the_loss_of_the_leader(
    pair: Pair, processes: tuple[TestRegistry, TestRegistry], tmp_path: Path
):
    one, _two = processes
    payer, payee = await one.agent(), await one.agent()
    acknowledged: set[str] = set()

    async def pay_on(client: int) -> None:
        for number in count():
            key = f"order-{client}-{number}"
            while key not in acknowledged:
                for process in processes:
                    answer = await replace(payer, registry=process).transfer(payee, "0.01", key=key)
                    if answer.status_code == 200:
                        acknowledged.add(key)
                        break

    clients = [asyncio.create_task(pay_on(client)) for client in range(8)]

    async def is_under_way() -> bool:
        return len(acknowledged) > 0

    await until(is_under_way)
    await pair.stall()
    await until(pair.commits_waiting)
    await pair.cancel_waiting()
    await asyncio.sleep(2 * TIMEOUT_SECONDS)
    await pair.fail_over()
    for client in clients:
        client.cancel()
    await asyncio.wait(clients)
    async with open_registry(pair.standby, tmp_path / "data") as promoted:
        sum_there = await value_of(
            pair.standby, "SELECT count(*) FROM ledger_transaction WHERE tx_type = 'transfer'"
        )
        assert sum_there >= len(acknowledged) > 0
        for key in acknowledged:
            answer = await replace(payer, registry=promoted).transfer(payee, "0.01", key=key)
            assert answer.headers.get("idempotent-replayed") == "true", key
        verdict = await promoted.database.transaction(auditor.audit_from_zero, one_snapshot=True)
        assert (verdict.status, verdict.supply.delta) == ("OK", 0)
