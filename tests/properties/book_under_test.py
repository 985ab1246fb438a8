"""The real registry as the state machine sees it: one call at a time, and a book that can be founded anew."""

import asyncio
import json
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

import asyncpg

from hansa.foundation.plumbing.web import idempotency
from hansa.foundation.plumbing.web.idempotency import Repeatable
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.money import Minor, parse_amount
from hansa.rooms import ledger
from hansa.rooms.ledger.batch import Ticket
from hansa.rooms.transfers.schemas import TransferIn, TransferOut
from tests.properties.batches import outcomes_of_batch
from tests.properties.model import Answer, plain
from tests.properties.proof import prove_book
from tests.registry import TestAgent, TestRegistry, open_registry

AGENTS = 6
KEY_HEADER = "Idempotency-Key"
ROUTE = "/teg/transfer"

Result = TypeVar("Result")
Order = tuple[str, str, str, str | None]

_FORGET = """
BEGIN;
SET LOCAL session_replication_role = replica;
DELETE FROM journal_event;
DELETE FROM ledger_posting;
DELETE FROM ledger_transaction;
DELETE FROM plumbing_idempotency;
UPDATE ledger_account SET liquid = 0, pace = '{}', status = 'active';
COMMIT;
"""

_AGE = """
UPDATE ledger_account SET pace = coalesce((
  SELECT array_agg(CASE WHEN place % 3 = 1 THEN number - $1 ELSE number END ORDER BY place)
  FROM unnest(pace) WITH ORDINALITY AS p (number, place)), '{}')
"""

_MONEY = ("amount", "fee_amount", "new_sender_balance")


class BookUnderTest:
    """A registry with a few agents, driven from outside an event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, dsn: str, directory: Path) -> None:
        self._loop = loop
        self._dsn = dsn
        self._directory = directory
        self._stack = AsyncExitStack()
        self._registry: TestRegistry
        self._auditor: asyncpg.Connection[asyncpg.Record]
        self.agents: dict[str, TestAgent] = {}

    def start(self) -> None:
        async def start() -> None:
            self._auditor = await asyncpg.connect(self._dsn)
            await self._open()
            developer = await self._registry.developer()
            made = [await developer.agent(name=f"Agent {number}") for number in range(AGENTS)]
            self.agents = {agent.did: agent for agent in made}

        self.run(start())

    def stop(self) -> None:
        async def stop() -> None:
            await self._stack.aclose()
            await self._auditor.close()

        self.run(stop())

    def restart(self) -> None:
        """The application ends and begins again on the same database."""

        async def restart() -> None:
            await self._stack.aclose()
            await self._open()

        self.run(restart())

    def found(self, supply: Decimal) -> None:
        """Empty the book and found it with this supply."""

        async def found() -> None:
            await self._auditor.execute(_FORGET)
            await self._registry.database.transaction(
                lambda tx: ledger.initialize_ledger(tx, self._book, Minor(int(supply * 10**8)))
            )

        self.run(found())

    def grant(self, did: str, amount: Decimal) -> bool:
        minor = parse_amount(plain(amount))
        return self.run(
            self._registry.database.transaction(
                lambda tx: ledger.grant(tx, payee=did, amount=minor, ref="test grant", book=self._book)
            )
        )

    def suspend(self, did: str, *, suspended: bool) -> None:
        act = ledger.suspend_accounts if suspended else ledger.reinstate_accounts
        assert self.run(self._registry.database.transaction(lambda tx: act(tx, [did]))) == {did}

    def elapse(self, minutes: int) -> None:
        """Make everything that happened so far older."""
        self._execute(_AGE, minutes)
        self._execute(
            "UPDATE plumbing_idempotency SET created_at = created_at - $1 * interval '1 minute'", minutes
        )

    def transfer(
        self, payer: str, payee: str, amount: object, message: str | None = None, key: str | None = None
    ) -> Answer:
        body = {"receiver_agent_id": payee, "amount": amount, "message": message}
        headers = self._headers(payer) | ({KEY_HEADER: key} if key is not None else {})
        answer = self.run(self._registry.post(ROUTE, json=body, headers=headers))
        returned = answer.json()
        if answer.status_code == 200:
            money = {name: returned[name] for name in _MONEY}
            assert (returned["sender_agent_id"], returned["receiver_agent_id"], returned["message"]) == (
                payer,
                payee,
                message,
            )
        else:
            assert returned["status"] == answer.status_code
            money = returned["error"]["context"] or {} if answer.status_code == 402 else {}
        return Answer(answer.status_code, money, answer.headers.get("Idempotent-Replayed") == "true")

    def transfer_in_one_batch(self, orders: list[Order]) -> list[Answer]:
        """The orders as one group commit takes them: (payer, payee, amount, key), no key twice for one payer."""
        tickets = [self._ticket(*order) for order in orders]
        heard = self.run(
            self._registry.database.transaction(lambda tx: outcomes_of_batch(tx, tickets, self._book))
        )
        return [_answer_of(outcome) for outcome in heard]

    def _ticket(self, payer: str, payee: str, amount: str, key: str | None) -> Ticket:
        body = TransferIn(receiver_agent_id=payee, amount=amount)
        order = body.order_by(payer)
        request = Repeatable(payer, ROUTE, key, body.model_dump()) if key else None

        def render(receipt: ledger.Receipt) -> str:
            return TransferOut.json_of(receipt, order, self._book.currency)

        async def ticket() -> Ticket:
            return Ticket.of_transfer(order, request, render)

        return self.run(ticket())

    def balance(self, did: str) -> str:
        answer = self.run(self._registry.get("/teg/balance", headers=self._headers(did)))
        return answer.json()["balance"]

    def balances(self) -> dict[str, str]:
        """Return the balances of the table, the registry's own included; that of the fee collector is of all that collect fees."""
        rows = self.run(
            self._auditor.fetch(
                "SELECT CASE WHEN did = ANY (ledger_collectors($1)) THEN $1 ELSE did END AS did, sum(liquid)::bigint AS liquid"
                " FROM ledger_account GROUP BY 1",
                self.fee_collector,
            )
        )
        return {row["did"]: plain(Decimal(row["liquid"]).scaleb(-8)) for row in rows}

    @property
    def treasury(self) -> str:
        return self._book.treasury

    @property
    def fee_collector(self) -> str:
        return self._book.fee_collector

    @property
    def shortfall(self) -> str:
        return self._book.shortfall

    def prove(self) -> None:
        verdict = self.run(self._registry.supply())
        assert (verdict["status"], verdict["delta"]) == ("OK", "0")
        self.run(prove_book(self._auditor))

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        return self._loop.run_until_complete(work)

    async def _open(self) -> None:
        self._registry = await self._stack.enter_async_context(
            open_registry(
                self._dsn,
                self._directory,
                rate_limit_reads="off",
                access_token_expire_minutes=24 * 60,
                genesis_supply="1000000",
            )
        )

    @property
    def _book(self) -> ledger.Book:
        return ledger.Book.of(self._registry.settings)

    def _headers(self, did: str) -> dict[str, str]:
        return self.agents[did].headers

    def _execute(self, statement: str, *values: object) -> None:
        self.run(self._auditor.execute(statement, *values))


def _answer_of(outcome: idempotency.Answer | Refused) -> Answer:
    if isinstance(outcome, idempotency.Answer):
        returned = json.loads(outcome.text)
        return Answer(200, {name: returned[name] for name in _MONEY}, outcome.replayed)
    return Answer(outcome.status, dict(outcome.context or {}) if outcome.status == 402 else {})
