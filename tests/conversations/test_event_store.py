"""GET /public/eventstore-recent, and what a transfer leaves in the event store."""

from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from tests.registry import DatabaseFarm, TestRegistry
from tests.rooms.ledger.purses import Purses, open_purses

RECORD = {
    *(
        "id",
        "sequence",
        "event_type",
        "aggregate_id",
        "aggregate_type",
        "data",
        "metadata",
        "timestamp",
        "version",
    ),
    *("source_service", "idempotency_key"),
}


@pytest.fixture(scope="module")
async def purses(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Purses]:
    async with open_purses(database_farm, tmp_path_factory.mktemp("events")) as purses:
        for _ in range(40):
            await purses.grant(await purses.agent(), "1")
        yield purses
        await purses.prove()


async def recent(registry: TestRegistry, **query: object) -> dict[str, Any]:
    answer = await registry.get("/public/eventstore-recent", params=query)
    assert answer.status_code == 200
    return answer.json()


async def events_of(purses: Purses, transfer: dict[str, Any]) -> list[dict[str, Any]]:
    tx_id = int(transfer["transaction_id"].removeprefix("tx-"))
    told = (await recent(purses.registry, limit=10))["events"]
    return sorted(
        (event for event in told if event["data"].get("tx_id") == tx_id), key=lambda event: event["sequence"]
    )


async def test_anyone_reads_the_newest_events_first(purses: Purses) -> None:
    sequences = [event["sequence"] for event in (await recent(purses.registry, limit=500))["events"]]
    assert len(sequences) > 100
    assert sequences == sorted(set(sequences), reverse=True)


async def test_sixty_events_are_told_unless_asked_otherwise(purses: Purses) -> None:
    told = await recent(purses.registry)
    assert len(told["events"]) == told["count"] == 60


@pytest.mark.parametrize("limit", [1, 2, 59, 61])
async def test_the_limit_is_the_number_of_events_told(purses: Purses, limit: int) -> None:
    told = await recent(purses.registry, limit=limit)
    assert len(told["events"]) == told["count"] == limit


@pytest.mark.parametrize("limit", ["0", "-1", "501", "1e2", "ten", "", "1.5", "9" * 30])
async def test_a_limit_outside_1_to_500_is_refused(purses: Purses, limit: str) -> None:
    answer = await purses.registry.get("/public/eventstore-recent", params={"limit": limit})
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, "limit")


async def test_the_answer_states_its_ring_and_its_scope(purses: Purses) -> None:
    told = await recent(purses.registry, limit=1)
    assert set(told) == {"events", "count", "ring_depth", "scope", "is_seed"}
    assert told["scope"] == "hansa.local"
    assert told["ring_depth"] == (await recent(purses.registry, limit=500))["count"]
    assert isinstance(told["is_seed"], bool)


async def test_the_ring_is_as_deep_as_it_is_set(database_farm: DatabaseFarm, tmp_path: Path) -> None:
    async with open_purses(database_farm, tmp_path, recent_events_ring=3) as shallow:
        payer, payee = await shallow.agent("100"), await shallow.agent()
        await payer.transfer(payee, "1")
        told = await recent(shallow.registry, limit=500)
        assert (told["count"], told["ring_depth"], len(told["events"])) == (3, 3, 3)
        assert told["events"] == (await recent(shallow.registry))["events"]


async def test_a_fresh_registry_tells_of_its_genesis(start_registry: Any) -> None:
    told = await recent(await start_registry(genesis_supply="1000"))
    assert [event["event_type"] for event in told["events"]] == ["TokensIssued", "LedgerBalanceChanged"]
    assert told["events"][0]["data"]["amount"] == "1000"
    assert told["count"] == told["ring_depth"] == 2


async def test_a_record_has_every_member(purses: Purses) -> None:
    for event in (await recent(purses.registry, limit=500))["events"]:
        assert set(event) == RECORD
        assert str(UUID(event["id"])) == event["id"]
        assert datetime.fromisoformat(event["timestamp"]).utcoffset() is not None
        assert isinstance(event["data"], dict)
        assert isinstance(event["metadata"], dict)
        assert (event["version"], event["source_service"] in {"ledger", "registry"}) == (1, True)


async def test_no_two_records_share_an_id(purses: Purses) -> None:
    events = (await recent(purses.registry, limit=500))["events"]
    assert len({event["id"] for event in events}) == len(events)


async def test_a_transfer_leaves_one_mover_and_its_typed_events(purses: Purses) -> None:
    payer, payee = await purses.agent("100"), await purses.agent()
    transfer = (await payer.transfer(payee, "10", message="for the translation")).json()
    mover, transferred, collected = await events_of(purses, transfer)
    tx_id, collector = mover["data"]["tx_id"], "did:hansa:system:fee_collector"
    entries = mover["data"].pop("entries")
    assert mover["event_type"] == "LedgerBalanceChanged"
    assert mover["idempotency_key"] == f"ledger-tx-hansa.local-{tx_id}"
    assert mover["data"] == {
        "frame": "hansa.local",
        "tx_id": tx_id,
        "tx_type": "transfer",
        "currency": "AVT",
        "fee": "0.05",
        "memo": "for the translation",
    }
    assert {(entry["account"], entry["bucket"], entry["delta"]) for entry in entries} == {
        (payer.did, "liquid", "-10.05"),
        (payee.did, "liquid", "10"),
        (collector, "liquid", "0.05"),
    }
    assert {entry["account"]: entry["balance_after"] for entry in entries}[payer.did] == "89.95"
    assert transferred["event_type"] == "TokensTransferred"
    assert transferred["data"] == {
        "tx_id": tx_id,
        "from": payer.did,
        "to": payee.did,
        "amount": "10",
        "fee": "0.05",
        "currency": "AVT",
        "message": "for the translation",
    }
    assert collected["event_type"] == "TransactionFeeCollected"
    assert collected["data"]["fee"] == "0.05"


async def test_a_transfer_without_a_fee_collects_none(purses: Purses) -> None:
    payer, payee = await purses.agent("100"), await purses.agent()
    transfer = (await payer.transfer(payee, "0.00000001")).json()
    events = await events_of(purses, transfer)
    assert [event["event_type"] for event in events] == ["LedgerBalanceChanged", "TokensTransferred"]
    assert len(events[0]["data"]["entries"]) == 2


async def test_a_refused_transfer_leaves_no_event(purses: Purses) -> None:
    payer, payee = await purses.agent("1"), await purses.agent()
    before = (await recent(purses.registry, limit=1))["events"]
    assert (await payer.transfer(payee, "10")).status_code == 402
    assert (await recent(purses.registry, limit=1))["events"] == before


async def test_a_repeated_transfer_leaves_no_second_event(purses: Purses) -> None:
    payer, payee = await purses.agent("100"), await purses.agent()
    await payer.transfer(payee, "10", key="again")
    before = (await recent(purses.registry, limit=1))["events"]
    await payer.transfer(payee, "10", key="again")
    assert (await recent(purses.registry, limit=1))["events"] == before
