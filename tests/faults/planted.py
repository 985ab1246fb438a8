"""Five faulty postings of transfers that look right: the checker of histories must find each."""

import asyncio
from dataclasses import dataclass

from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.values.errors import Refused
from hansa.rooms import ledger
from tests.faults.traffic import Answer

_READ = "SELECT id, did, liquid FROM ledger_account WHERE did = ANY($1) ORDER BY id"
_LOCK = f"{_READ} FOR NO KEY UPDATE"
_SET = "UPDATE ledger_account SET liquid = $2 WHERE id = $1"
_NEXT_ID = "SELECT nextval('ledger_transaction_id_seq')"
_WRITE = """
WITH written AS (
  INSERT INTO ledger_transaction (id, tx_type, payer_id, payee_id, amount, message) OVERRIDING SYSTEM VALUE
  VALUES ($1, 'transfer', $2, $3, $4, $7)
)
INSERT INTO ledger_posting (tx_id, account_id, bucket, delta, balance_after)
VALUES ($1, $2, 'liquid', -$4::bigint, $5), ($1, $3, 'liquid', $4, $6)
"""
_FIND = """
SELECT t.id, p.balance_after FROM ledger_transaction t JOIN ledger_posting p ON (p.tx_id, p.account_id) = (t.id, t.payer_id)
WHERE t.message = $1 ORDER BY t.id LIMIT 1
"""
# Long enough for somebody else to come between.
_PAUSE_SECONDS = 0.001


@dataclass(frozen=True)
class Side:
    """An account at the moment it was read."""

    id: int
    liquid: int


class PlantedDesk:
    """Posts as it should: locked before anything is read, one key one transfer. Its heirs each get one thing wrong."""

    def __init__(self, database: Database) -> None:
        self.database = database

    async def transfer(self, order: ledger.TransferOrder, key: str) -> Answer:
        return await self.database.transaction(lambda tx: self._post(tx, order, key))

    async def _post(self, tx: Tx, order: ledger.TransferOrder, key: str) -> Answer:
        await tx.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", key)
        return await self._known(tx, key) or await self._post_new(tx, order, key)

    async def _known(self, tx: Tx, key: str) -> Answer | None:
        row = await tx.fetchrow(_FIND, key)
        return (row["id"], row["balance_after"]) if row else None

    async def _post_new(self, tx: Tx, order: ledger.TransferOrder, key: str) -> Answer:
        sides = await self._sides(tx, _LOCK, order)
        return await self._write(tx, await tx.fetchval(_NEXT_ID), sides, order, key)

    async def _sides(self, tx: Tx, statement: str, order: ledger.TransferOrder) -> tuple[Side, Side]:
        found = {
            row["did"]: Side(row["id"], row["liquid"]) for row in await self._parties(tx, statement, order)
        }
        await asyncio.sleep(_PAUSE_SECONDS)
        if found[order.payer].liquid < order.amount:
            raise Refused
        return found[order.payer], found[order.payee]

    async def _parties(self, tx: Tx, statement: str, order: ledger.TransferOrder) -> list[dict[str, object]]:
        return await tx.fetch(statement, [order.payer, order.payee])

    async def _write(
        self, tx: Tx, tx_id: int, sides: tuple[Side, Side], order: ledger.TransferOrder, key: str
    ) -> Answer:
        payer, payee = sides
        paid, received = payer.liquid - order.amount, payee.liquid + order.amount
        await tx.execute(_WRITE, tx_id, payer.id, payee.id, order.amount, paid, received, key)
        for account_id, liquid in sorted([(payer.id, paid), (payee.id, received)]):
            await tx.execute(_SET, account_id, liquid)
        return tx_id, paid


class NoLock(PlantedDesk):
    """The accounts are read without a lock."""

    async def _post_new(self, tx: Tx, order: ledger.TransferOrder, key: str) -> Answer:
        sides = await self._sides(tx, _READ, order)
        return await self._write(tx, await tx.fetchval(_NEXT_ID), sides, order, key)


class ReadThenWrite(PlantedDesk):
    """Decide in one transaction, under a lock, and write in the next."""

    async def transfer(self, order: ledger.TransferOrder, key: str) -> Answer:
        sides = await self.database.transaction(lambda tx: self._sides(tx, _LOCK, order))

        async def written(tx: Tx) -> Answer:
            await tx.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", key)
            await tx.fetch(_LOCK, [order.payer, order.payee])
            return await self._known(tx, key) or await self._write(
                tx, await tx.fetchval(_NEXT_ID), sides, order, key
            )

        return await self.database.transaction(written)


class NoUniqueKey(PlantedDesk):
    """Nothing holds the key between the look for it and the writing."""

    async def _post(self, tx: Tx, order: ledger.TransferOrder, key: str) -> Answer:
        known = await self._known(tx, key)
        if known:
            return known
        await self._post_new(tx, order, key)
        answer = await self._known(tx, key)
        assert answer
        return answer


class IdsBeforeTheLock(PlantedDesk):
    """The id is drawn first, so that ids do not rise in the order in which the accounts changed."""

    async def _post_new(self, tx: Tx, order: ledger.TransferOrder, key: str) -> Answer:
        tx_id = await tx.fetchval(_NEXT_ID)
        await asyncio.sleep(_PAUSE_SECONDS * (tx_id % 3))
        return await self._write(tx, tx_id, await self._sides(tx, _LOCK, order), order, key)


class BalanceFromOutside(PlantedDesk):
    """The balance in the answer is read when the transaction is over."""

    async def transfer(self, order: ledger.TransferOrder, key: str) -> Answer:
        tx_id, _ = await super().transfer(order, key)
        liquid = await self.database.query(
            lambda tx: tx.fetchval("SELECT liquid FROM ledger_account WHERE did = $1", order.payer)
        )
        return tx_id, liquid
