"""The store on Redis or Valkey: for a service of several machines.

Each transition is one script, which the server runs alone. The server must persist confirmed writes
(`appendonly yes`, `appendfsync always`) and must not evict keys (`maxmemory-policy noeviction`); `open` refuses a
server that evicts.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from .entry import (
    KEPT_SECONDS,
    RECEIPT_KEPT_SECONDS,
    Answer,
    Claim,
    Entry,
    Payment,
    State,
    StoreUnavailable,
    Work,
)
from .sql import CAPTURE_GRACE_SECONDS

if TYPE_CHECKING:
    import redis.asyncio

TIMEOUT_SECONDS = 5.0
PREFIX = "hansa:paid:"
SCRIPT = Path(__file__).with_name("redis.lua")
FIELDS = (
    "state",
    "owner",
    "lease_until",
    "use_id",
    "fingerprint",
    "facts",
    "sealed_token",
    "answer",
    "payment",
    "capture_amount",
    "settlement_tx_id",
)


class RedisStore:
    """Keeps each entry in a hash that expires, the running ones and the due ones in two sorted sets."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._client: redis.asyncio.Redis | None = None
        self._script = SCRIPT.read_text()
        self._store_id = ""

    @property
    def store_id(self) -> str:
        """The id that the server holds."""
        return self._store_id

    async def open(self) -> None:
        """Connect, and read or make the store's id. Raises: StoreUnavailable, ValueError."""
        import redis.asyncio

        self._client = redis.asyncio.Redis.from_url(self._url, socket_timeout=TIMEOUT_SECONDS)
        policy = await self._answer(self._client.config_get("maxmemory-policy"))
        evicts = policy.get("maxmemory-policy", "noeviction") != "noeviction"
        if evicts:
            raise ValueError("the Redis server evicts keys; set maxmemory-policy to noeviction")
        await self._answer(self._client.set(f"{PREFIX}store", uuid4().hex[:16], nx=True))
        named = await self._answer(self._client.get(f"{PREFIX}store"))
        self._store_id = named.decode()

    async def close(self) -> None:
        """Disconnect."""
        if self._client:
            client, self._client = self._client, None
            await client.aclose()

    def new_owner(self) -> str:
        """See Store. A process that ends is recognised by its lease."""
        return uuid4().hex

    async def claim(self, claim: Claim) -> Entry:
        """See Store."""
        values = (claim.owner, claim.lease_seconds, claim.use_id, claim.fingerprint)
        row = await self._run("claim", claim.token_hash, *values)
        return _entry_of(claim.token_hash, row)

    async def start(self, token_hash: str, owner: str, work: Work) -> bool:
        """See Store."""
        values = (owner, work.facts, work.payment.value, work.sealed_token or b"")
        return bool(await self._run("start", token_hash, *values))

    async def renew(self, token_hash: str, owner: str, lease_seconds: float) -> bool:
        """See Store."""
        return bool(await self._run("renew", token_hash, owner, lease_seconds))

    async def finish(self, token_hash: str, owner: str, answer: Answer) -> Entry | None:
        """See Store."""
        values = (
            owner,
            answer.sealed,
            answer.payment.value,
            answer.capture_amount or "",
            CAPTURE_GRACE_SECONDS,
            answer.receipt.token_id if answer.receipt else "",
            answer.receipt.text if answer.receipt else "",
            RECEIPT_KEPT_SECONDS,
        )
        return _found(token_hash, await self._run("finish", token_hash, *values))

    async def withdraw(self, token_hash: str, owner: str) -> None:
        """See Store."""
        await self._run("withdraw", token_hash, owner)

    async def pause(self, token_hash: str, owner: str) -> None:
        """See Store."""
        await self._run("pause", token_hash, owner)

    async def lose(self, token_hash: str, owner: str, work: Work) -> None:
        """See Store."""
        await self._run("lose", token_hash, owner, work.facts, work.payment.value, work.sealed_token or b"")

    async def read(self, token_hash: str) -> Entry | None:
        """See Store."""
        row = await self._run("read", token_hash)
        return _found(token_hash, row)

    async def receipt(self, token_id: str) -> str | None:
        """See Store."""
        if not self._client:
            raise StoreUnavailable("the store is not open")
        found = await self._answer(self._client.get(f"{PREFIX}receipt:{token_id}"))
        return None if found is None else found.decode()

    async def settle(self, token_hash: str, payment: Payment, settlement_tx_id: str | None) -> Entry | None:
        """See Store."""
        return _found(
            token_hash, await self._run("settle", token_hash, payment.value, settlement_tx_id or "")
        )

    async def due(self, limit: int, again_after_seconds: float) -> list[Entry]:
        """See Store."""
        rows = await self._run("due", "", limit, again_after_seconds)
        return [_entry_of(row[0].decode(), row[1:]) for row in rows]

    async def purge(self, retention_seconds: float) -> int:
        """Nothing to delete: entries expire by themselves after KEPT_SECONDS, due ones when they are settled."""
        del retention_seconds
        return 0

    async def _run(self, act: str, token_hash: str, *values: object) -> Any:
        if not self._client:
            raise StoreUnavailable("the store is not open")
        arguments: tuple[Any, ...] = (act, PREFIX, token_hash, KEPT_SECONDS, *values)
        return await self._answer(self._client.eval(self._script, 0, *arguments))

    async def _answer(self, reply: Any) -> Any:
        import redis.exceptions

        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                return await reply
        except (OSError, TimeoutError, redis.exceptions.RedisError) as error:
            raise StoreUnavailable(f"Redis failed: {type(error).__name__}") from error


def _found(token_hash: str, row: Sequence[bytes] | None) -> Entry | None:
    return _entry_of(token_hash, row) if row else None


def _entry_of(token_hash: str, row: Sequence[bytes]) -> Entry:
    values = dict(zip((*FIELDS, "now"), row, strict=True))
    text = {name: value.decode() for name, value in values.items() if name not in {"sealed_token", "answer"}}
    return Entry(
        token_hash=token_hash,
        state=State(text["state"]),
        owner=text["owner"],
        lease_left=float(text["lease_until"]) - float(text["now"]),
        use_id=text["use_id"],
        fingerprint=text["fingerprint"],
        facts=text["facts"] or None,
        sealed_token=values["sealed_token"] or None,
        answer=values["answer"] or None,
        payment=Payment(text["payment"]),
        capture_amount=text["capture_amount"] or None,
        settlement_tx_id=text["settlement_tx_id"] or None,
    )
