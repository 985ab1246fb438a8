"""A repeated request with the same Idempotency-Key gets the first answer and changes nothing.

- The scope is (caller, route, key); the record is written in the transaction of the effect.
- Another body under the same key, or a repeat while the first is under way, is a 422.
- A refused request leaves no record: its key is free again. After 24 hours a key is free as well.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from hashlib import sha256
from typing import Annotated, Protocol, TypeVar

import msgspec
from fastapi import Header, Request
from fastapi.responses import Response
from pydantic import BaseModel

from hansa.foundation.plumbing.storage.batch_loader import Question
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import JsonText
from hansa.foundation.values.canonical import digest
from hansa.foundation.values.errors import Invalid

Result = TypeVar("Result")
WINDOW_HOURS = 24
_REPLAYED = ((b"idempotent-replayed", b"true"),)
KEY_PATTERN = r"^[\x21-\x7e]{1,255}$"

IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern=KEY_PATTERN,
        description="1 to 255 printable ASCII characters; a repeated request within 24 hours returns the first response.",
    ),
]


class KeyReused(Invalid):
    """The Idempotency-Key was used with a different request body."""

    code = "IDEMPOTENCY_KEY_REUSED"
    sentence = "This Idempotency-Key was already used with a different body."
    remedy = "Use a new Idempotency-Key for a different request."


class KeyInProgress(Invalid):
    """The first request with this Idempotency-Key is still in progress."""

    code = "IDEMPOTENCY_KEY_IN_PROGRESS"
    sentence = "The first request with this Idempotency-Key is still in progress."
    remedy = "Wait for the first request to end, then repeat with the same Idempotency-Key to receive its response."


class Repeatable(msgspec.Struct, frozen=True):
    """A request that may come again. `body` is JSON-ready."""

    caller: str
    route: str
    key: str
    body: object

    @property
    def scope(self) -> bytes:
        """Key of the record: the SHA-256 of caller, route and key."""
        return sha256(f"{self.caller}\n{self.route}\n{self.key}".encode()).digest()


class Answer(msgspec.Struct, frozen=True):
    """The answer to a request as it goes out, and whether it is a repetition."""

    text: str
    replayed: bool


class Caller(Protocol):
    """Caller with a name of its own."""

    @property
    def sender(self) -> str:
        """Name of the caller in limits and Idempotency-Keys."""


def repeatable(
    caller: Caller,
    request: Request,
    key: str | None,
    body: BaseModel | None = None,
    *,
    exclude: Iterable[str] = (),
) -> Repeatable | None:
    """The request of this caller under its key, None without one; a repetition may differ in the excluded members of its body."""
    if key is None:
        return None
    members = None if body is None else body.model_dump(mode="json", by_alias=True, exclude=set(exclude))
    return Repeatable(caller.sender, f"{request.method} {request.url.path}", key, members)


class Transactions(Protocol):
    """Runner of transactions: the database, or a wrapper of it."""

    async def transaction(self, use_case: Callable[[Tx], Awaitable[Result]]) -> Result:
        """Run `use_case` in one transaction and commit it."""


async def once(
    database: Transactions, request: Repeatable | None, use_case: Callable[[Tx], Awaitable[BaseModel]]
) -> Response:
    """Carry out `use_case`, or repeat its answer with `Idempotent-Replayed: true`.

    Raises: KeyReused, KeyInProgress, and the errors of the use case.
    """

    async def recalled_or_done(tx: Tx) -> tuple[str, bool]:
        if request is not None and (answer := await recall(tx, request)) is not None:
            return answer, True
        answer = (await use_case(tx)).model_dump_json()
        if request is not None:
            await remember(tx, request, answer)
        return answer, False

    answer, replayed = await database.transaction(recalled_or_done)
    return answer_once(answer, replayed=replayed)


def answer_once(answer: str, *, replayed: bool) -> Response:
    """The response with a first answer, or with its repetition."""
    return JsonText(answer, _REPLAYED if replayed else ())


async def recall(tx: Tx, request: Repeatable) -> str | None:
    """The remembered answer, or None when the request is new; holds the key until the transaction ends.

    Raises: KeyReused, KeyInProgress.
    """
    (known,) = await recall_each(tx, [request])
    if isinstance(known, Invalid):
        raise known
    return known


async def recall_each(tx: Tx, requests: Sequence[Repeatable]) -> list[str | KeyReused | KeyInProgress | None]:
    """Recall the answers, like `recall`, of requests with keys that differ; a refusal takes the place of its request."""
    row = await tx.fetchrow(
        "SELECT * FROM plumbing_recall($1, $2)", [request.scope for request in requests], WINDOW_HOURS
    )
    assert row is not None
    found = zip(requests, row["held"], row["body_digests"], row["answers"], strict=True)
    return [_known(request, *known) for request, *known in found]


def _known(
    request: Repeatable, is_held: bool, body_digest: bytes | None, answer: str | None
) -> str | KeyReused | KeyInProgress | None:
    if not is_held:
        return KeyInProgress()
    if body_digest is not None and body_digest != digest(request.body):
        return KeyReused()
    return answer


async def find_answer(tx: Tx, request: Repeatable) -> str | None:
    """The remembered answer, without holding the key: the one who writes it meanwhile is not refused."""
    answer: str | None = await tx.fetchval("SELECT plumbing_answer($1, $2)", request.scope, WINDOW_HOURS)
    return answer


async def remember(tx: Tx, request: Repeatable, answer: str) -> None:
    """Keep the answer beside the effect; `recall` holds the key and knew no answer."""
    await remember_each(tx, [(request, answer)])


async def remember_each(tx: Tx, answers: Sequence[tuple[Repeatable, str]]) -> None:
    """Remember the answers, like `remember`, of many requests."""
    await tx.execute(
        "SELECT plumbing_remember($1, $2, $3)",
        [request.scope for request, _ in answers],
        [digest(request.body) for request, _ in answers],
        [answer for _, answer in answers],
    )


async def forget(tx: Tx, scope: bytes) -> None:
    """Free a key whose effect was undone."""
    await tx.execute("DELETE FROM plumbing_idempotency WHERE scope_sha256 = $1", scope)


_EXPIRED = f"FROM plumbing_idempotency WHERE created_at <= now() - make_interval(hours => {WINDOW_HOURS})"

HAS_EXPIRED = Question(f"SELECT EXISTS (SELECT {_EXPIRED})")
"""Whether a record is past the window."""


async def forget_expired(tx: Tx) -> int:
    """Delete a batch of records past the window; returns how many."""
    rows = await tx.fetch(
        f"DELETE FROM plumbing_idempotency WHERE ctid IN (SELECT ctid {_EXPIRED} LIMIT 10000) RETURNING 1"  # noqa: S608
    )
    return len(rows)
