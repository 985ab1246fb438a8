"""Verifying a token: its holder learns whether it is valid, and the first verification consumes it.

Verifications of one process that come at the same moment share one statement. Known and unknown tokens take the same
statements. A second statement is sent beside the first as soon as as many wait as are under way: a token that is verified again need
not wait until the first uses of another statement are on the disk.

Cache of the tokens that a process verified: their settlement need not look them up.

Only members of a token that never change are relied on. Whether it is still open is judged in the commit that settles it.
"""

import asyncio
from collections.abc import Sequence

import msgspec

from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.storage.batch_loader import let_requests_arrive
from hansa.foundation.values.secrets import fingerprint
from hansa.rooms import operations

from . import rules, store
from .ending import expire
from .rules import Token, VerifyOrder
from .store import Verified

BATCH_MAX = 500
BATCHES_MAX = 2
"""How many are under way at a time."""

# About 5 MB; beyond it the oldest are looked up again.
KNOWN_MAX = 5000


# Fewer do not justify a statement and a commit of their own beside another one.
FEWEST_BESIDE = 16
UNKNOWN_STATUS = "unknown"


class Verification(msgspec.Struct, frozen=True):
    """The answer: without an error the token is valid, and the rest is known."""

    token: Token | None
    error: str | None
    is_first_use: bool = False
    caller_status: str = UNKNOWN_STATUS


class _Waiting(msgspec.Struct, frozen=True, eq=False):
    order: VerifyOrder
    found: asyncio.Future[Verified]


class Verifier:
    """Verifies the tokens that are presented to one process."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._known = VERIFIED_TOKENS.of(runtime)
        self._waiting: list[_Waiting] = []
        self._workers: set[asyncio.Task[None]] = set()
        self._under_way = 0
        """How many verifications the database works on."""

    async def verify(self, order: VerifyOrder) -> Verification:
        """Judge a token in the order of the specification; an expired one is marked as such. Raises: Unavailable."""
        verified = await self._consumed(order)
        token = verified.token
        error = rules.verify_error(token, order, is_expired=token is not None and token.is_expired)
        if token is None or error is not None:
            if token is not None and token.is_expired and token.status in rules.OPEN:
                await expire(self._runtime, token.id)
            self._note_refusal(order, token, error)
            return Verification(token, error)
        is_same_use = order.use_id is not None and order.use_id == token.use_id
        is_first_use = verified.is_first or is_same_use
        return Verification(token, None, is_first_use, verified.caller_status or UNKNOWN_STATUS)

    def _note_refusal(self, order: VerifyOrder, token: Token | None, error: str | None) -> None:
        """Note a refused token for the log of the payee."""
        did = order.target or (token.payee if token else None)
        if did is not None and error is not None:
            token_id = str(token.id) if token is not None and token.payee == did else None
            operations.note_refused_payment_token(self._runtime, did, error, token_id)

    def _consumed(self, order: VerifyOrder) -> asyncio.Future[Verified]:
        waiting = _Waiting(order, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        working = {worker for worker in self._workers if not worker.done()}
        if not working or (len(working) < BATCHES_MAX and self._under_way and self._is_due()):
            self._workers = working | {asyncio.create_task(self._work())}
        return waiting.found

    def _is_due(self) -> bool:
        """Return whether a batch is to be sent now: none is under way, or as many wait as are."""
        return bool(self._waiting) and (
            not self._under_way or len(self._waiting) >= max(FEWEST_BESIDE, self._under_way)
        )

    async def _work(self) -> None:
        while self._is_due():
            await let_requests_arrive()
            batch, self._waiting = self._waiting[:BATCH_MAX], self._waiting[BATCH_MAX:]
            if not batch:
                # The other batch took what was about to be taken here.
                return
            self._under_way += len(batch)
            try:
                verified = await self._verify([one.order for one in batch])
            except Exception as error:  # noqa: BLE001
                for one in batch:
                    if not one.found.cancelled():
                        one.found.set_exception(error)
                continue
            finally:
                self._under_way -= len(batch)
            for one, found in zip(batch, verified, strict=True):
                # A client that went away has cancelled its own.
                if not one.found.cancelled():
                    one.found.set_result(found)

    async def _verify(self, orders: Sequence[VerifyOrder]) -> list[Verified]:
        hashes = [fingerprint(order.secret) for order in orders]
        targets, use_ids = [order.target for order in orders], [order.use_id for order in orders]
        verified = await self._runtime.database.execute(lambda tx: store.verify(tx, hashes, targets, use_ids))
        for token_sha256, found in zip(hashes, verified, strict=True):
            if found.token is not None and found.token.status in rules.OPEN:
                self._known.note(token_sha256, found.token)
        return verified


class VerifiedTokenCache:
    """Tokens by their hash, each until it is settled."""

    def __init__(self, most: int = KNOWN_MAX) -> None:
        self._most = most
        self._tokens: dict[bytes, Token] = {}

    def note(self, token_sha256: bytes, token: Token) -> None:
        """Keep a token as it was read."""
        if len(self._tokens) >= self._most and token_sha256 not in self._tokens:
            del self._tokens[next(iter(self._tokens))]
        self._tokens[token_sha256] = token

    def take(self, token_sha256: bytes) -> Token | None:
        """Remove a token from the cache and return it; the next request reads the row of the database."""
        return self._tokens.pop(token_sha256, None)


VERIFIED_TOKENS: Slot[VerifiedTokenCache] = Slot(
    "commerce: tokens that this process verified", build=lambda _: VerifiedTokenCache()
)

VERIFIER: Slot[Verifier] = Slot("commerce: verifier of payment tokens", build=Verifier)


def first_use_of(verification: Verification, order: VerifyOrder) -> str | None:
    """The use that consumed a valid token, for a service that names itself as the payee."""
    token = verification.token
    return token.use_id if token and verification.error is None and order.target else None
