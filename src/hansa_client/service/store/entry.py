"""Record of one token in a store, and the store's contract.

- One entry per token, found by the SHA-256 of the token; the token itself is never stored in clear.
- `claimed`: a process asks the issuer about the token; no work has begun, so another process may take the claim over
  when its lease or its process ends. `running`: the work has begun. `answered`: the answer is stored. `lost`: the
  process of the work ended without an answer; the work is never run again.
- The death of a process is recognised by a lock that it holds while it runs (SQLite, PostgreSQL), not by time: a
  process that stands still keeps its work for STALL_SECONDS beyond the lease. On Redis the lease decides.
- Only the owner of an entry stores its answer; one that was overtaken is refused.
- Leases are judged by the clock of the store.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

KEPT_SECONDS = 86_400
# A dispute about a call may be opened days after it, and is ruled within weeks.
RECEIPT_KEPT_SECONDS = 400 * 86_400
# How long after its lease work is left to a process that still runs but does not renew it. A payment token lives for
# at most 900 seconds.
STALL_SECONDS = 600.0


class State(StrEnum):
    """How far the work of a token has come."""

    CLAIMED = "claimed"
    RUNNING = "running"
    ANSWERED = "answered"
    LOST = "lost"


class Payment(StrEnum):
    """Step that the service still has to take about the payment."""

    NONE = "none"
    """Nothing was verified yet."""
    REPORTED = "reported"
    """The caller settles; the service reports the outcome."""
    HELD = "held"
    """The service settles when the work has ended."""
    CAPTURE = "capture"
    """To be settled."""
    RELEASE = "release"
    """To be released."""
    CAPTURED = "captured"
    RELEASED = "released"
    UNCOLLECTABLE = "uncollectable"
    """The issuer refused the capture for good; the answer is withheld."""


DUE = (Payment.CAPTURE, Payment.RELEASE)


@dataclass(frozen=True)
class Claim:
    """A process that wants to serve a token."""

    token_hash: str
    use_id: str
    owner: str
    fingerprint: str
    lease_seconds: float


@dataclass(frozen=True)
class Entry:
    """The stored state of one token."""

    token_hash: str
    state: State
    owner: str
    lease_left: float
    """Seconds until the lease ends; negative when it has ended."""
    use_id: str
    fingerprint: str
    facts: str | None
    """The verified facts of the payment as JSON; None before the work began."""
    sealed_token: bytes | None
    answer: bytes | None
    payment: Payment
    capture_amount: str | None
    settlement_tx_id: str | None


@dataclass(frozen=True)
class Work:
    """Record of the begin of the work."""

    facts: str
    payment: Payment
    sealed_token: bytes | None


@dataclass(frozen=True)
class Receipt:
    """The signed delivery receipt of a call."""

    token_id: str
    text: str


@dataclass(frozen=True)
class Answer:
    """Record of the end of the work. A receipt is kept longer than the answer."""

    sealed: bytes
    payment: Payment
    capture_amount: str | None
    receipt: Receipt | None = None


class StoreUnavailable(Exception):
    """The store gave no answer in time: whether the write took effect is not known."""


class Store(Protocol):
    """Store in which the processes of a service agree on who works. Every method raises StoreUnavailable, and only that."""

    @property
    def store_id(self) -> str:
        """The random id of this store, made once; the same for every process that shares it."""
        ...

    async def open(self) -> None:
        """Connect and create missing tables."""
        ...

    def new_owner(self) -> str:
        """A name for one more claim of this process; its death ends the claim."""
        ...

    async def close(self) -> None:
        """Disconnect."""
        ...

    async def claim(self, claim: Claim) -> Entry:
        """Insert an entry, take over a claim whose lease or process ended, or mark work whose process ended as lost.

        Returns the entry as it now is; the claim was granted when its owner is the claim's owner and it is `claimed`.
        """
        ...

    async def start(self, token_hash: str, owner: str, work: Work) -> bool:
        """Claimed → running, while the owner's lease lasts. Repeatable."""
        ...

    async def renew(self, token_hash: str, owner: str, lease_seconds: float) -> bool:
        """Extend the lease of the owner's own claim or work, unless it was given up as lost."""
        ...

    async def finish(self, token_hash: str, owner: str, answer: Answer) -> Entry | None:
        """Running → answered by the owner. Repeatable; None when the work was given up as lost."""
        ...

    async def withdraw(self, token_hash: str, owner: str) -> None:
        """Delete a claim: the token was refused."""
        ...

    async def pause(self, token_hash: str, owner: str) -> None:
        """End a claim or work of the owner at once; the use_id of a claim stays for the next attempt."""
        ...

    async def lose(self, token_hash: str, owner: str, work: Work) -> None:
        """Claimed → lost: the token was first used by an entry that this store no longer has."""
        ...

    async def read(self, token_hash: str) -> Entry | None:
        """The entry of a token."""
        ...

    async def receipt(self, token_id: str) -> str | None:
        """The delivery receipt of a token."""
        ...

    async def settle(self, token_hash: str, payment: Payment, settlement_tx_id: str | None) -> Entry | None:
        """Record the end of a due payment, once. Returns the entry as it now is."""
        ...

    async def due(self, limit: int, again_after_seconds: float) -> list[Entry]:
        """Payments to capture or release; each is returned again only after `again_after_seconds`.

        Work whose process ended is marked as lost first.
        """
        ...

    async def purge(self, retention_seconds: float) -> int:
        """Delete entries older than this whose payment is not due, and receipts after RECEIPT_KEPT_SECONDS."""
        ...
