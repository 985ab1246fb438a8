"""GET /public/eventstore-recent, and the events of a transfer in the event store."""

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any
from uuid import UUID

import pytest

from hansa.foundation.values.areas import ADMIN_AREAS
from hansa.rooms import auditor
from tests.all_events import ALL_EVENTS
from tests.registry import DatabaseFarm, StartRegistry, TestRegistry
from tests.rooms.ledger.purses import Purses, open_purses, start_purses

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
    registry = purses.registry
    answer = await registry.get(
        "/events/", params={"limit": 10, "sort_order": "desc"}, headers=registry.internal
    )
    return sorted(
        (event for event in answer.json()["items"] if event["data"].get("tx_id") == tx_id),
        key=lambda event: event["sequence"],
    )


async def test_anyone_reads_the_newest_events_first(purses: Purses) -> None:
    sequences = [event["sequence"] for event in (await recent(purses.registry, limit=500))["events"]]
    assert len(sequences) > 100
    assert sequences == sorted(set(sequences), reverse=True)


async def test_sixty_events_are_returned_unless_asked_otherwise(purses: Purses) -> None:
    listed = await recent(purses.registry)
    assert len(listed["events"]) == listed["count"] == 60


@pytest.mark.parametrize("limit", [1, 2, 59, 61])
async def test_the_limit_is_the_number_of_events_returned(purses: Purses, limit: int) -> None:
    listed = await recent(purses.registry, limit=limit)
    assert len(listed["events"]) == listed["count"] == limit


@pytest.mark.parametrize("limit", ["0", "-1", "501", "1e2", "ten", "", "1.5", "9" * 30])
async def test_a_limit_outside_1_to_500_is_refused(purses: Purses, limit: str) -> None:
    answer = await purses.registry.get("/public/eventstore-recent", params={"limit": limit})
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, "limit")


async def test_the_answer_states_its_ring_and_its_scope(purses: Purses) -> None:
    listed = await recent(purses.registry, limit=1)
    assert set(listed) == {"events", "count", "ring_depth", "scope", "is_seed"}
    assert listed["scope"] == "hansa.local"
    assert listed["ring_depth"] == (await recent(purses.registry, limit=500))["count"]
    assert isinstance(listed["is_seed"], bool)


async def test_the_ring_is_as_deep_as_it_is_set(start_registry: StartRegistry) -> None:
    shallow = await start_purses(start_registry, recent_events_ring=3)
    payer, payee = await shallow.agent("100"), await shallow.agent()
    await payer.transfer(payee, "1")
    listed = await recent(shallow.registry, limit=500)
    assert (listed["count"], listed["ring_depth"], len(listed["events"])) == (3, 3, 3)
    assert listed["events"] == (await recent(shallow.registry))["events"]


async def test_a_fresh_registry_publishes_its_genesis(start_registry: Any) -> None:
    listed = await recent(await start_registry(genesis_supply="1000"))
    assert [event["event_type"] for event in listed["events"]] == ["TokensIssued", "LedgerBalanceChanged"]
    assert listed["events"][0]["data"]["amount"] == "1000"
    assert listed["count"] == listed["ring_depth"] == 2


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


async def test_public_readings_leave_out_messages_and_balances_and_keep_types_parties_and_amounts(
    purses: Purses,
) -> None:
    payer, payee = await purses.agent("100"), await purses.agent()
    answer = await payer.transfer(payee, "10", message="for the translation")
    whole = await events_of(purses, answer.json())
    newest = (await recent(purses.registry, limit=3))["events"]
    mover, transferred, collected = sorted(newest, key=lambda event: event["sequence"])
    assert "for the translation" not in str(newest)
    for event in (whole[0]["data"], whole[1]["data"]):
        event.pop("memo", None)
        event.pop("message", None)
    for entry in whole[0]["data"]["entries"]:
        assert entry.pop("balance_after")
    assert [mover, transferred, collected] == whole


async def test_public_readings_leave_out_spend_approvals_act_tokens_snapshots_and_findings(
    start_registry: StartRegistry,
) -> None:
    registry = await start_registry(enable_projection_snapshots=True)
    administrator, owner = await registry.administrator("admin_platform"), await registry.developer()
    agent, payee = await owner.agent(), await registry.agent()
    answer = await registry.http.put(
        f"/api/v1/agents/{agent.did}/authz",
        json={"spend_policy": {"approval_over": "0"}},
        headers=owner.headers,
    )
    assert answer.is_success, answer.text
    assert not (await agent.transfer(payee, "1")).json().get("transaction_id")
    for path, headers in (
        (f"/agents/{agent.did}/act-token", owner.headers),
        ("/admin/projection-snapshot", administrator.headers),
    ):
        assert (await registry.post(path, json={}, headers=headers)).is_success
    await registry.database.transaction(
        lambda tx: tx.execute("UPDATE ledger_account SET liquid = liquid + 1 WHERE did = $1", agent.did)
    )
    await registry.database.transaction(auditor.audit, one_snapshot=True)
    stored = await registry.database.query(
        lambda tx: tx.fetch(f"SELECT event_type, data FROM {ALL_EVENTS} e")
    )
    private = {"SpendApprovalRequested", "AgentActTokenIssued"}
    assert {row["event_type"] for row in stored} > private
    public = await recent(registry, limit=500)
    assert (
        public["count"]
        == public["ring_depth"]
        == len(stored) - sum(row["event_type"] in private for row in stored)
    )
    shown = {event["event_type"]: event["data"] for event in public["events"]}
    assert not private & shown.keys()
    assert "balances" not in shown["ProjectionSnapshot"]
    assert shown["ProjectionSnapshot"]["frame"] == "hansa.local"
    assert "findings" not in shown["SupplyInvariantBreach"]
    assert shown["SupplyInvariantBreach"]["delta"] == "-0.00000001"


async def test_every_event_is_filed_under_the_did_of_an_agent_or_a_system_account(
    start_registry: StartRegistry,
):
    registry = await start_registry(did_method="other", enable_projection_snapshots=True)
    administrator = await registry.administrator(*ADMIN_AREAS)
    developer = await registry.developer()
    agent = await developer.agent()
    developer_id = (await registry.get("/auth/profile", headers=developer.headers)).json()["id"]
    licence = {"trust_domain": "there.example"}
    acts = {
        "/admin/federation/licence-keys": licence,
        "/admin/projection-snapshot": {},
        f"/admin/developers/{developer_id}/suspend": {"reason": "For a test."},
        f"/admin/developers/{developer_id}/reinstate": {},
    }
    for path, body in acts.items():
        answer = await registry.post(path, json=body, headers=administrator.headers)
        assert answer.is_success, answer.text
    policy = "/api/v1/admin/event-emission-policies/TokensStaked"
    await registry.http.put(policy, json={"emit_from_teg": False}, headers=administrator.headers)
    await registry.database.transaction(
        lambda tx: tx.execute("UPDATE ledger_account SET liquid = liquid + 1")
    )
    await registry.database.transaction(auditor.audit, one_snapshot=True)
    rows = await registry.database.query(
        lambda tx: tx.fetch(f"SELECT event_type, aggregate_id FROM {ALL_EVENTS} e")
    )
    filed = {row["event_type"]: row["aggregate_id"] for row in rows}
    for event_type in (
        *("FederationLicenseIssued", "ProjectionSnapshot", "DeveloperSuspended", "DeveloperReinstated"),
        *("EventEmissionPolicyUpdated", "SupplyInvariantBreach"),
    ):
        assert filed[event_type] == "did:other:system:registry"
    others = {row["aggregate_id"] for row in rows} - {"did:other:system:registry"}
    assert others == {agent.did, "did:other:system:treasury"}
