"""The guards of the book's tables, for whoever writes past the use cases."""

import asyncpg
import pytest

from hansa.foundation.values.money import Minor
from hansa.rooms import ledger
from tests.registry import TestRegistry

CHANGES = [
    "UPDATE ledger_posting SET delta = delta + 1",
    "UPDATE ledger_posting SET delta = 1 WHERE false",
    "DELETE FROM ledger_posting",
    "DELETE FROM ledger_posting WHERE false",
    "TRUNCATE ledger_posting",
    "TRUNCATE ledger_posting, ledger_transaction, ledger_paid_claim",
    "UPDATE ledger_transaction SET amount = amount + 1",
    "DELETE FROM ledger_transaction WHERE false",
]
UNBALANCED = """
WITH t AS (
  INSERT INTO ledger_transaction (tx_type, payer_id, payee_id, amount) VALUES ('transfer', 1, 2, 10) RETURNING id
)
INSERT INTO ledger_posting (tx_id, account_id, bucket, delta, balance_after)
SELECT t.id, p.account_id, 'liquid', p.delta, 0 FROM t, (VALUES (1, -10), (2, 11)) AS p (account_id, delta)
"""
OF_ANOTHER_SUM = """
WITH t AS (
  INSERT INTO ledger_transaction (tx_type, payer_id, payee_id, amount, ref) VALUES ('{tx_type}', {parties}, 5, 'one')
  RETURNING id
)
INSERT INTO ledger_posting (tx_id, account_id, bucket, delta, balance_after) SELECT id, 1, 'liquid', $1, 0 FROM t
"""


@pytest.mark.parametrize("change", CHANGES)
async def test_nothing_in_the_book_is_ever_changed_or_deleted(registry: TestRegistry, change: str) -> None:
    with pytest.raises(asyncpg.IntegrityConstraintViolationError, match="final"):
        await registry.database.transaction(lambda tx: tx.execute(change))


async def test_postings_that_do_not_sum_to_zero_are_not_written(registry: TestRegistry) -> None:
    with pytest.raises(asyncpg.IntegrityConstraintViolationError, match="do not sum to zero"):
        await registry.database.transaction(lambda tx: tx.execute(UNBALANCED))


@pytest.mark.parametrize(
    ("tx_type", "parties", "delta"), [("issue", "NULL, 1", -5), ("destroy", "1, NULL", 5)]
)
async def test_a_transaction_makes_or_destroys_what_it_says(
    registry: TestRegistry, tx_type: str, parties: str, delta: int
) -> None:
    with pytest.raises(asyncpg.IntegrityConstraintViolationError, match="what is issued or destroyed"):
        await registry.database.transaction(
            lambda tx: tx.execute(OF_ANOTHER_SUM.format(tx_type=tx_type, parties=parties), delta)
        )


async def test_a_balance_never_goes_below_zero(registry: TestRegistry) -> None:
    with pytest.raises(asyncpg.CheckViolationError):
        await registry.database.transaction(lambda tx: tx.execute("UPDATE ledger_account SET liquid = -1"))


async def test_an_account_is_opened_once(registry: TestRegistry) -> None:
    did = "did:hansa:hansa.local:once"
    await registry.database.transaction(lambda tx: ledger.open_account(tx, did))
    with pytest.raises(asyncpg.UniqueViolationError):
        await registry.database.transaction(lambda tx: ledger.open_account(tx, did))


async def test_units_are_issued_once_for_each_reference(registry: TestRegistry) -> None:
    book = ledger.Book.of(registry.settings)
    for ref in ("mint-1", "mint-2"):
        await registry.database.transaction(
            lambda tx, ref=ref: ledger.issue(tx, amount=Minor(10), ref=ref, book=book)
        )
    with pytest.raises(asyncpg.UniqueViolationError):
        await registry.database.transaction(
            lambda tx: ledger.issue(tx, amount=Minor(10), ref="mint-1", book=book)
        )
    verdict = await registry.supply()
    assert (verdict["status"], verdict["tokens_issued"]) == ("OK", "1000000.0000002")


async def test_the_genesis_supply_is_issued_once_however_often_the_book_is_founded(
    registry: TestRegistry,
) -> None:
    book = ledger.Book.of(registry.settings)
    founded = await registry.database.transaction(lambda tx: ledger.initialize_ledger(tx, book, Minor(10)))
    assert founded is False
    assert (await registry.supply())["tokens_issued"] == "1000000"


async def test_a_treasury_that_cannot_cover_a_grant_pays_nothing(registry: TestRegistry) -> None:
    book, did = ledger.Book.of(registry.settings), "did:hansa:hansa.local:granted"
    await registry.database.transaction(lambda tx: ledger.open_account(tx, did))
    supply = 1_000_000 * 10**8
    for amount, paid in ((supply + 1, False), (supply, True), (1, False)):
        granted = await registry.database.transaction(
            lambda tx, amount=amount: ledger.grant(tx, payee=did, amount=Minor(amount), ref="r", book=book)
        )
        assert granted is paid
    held = await registry.database.read(lambda tx: ledger.balance_of(tx, did))
    assert held.liquid == supply
