"""The specification on transfers across registries, between two registries over real mutual TLS."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from hansa.rooms.transfers import CROSSING_JOBS
from tests.neighbours.two_registries import Neighbour, Neighbours, neighbours
from tests.registry import DatabaseFarm, TestAgent
from tests.running_jobs import run_due, run_scheduled_transactions, time_passes

ACROSS = "/teg/cross-registry-transfer"


@pytest.fixture(scope="module")
async def pair(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Neighbours]:
    async with neighbours(database_farm, tmp_path_factory.mktemp("pair")) as pair:
        yield pair


async def across(payer: TestAgent, payee: str, amount: object, **more: Any) -> httpx2.Response:
    key = more.pop("key", None)
    headers = {**payer.headers, **({"Idempotency-Key": key} if key else {})}
    body = {"receiver_did": payee, "amount": amount, **more}
    return await payer.registry.post(ACROSS, json=body, headers=headers)


async def settle(*all_of: Neighbour) -> None:
    """What is due is sent and answered, until both registries have each other's receipts."""
    for _ in range(4):
        for one in all_of:
            await time_passes(one.registry.runtime, 3600)
            await one.registry.database.act(
                lambda tx: tx.execute("UPDATE transfers_sent SET next_at = now() WHERE next_at IS NOT NULL")
            )
            await one.registry.database.act(
                lambda tx: tx.execute(
                    "UPDATE transfers_received SET next_at = now() WHERE next_at IS NOT NULL"
                )
            )
            await run_scheduled_transactions(one.registry.runtime, CROSSING_JOBS[1])
            await run_due(one.registry.runtime, CROSSING_JOBS[0])


async def open_rows(one: Neighbour) -> int:
    count: int = await one.registry.database.look(
        lambda tx: tx.fetchval(
            "SELECT (SELECT count(*) FROM transfers_sent WHERE next_at IS NOT NULL)"
            " + (SELECT count(*) FROM transfers_received WHERE next_at IS NOT NULL)"
        )
    )
    return count


async def test_the_amount_leaves_whole_and_the_receivers_registry_keeps_the_border_fee(pair: Neighbours):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    answer = await across(alice, bob.did, "10", message="Invoice 17")
    assert answer.status_code == 200, answer.text
    told = answer.json()
    transfer_id = told.pop("transfer_id")
    assert told.pop("timestamp")
    assert told == {
        "status": "completed",
        "method": "2pc",
        "sender_agent_id": alice.did,
        "receiver_did": bob.did,
        "receiver_registry": "b.example",
        "amount": "10",
        "currency_sent": "AVT",
        "amount_received": "9.95",
        "currency_received": "AVT",
        "fee_amount": "0.05",
        "fee_currency": "AVT",
        "new_sender_balance": "90",
        "message": "Invoice 17",
        "credited_at": None,
    }
    await settle(pair.a, pair.b)
    assert (await alice.balance(), await bob.balance()) == ("90", "109.95")
    assert (await open_rows(pair.a), await open_rows(pair.b)) == (0, 0)
    for party in (alice, bob):
        read = await party.registry.get(f"/teg/transfers/{transfer_id}", headers=party.headers)
        assert read.status_code == 200, read.text
        assert read.json()["state"] == "committed"
        assert read.json()["credited_at"] is not None
        assert read.json()["amount_received"] == "9.95"
    for one in (pair.a, pair.b):
        supply = await one.registry.supply()
        assert (supply["status"], supply["delta"]) == ("OK", "0"), supply
