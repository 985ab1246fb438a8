"""The store on an SQL database; `sqlite` and `postgresql` supply the driver."""

from collections.abc import Awaitable, Callable, Sequence
from itertools import count
from typing import Any, Protocol, TypeVar
from uuid import uuid4

from . import statements
from .entry import RECEIPT_KEPT_SECONDS, STALL_SECONDS, Answer, Claim, Entry, Payment, StoreUnavailable, Work

Rows = Sequence[Sequence[Any]]
Run = Callable[[str, Sequence[Any]], Awaitable[Rows]]
T = TypeVar("T")

# The process that finished the work captures its payment itself; others step in after this time.
CAPTURE_GRACE_SECONDS = 5.0


class Driver(Protocol):
    """Runs the statements of one use in one transaction. Raises: StoreUnavailable.

    A use that is not durable may be undone if the machine of the database fails before a later durable one.
    """

    @property
    def process(self) -> str: ...
    async def open(self) -> None: ...
    async def close(self) -> None: ...
    async def within(self, use: Callable[[Run], Awaitable[T]], *, is_durable: bool = True) -> T: ...


class SqlStore:
    """Keeps the entries in two tables, which it creates."""

    def __init__(self, driver: Driver, *, now: str, binary: str, ended: str) -> None:
        self._driver, self._now, self._binary, self._ended = driver, now, binary, ended
        self._store_id = ""
        # No other process ever has the name of this one.
        self._claims = count()
        self._written: dict[str, str] = {}

    @property
    def store_id(self) -> str:
        """The id that the database holds."""
        return self._store_id

    async def open(self) -> None:
        """Connect, create the tables, and read or make the store's id."""
        await self._driver.open()

        async def prepare(run: Run) -> str:
            for statement in statements.SCHEMA:
                await run(statement.replace("{bytes}", self._binary), ())
            await run(statements.NAME_STORE, (uuid4().hex[:16],))
            return str((await run(statements.STORE_NAME, ()))[0][0])

        self._store_id = await self._driver.within(prepare)

    async def close(self) -> None:
        """Disconnect."""
        await self._driver.close()

    def new_owner(self) -> str:
        """See Store."""
        return f"{self._driver.process}.{next(self._claims)}"

    async def claim(self, claim: Claim) -> Entry:
        """See Store."""
        mine = (claim.token_hash, claim.owner, claim.lease_seconds)

        async def attempt(run: Run) -> Rows:
            found = await run(self._sql(statements.INSERT), (*mine, claim.use_id, claim.fingerprint))
            found = found or await run(self._sql(statements.TAKE_OVER), mine)
            found = found or await run(self._sql(statements.GIVE_UP), (claim.token_hash,))
            return found or await run(self._sql(statements.READ), (claim.token_hash,))

        # An entry may be deleted between the statements; it is inserted at the next attempt.
        for _ in range(5):
            # Until the work begins nothing is lost with a claim: the token is refused then as one whose work was lost.
            if rows := await self._driver.within(attempt, is_durable=False):
                return statements.entry_of(rows[0])
        raise StoreUnavailable("the entry of a token came and went five times")

    async def start(self, token_hash: str, owner: str, work: Work) -> bool:
        """See Store."""
        values = (token_hash, owner, work.facts, work.payment.value, work.sealed_token)
        return bool(await self._one(statements.START, values))

    async def renew(self, token_hash: str, owner: str, lease_seconds: float) -> bool:
        """See Store."""
        values = (token_hash, owner, lease_seconds)
        return bool(await self._one(statements.RENEW, values, is_durable=False))

    async def finish(self, token_hash: str, owner: str, answer: Answer) -> Entry | None:
        """See Store."""
        values = (token_hash, owner, answer.sealed, answer.payment.value, answer.capture_amount)

        async def attempt(run: Run) -> Rows:
            done = await run(self._sql(statements.FINISH), (*values, CAPTURE_GRACE_SECONDS))
            if done and answer.receipt:
                await run(self._sql(statements.KEEP_RECEIPT), (answer.receipt.token_id, answer.receipt.text))
            return done or await run(self._sql(statements.FINISHED), (token_hash, owner))

        return statements.first_entry(await self._driver.within(attempt))

    async def withdraw(self, token_hash: str, owner: str) -> None:
        """See Store."""
        await self._one(statements.WITHDRAW, (token_hash, owner), is_durable=False)

    async def pause(self, token_hash: str, owner: str) -> None:
        """See Store."""
        await self._one(statements.PAUSE, (token_hash, owner), is_durable=False)

    async def lose(self, token_hash: str, owner: str, work: Work) -> None:
        """See Store."""
        values = (token_hash, owner, work.facts, work.payment.value, work.sealed_token)
        await self._one(statements.LOSE, values)

    async def read(self, token_hash: str) -> Entry | None:
        """See Store."""
        return statements.first_entry(await self._one(statements.READ, (token_hash,)))

    async def receipt(self, token_id: str) -> str | None:
        """See Store."""
        rows = await self._one(statements.RECEIPT, (token_id,))
        return str(rows[0][0]) if rows else None

    async def settle(self, token_hash: str, payment: Payment, settlement_tx_id: str | None) -> Entry | None:
        """See Store."""

        async def attempt(run: Run) -> Rows:
            done = await run(self._sql(statements.SETTLE), (token_hash, payment.value, settlement_tx_id))
            return done or await run(self._sql(statements.READ), (token_hash,))

        # A payment that is due once more is settled once all the same.
        return statements.first_entry(await self._driver.within(attempt, is_durable=False))

    async def due(self, limit: int, again_after_seconds: float) -> list[Entry]:
        """See Store."""

        async def attempt(run: Run) -> Rows:
            await run(self._sql(statements.GIVE_UP_ALL), ())
            return await run(self._sql(statements.DUE), (limit, again_after_seconds))

        return [statements.entry_of(row) for row in await self._driver.within(attempt)]

    async def purge(self, retention_seconds: float) -> int:
        """See Store."""

        async def attempt(run: Run) -> Rows:
            await run(self._sql(statements.PURGE_RECEIPTS), (RECEIPT_KEPT_SECONDS,))
            return await run(self._sql(statements.PURGE), (retention_seconds,))

        return len(await self._driver.within(attempt))

    def _sql(self, statement: str) -> str:
        if statement not in self._written:
            self._written[statement] = self._with_names(statement)
        return self._written[statement]

    def _with_names(self, statement: str) -> str:
        whole = statement.replace("{columns}", statements.COLUMNS).replace("{ended}", self._ended)
        return whole.replace("{stall}", str(STALL_SECONDS)).replace("{now}", self._now)

    async def _one(self, statement: str, values: Sequence[Any], *, is_durable: bool = True) -> Rows:
        return await self._driver.within(lambda run: run(self._sql(statement), values), is_durable=is_durable)
