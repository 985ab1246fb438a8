"""Recorded: readings of the journal, emission policies, projections, the supply audit."""

from hansa.doors.assembly import ASSEMBLY
from hansa.rooms import auditor
from hansa.rooms.journal.counting import count_settled
from tests.recorded.parties import Parties
from tests.recorded.recorder import ANYONE, Recorder
from tests.recorded.transfers import NOBODY, TREASURY, pay
from tests.running_jobs import run_scheduled_transactions

POLICIES = "/admin/event-emission-policies"


async def record_journal(record: Recorder, by: Parties) -> None:
    """Record readings of the journal, and the policies that decide which events it records."""
    await _readings(record, by)
    await _policies(record, by)
    await _projections(record, by)
    await _audits(record, by)


async def _readings(record: Recorder, by: Parties) -> None:
    internal = by.internal
    page = await record.ask("GET", "/events/?limit=12", internal)
    for _ in range(3):
        following = {"limit": 30, "next": page.json()["next"]}
        page = await record.ask("GET", "/events/", internal, params=following)
    await record.ask("GET", "/events/?limit=5&sort_order=desc&offset=2", internal)
    for event_type in (
        "TokensTransferred",
        "LedgerBalanceChanged",
        "TokensStaked",
        "TransactionFeeCollected",
        "Nothing",
    ):
        await record.ask("GET", f"/events/?limit=3&offset=1&event_type={event_type}", internal)
        await record.ask("GET", f"/events/?limit=2&sort_order=desc&event_type={event_type}", internal)
    for query in (
        "limit=0",
        "limit=1001",
        "sort_order=sideways",
        "event_type=%27",
        "next=nonsense",
        "offset=-1",
    ):
        await record.ask("GET", f"/events/?{query}", internal)
    for did in (
        by.alice.did,
        by.carol.did,
        TREASURY,
        "did:hansa:system:fee_collector",
        "did:hansa:system:registry",
        NOBODY,
    ):
        path = f"/events/aggregate/{did}"
        page = await record.ask("GET", f"{path}?limit=9", internal)
        if page.json()["next"]:
            await record.ask("GET", path, internal, params={"limit": 200, "next": page.json()["next"]})
        await record.ask("GET", f"{path}?limit=4&offset=1&sort_order=desc", internal)
    for caller in (ANYONE, by.ada, by.alice, by.administrator):
        await record.ask("GET", "/events/", caller)
    await record.ask("GET", "/public/eventstore-recent?limit=40")
    await record.ask("GET", "/public/eventstore-recent?limit=0")
    await record.ask("GET", "/public/eventstore-stats")
    await record.registry.database.transaction(count_settled)
    await record.ask("GET", "/public/eventstore-stats")
    await record.ask("POST", "/ws/ticket", by.alice)
    await record.ask("POST", "/ws/ticket", ANYONE)


async def _policies(record: Recorder, by: Parties) -> None:
    root = by.administrator
    await record.ask("GET", POLICIES, root)

    async def put(event_type: str, **change: object) -> None:
        await record.ask("PUT", f"{POLICIES}/{event_type}", root, json=change)

    for event_type, change in (
        ("LedgerBalanceChanged", {"emit_from_teg": False}), ("TokensStaked", {"emit_from_teg": "no"}),
        ("TokensStaked", {}), ("*", {"emit_from_registry": False}), ("BridgeCompleted", {"emit_from_registry": False}),
        ("TokensTransferred", {"emit_from_teg": False}),
    ):  # fmt: skip
        await put(event_type, **change)
    # A transfer without its second event, then one without the third.
    await pay(record, by.alice, by.bob, "0.11")
    await put("TokensTransferred", emit_from_teg=True)
    await put("TransactionFeeCollected", emit_from_teg=False)
    await pay(record, by.alice, by.bob, "0.12")
    await record.ask("GET", f"/events/aggregate/{by.alice.did}?limit=6&sort_order=desc", by.internal)
    await put("TransactionFeeCollected", emit_from_teg=None)
    await pay(record, by.alice, by.bob, "0.13")
    await put("TransactionFeeCollected", emit_from_teg=True)
    await pay(record, by.alice, by.bob, "0.14")
    await record.ask("PUT", f"{POLICIES}/TokensStaked", by.ada, json={"skip_in_projection": True})
    await record.ask("GET", "/events/?event_type=EventEmissionPolicyUpdated", by.internal)


async def _projections(record: Recorder, by: Parties) -> None:
    root = by.administrator
    await record.ask("POST", "/admin/projection-snapshot", root)
    await pay(record, by.alice, by.bob, "0.2")
    await record.ask("POST", "/admin/projection-snapshot", root)
    await record.ask("POST", "/admin/projection-snapshot", by.ada)
    await record.ask("GET", "/events/?event_type=ProjectionSnapshot", by.internal)
    await record.registry.database.transaction(
        lambda tx: tx.execute("UPDATE ledger_account SET liquid = liquid + 1 WHERE did = $1", by.bob.did)
    )
    await record.ask("POST", "/admin/projection-snapshot", root)
    await record.registry.database.transaction(
        lambda tx: tx.execute("UPDATE ledger_account SET liquid = liquid - 1 WHERE did = $1", by.bob.did)
    )


async def _audits(record: Recorder, by: Parties) -> None:
    await record.ask("GET", "/public/badge/supply?format=json")
    await record.registry.database.transaction(auditor.audit_when_due, one_snapshot=True)
    for path in ("?full=true", "", "?full=maybe"):
        await record.ask("GET", f"/projections/supply-audit{path}", by.internal)
    await record.ask("GET", "/projections/supply-audit", ANYONE)
    await record.ask("GET", "/public/supply-invariant")
    await record.ask("GET", "/public/badge/supply")
    await run_scheduled_transactions(record.registry.runtime, *ASSEMBLY.jobs)
    await record.ask("GET", "/public/supply-invariant")
