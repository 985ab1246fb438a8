"""The auditor's verdict on books that were tampered with."""

import json

import pytest

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.auditor import SupplyVerdict, audit_supply
from tests.registry import TestRegistry

_APPEND = """
INSERT INTO journal_event (event_type, aggregate_id, aggregate_type, data, source_service)
VALUES ('LedgerBalanceChanged', 'did:hansa:system:treasury', 'ledger_transaction', $1, 'ledger')
"""


async def verdict_after(registry: TestRegistry, *statements: str) -> SupplyVerdict:
    async def tamper(tx: Tx) -> None:
        for statement in statements:
            await tx.execute(statement)

    await registry.database.transaction(tamper)
    return await registry.database.read(audit_supply)


async def append_mover(registry: TestRegistry, tx_type: str, *deltas: str) -> None:
    entries = [
        {"account": "did:x", "bucket": "liquid", "delta": delta, "balance_after": "0"} for delta in deltas
    ]
    data = json.dumps({"tx_id": 99, "tx_type": tx_type, "entries": entries, "fee": "0"})
    await registry.database.transaction(lambda tx: tx.execute(_APPEND, data))


async def test_a_sound_book_is_ok(registry: TestRegistry) -> None:
    verdict = await registry.database.read(audit_supply)
    assert (verdict.is_ok, verdict.delta) == (True, 0)
    assert verdict.net_supply == verdict.circulating == 1_000_000 * 10**8


@pytest.mark.parametrize("planted", [1, -1])
async def test_a_single_planted_or_stolen_unit_is_a_breach(registry: TestRegistry, planted: int) -> None:
    verdict = await verdict_after(
        registry,
        f"UPDATE ledger_account SET liquid = liquid + {planted} WHERE did = 'did:hansa:system:treasury'",
    )
    assert (verdict.is_ok, verdict.delta) == (False, -planted)


async def test_a_unit_planted_past_every_trigger_is_a_breach(registry: TestRegistry) -> None:
    verdict = await verdict_after(
        registry,
        "SET LOCAL session_replication_role = replica",
        "UPDATE ledger_account SET liquid = liquid + 1 WHERE did = 'did:hansa:system:fee_collector'",
    )
    assert not verdict.is_ok


async def test_a_vanished_account_that_held_units_is_a_breach(registry: TestRegistry) -> None:
    verdict = await verdict_after(
        registry, "DELETE FROM ledger_account WHERE did = 'did:hansa:system:treasury'"
    )
    assert (verdict.is_ok, verdict.delta) == (False, 1_000_000 * 10**8)


async def test_a_transfer_in_the_log_that_makes_units_is_a_breach(registry: TestRegistry) -> None:
    await append_mover(registry, "transfer", "-1", "1.00000001")
    verdict = await registry.database.read(audit_supply)
    assert not verdict.is_ok
    assert verdict.terms.unbalanced_transactions == 1


async def test_unbalanced_transfers_that_cancel_each_other_are_a_breach(registry: TestRegistry) -> None:
    await append_mover(registry, "transfer", "-1", "1.00000001")
    await append_mover(registry, "transfer", "-1.00000001", "1")
    verdict = await registry.database.read(audit_supply)
    assert (verdict.delta, verdict.is_ok) == (0, False)


async def test_an_issue_in_the_log_that_no_account_received_is_a_breach(registry: TestRegistry) -> None:
    await append_mover(registry, "issue", "5")
    verdict = await registry.database.read(audit_supply)
    assert (verdict.is_ok, verdict.delta) == (False, 5 * 10**8)
