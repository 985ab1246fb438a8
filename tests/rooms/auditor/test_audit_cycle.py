"""The audit cycle: incremental, exact for each account, and loud once."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg
import pytest
from prometheus_client import REGISTRY

from hansa.foundation.plumbing.jobs import run_jobs, sweep
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import UNIT
from hansa.rooms import auditor, journal
from hansa.rooms.auditor import rules
from tests.operation.registry_process import until
from tests.registry import StartRegistry, TestAgent
from tests.rooms.ledger.purses import Purses, start_purses

TREASURY = "did:hansa:system:treasury"
COLLECTOR = "did:hansa:system:fee_collector"


@pytest.fixture
async def purses(start_registry: StartRegistry) -> Purses:
    return await start_purses(start_registry, agent_rbac_default_roles=["trader", "staker"])


@pytest.fixture
async def audited(purses: Purses) -> tuple[Purses, TestAgent, TestAgent]:
    """A registry after some traffic and a sound cycle."""
    alice, bob = await purses.agent("100"), await purses.agent("50")
    await alice.transfer(bob, "10")
    assert (await cycle(purses)).status == "OK"
    return purses, alice, bob


async def cycle(purses: Purses, run: Callable[..., Awaitable[Any]] = auditor.audit) -> Any:
    return await purses.registry.database.transaction(run, one_snapshot=True)


async def rows(purses: Purses, statement: str, *values: object) -> list[asyncpg.Record]:
    return await purses.registry.database.query(lambda tx: tx.fetch(statement, *values))


async def breaches(purses: Purses) -> list[dict[str, Any]]:
    found = await rows(
        purses, "SELECT data FROM journal_event WHERE event_type = 'SupplyInvariantBreach' ORDER BY seq"
    )
    return [json.loads(row["data"]) for row in found]


async def plant(purses: Purses, did: str, units: int, bucket: str = "liquid") -> None:
    await purses.execute(f"UPDATE ledger_account SET {bucket} = {bucket} + $2 WHERE did = $1", did, units)


async def test_a_cycle_after_a_cycle_folds_only_what_came_since(audited: Any) -> None:
    purses, alice, bob = audited
    await cycle(purses)
    before = await purses.registry.database.read(_folded)
    await bob.transfer(alice, "1")
    assert before == 0
    assert await purses.registry.database.read(_folded) == 1
    verdict = await cycle(purses)
    assert (verdict.status, verdict.supply.terms.fees_collected) == ("OK", int(0.055 * UNIT))


async def _folded(tx: Any) -> int:
    seen = await journal.horizon(tx)
    position = await tx.fetchval("SELECT position FROM auditor_checkpoint")
    return (await journal.fold_supply(tx, journal.FoldedFrom(position, 0), seen)).transactions


@pytest.mark.parametrize("units", [1, -1])
async def test_the_smallest_unit_in_one_account_is_found_and_named(audited: Any, units: int) -> None:
    purses, alice, _ = audited
    await plant(purses, alice.did, units)
    verdict = await cycle(purses)
    assert verdict.checks == {
        "supply": "BREACH",
        "per_user": "BREACH",
        "staked_guard": "OK",
        "escrow": "OK",
        "transactions": "OK",
        "shares": "OK",
        "solvency": "SOLVENT",
    }
    assert verdict.supply.delta == -units
    assert verdict.findings["accounts"] == [f"{alice.did} liquid {units:+d}"]


async def test_two_planted_units_that_cancel_out_are_found(audited: Any) -> None:
    purses, alice, bob = audited
    await plant(purses, alice.did, 1)
    await plant(purses, bob.did, -1)
    verdict = await cycle(purses)
    assert (verdict.status, verdict.supply.delta, verdict.checks["supply"]) == ("BREACH", 0, "OK")
    assert len(verdict.findings["accounts"]) == 2
    answer = await purses.registry.supply()
    assert (answer["status"], answer["checks"]["per_user"], answer["delta"]) == ("BREACH", "BREACH", "0")


async def test_units_that_change_bucket_outside_the_book_are_found(audited: Any) -> None:
    purses, alice, _ = audited
    await purses.execute(
        "UPDATE ledger_account SET liquid = liquid - 1, staked = staked + 1 WHERE did = $1", alice.did
    )
    verdict = await cycle(purses)
    assert (verdict.checks["supply"], verdict.checks["per_user"]) == ("OK", "BREACH")
    assert verdict.checks["staked_guard"] == "BREACH"


async def test_stakes_pass_every_check(audited: Any) -> None:
    purses, alice, _ = audited
    answer = await purses.registry.post(
        "/staking/stake", json={"amount": "20", "lock_period": 0}, headers=alice.headers
    )
    assert answer.status_code in (200, 201), answer.text
    assert (await cycle(purses)).status == "OK"


async def test_a_position_that_grew_by_itself_is_found(audited: Any) -> None:
    purses, alice, _ = audited
    await purses.registry.post(
        "/staking/stake", json={"amount": "20", "lock_period": 0}, headers=alice.headers
    )
    await purses.execute("UPDATE ledger_stake_position SET amount = amount + 1, remaining = remaining + 1")
    verdict = await cycle(purses)
    assert verdict.checks == {
        "supply": "OK",
        "per_user": "OK",
        "staked_guard": "BREACH",
        "escrow": "OK",
        "transactions": "OK",
        "shares": "OK",
        "solvency": "SOLVENT",
    }
    assert verdict.findings["stakes"] == [f"{alice.did} -1"]


async def test_a_transaction_without_its_event_stays_a_breach(audited: Any) -> None:
    purses, _, _ = audited
    await purses.execute(
        "INSERT INTO ledger_transaction (tx_type, payee_id, amount, ref) VALUES ('issue', 1, 1, 'planted')"
    )
    for _ in range(3):
        verdict = await cycle(purses)
        assert verdict.checks["transactions"] == "BREACH"
        assert len(verdict.findings["transactions"]) == 1
    assert len(await breaches(purses)) == 1


async def test_a_breach_is_published_once_and_its_end_is_recorded(audited: Any) -> None:
    purses, alice, bob = audited
    await plant(purses, alice.did, 1)
    first = await cycle(purses)
    await alice.transfer(bob, "1")
    await cycle(purses)
    (breach,) = await breaches(purses)
    assert (breach["verdict_id"], breach["delta"], breach["checks"]["supply"]) == (
        first.id,
        "-0.00000001",
        "BREACH",
    )
    assert REGISTRY.get_sample_value("hansa_audit_status") == 0
    assert REGISTRY.get_sample_value("hansa_supply_delta_minor") == -1
    await plant(purses, alice.did, 1)
    await cycle(purses)
    assert len(await breaches(purses)) == 2, "another breach is published again"
    await plant(purses, alice.did, -2)
    await cycle(purses)
    assert REGISTRY.get_sample_value("hansa_audit_status") == 1
    history = await rows(purses, "SELECT status FROM auditor_verdict ORDER BY id")
    assert [row["status"] for row in history] == ["OK", "BREACH", "BREACH", "BREACH", "OK"]


async def test_verdicts_are_final(audited: Any) -> None:
    purses, _, _ = audited
    with pytest.raises(asyncpg.IntegrityConstraintViolationError):
        await purses.execute("UPDATE auditor_verdict SET status = 'OK'")


async def test_transactions_that_are_open_over_several_cycles_disturb_nothing(audited: Any) -> None:
    purses, alice, bob = audited
    late = await asyncpg.connect(purses.registry.database.dsn)
    try:
        under_way = late.transaction()
        await under_way.start()
        # As a slow transfer would: ids of transaction and event are drawn now, and seen only at the commit.
        tx_id = await late.fetchval(
            "INSERT INTO ledger_transaction (tx_type, payer_id, payee_id, amount)"
            " SELECT 'transfer', a.id, b.id, 5 FROM ledger_account a, ledger_account b WHERE a.did = $1 AND b.did = $2"
            " RETURNING id",
            TREASURY,
            COLLECTOR,
        )
        await late.execute(
            "INSERT INTO journal_event (event_type, aggregate_id, aggregate_type, data, source_service)"
            " VALUES ('LedgerBalanceChanged', 'x', 'ledger_transaction', $1, 'ledger')",
            json.dumps(
                {
                    "tx_id": tx_id,
                    "tx_type": "transfer",
                    "fee": "0",
                    "entries": [
                        {"account": TREASURY, "bucket": "liquid", "delta": "-0.00000005"},
                        {"account": COLLECTOR, "bucket": "liquid", "delta": "0.00000005"},
                    ],
                }
            ),
        )
        for _ in range(3):
            await alice.transfer(bob, "1")
            assert (await cycle(purses)).status == "OK"
            assert (await purses.registry.supply())["status"] == "OK"
        await late.execute("UPDATE ledger_account SET liquid = liquid - 5 WHERE did = $1", TREASURY)
        await late.execute("UPDATE ledger_account SET liquid = liquid + 5 WHERE did = $1", COLLECTOR)
        await under_way.commit()
    finally:
        await late.close()
    for _ in range(3):
        assert (await cycle(purses)).status == "OK"
        await bob.transfer(alice, "1")
    assert (await cycle(purses, auditor.audit_from_zero)).status == "OK"


async def test_cycles_amid_transfers_are_sound(audited: Any) -> None:
    purses, alice, bob = audited

    async def pay(payer: TestAgent, payee: TestAgent) -> None:
        for _ in range(15):
            await payer.transfer(payee, "0.01")

    async def keep_auditing() -> list[str]:
        return [(await cycle(purses)).status for _ in range(10)]

    *_, statuses = await asyncio.gather(pay(alice, bob), pay(bob, alice), keep_auditing())
    assert set(statuses) == {"OK"}
    assert (await cycle(purses, auditor.audit_from_zero)).status == "OK"


async def test_what_was_tampered_with_before_the_checkpoint_is_found_from_zero(audited: Any) -> None:
    purses, _, _ = audited
    await purses.execute(
        "SET LOCAL session_replication_role = replica; DELETE FROM journal_event WHERE seq = 1"
    )
    assert (await cycle(purses, auditor.audit_from_zero)).status == "BREACH"


@pytest.mark.parametrize(
    ("form", "renumbered"),
    [
        ("data IS NULL", "tx_id = 1000000"),
        ("data IS NOT NULL", "data = jsonb_set(data, '{tx_id}', '1000000')"),
    ],
)
async def test_an_event_of_another_transaction_than_the_book_has_is_found_from_zero(
    audited: Any, form: str, renumbered: str
) -> None:
    purses, _, _ = audited
    await purses.execute(
        f"SET LOCAL session_replication_role = replica; UPDATE journal_event SET {renumbered} WHERE seq ="
        f" (SELECT max(seq) FROM journal_event WHERE event_type = 'LedgerBalanceChanged' AND {form})"
    )
    verdict = await cycle(purses, auditor.audit_from_zero)
    assert {name for name, found in verdict.checks.items() if found not in rules.PASSED} == {"transactions"}
    assert len(verdict.findings["transactions"]) == 2
    assert "1000000" in verdict.findings["transactions"]


async def test_a_tampered_checkpoint_accuses_the_book_until_an_audit_from_zero(audited: Any) -> None:
    purses, alice, _ = audited
    await purses.execute("UPDATE auditor_folded SET balance = balance + 1 WHERE account = $1", alice.did)
    assert (await cycle(purses)).checks["per_user"] == "BREACH"
    assert (await cycle(purses, auditor.audit_from_zero)).status == "OK"
    assert (await cycle(purses)).status == "OK"


async def test_a_database_moved_to_another_cluster_is_folded_anew(audited: Any) -> None:
    purses, alice, bob = audited
    # There every event carries the id of a transaction that has not come yet.
    await purses.execute(
        "SET LOCAL session_replication_role = replica; UPDATE journal_event SET xid = xid + 1000000000"
    )
    await purses.execute("UPDATE auditor_checkpoint SET cluster = 1, position = position + 1000000000")
    for _ in range(3):
        await alice.transfer(bob, "1")
        verdict = await cycle(purses)
        assert (verdict.status, verdict.supply.delta) == ("OK", 0)
    assert (await purses.registry.supply())["status"] == "OK"


async def test_a_discrepancy_of_more_than_the_book_can_hold_is_a_breach_all_the_same(audited: Any) -> None:
    purses, alice, bob = audited
    for agent in (alice, bob):
        await plant(purses, agent.did, 9 * 10**18)
    assert (await purses.registry.supply())["status"] == "BREACH"
    assert (await cycle(purses)).supply.delta == -18 * 10**18


async def test_one_cycle_a_minute_whatever_the_number_of_processes(audited: Any) -> None:
    purses, _, _ = audited
    cycles = 0

    async def audit(tx: Tx) -> None:
        nonlocal cycles
        await auditor.audit_when_due(tx)
        cycles += 1

    kind = sweep("test audit", 0.01, audit, one_snapshot=True)
    before = await rows(purses, "SELECT id FROM auditor_verdict")
    runtime = purses.registry.runtime
    task = asyncio.gather(run_jobs(runtime, [kind]), run_jobs(runtime, [kind]))
    await until(lambda: cycles >= 3)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert await rows(purses, "SELECT id FROM auditor_verdict") == before
