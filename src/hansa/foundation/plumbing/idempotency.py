"""A repeated request with the same Idempotency-Key gets the first answer and changes nothing.

- The scope is (caller, route, key); the record is written in the transaction of the effect.
- Another body under the same key, or a repeat while the first is under way, is a 422.
- A refused request leaves no record: its key is free again. After 24 hours a key is free as well.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

import asyncpg
from fastapi import Header
from fastapi.responses import Response
from pydantic import BaseModel

from hansa.foundation.plumbing.database import Database, Tx
from hansa.foundation.words.canonical import digest
from hansa.foundation.words.errors import Invalid

WINDOW_HOURS = 24
KEY_PATTERN = r"^[\x21-\x7e]{1,255}$"

_HOLD = """
SELECT pg_try_advisory_xact_lock(hashtextextended(w.scope, 0)) AS held
FROM unnest($1::text[]) WITH ORDINALITY AS w (scope, position) ORDER BY w.position
"""

_RECALL = """
SELECT w.position, i.body_digest, i.answer
FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS w (caller, route, key, position)
JOIN plumbing_idempotency i ON (i.caller, i.route, i.key) = (w.caller, w.route, w.key)
WHERE i.created_at > now() - make_interval(hours => $4)
"""

_REMEMBER = """
INSERT INTO plumbing_idempotency AS kept (caller, route, key, body_digest, answer)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $5::bytea[], $6::text[])
ON CONFLICT (caller, route, key) DO UPDATE
SET body_digest = excluded.body_digest, answer = excluded.answer, created_at = now()
WHERE kept.created_at <= now() - make_interval(hours => $4) RETURNING true
"""

IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern=KEY_PATTERN,
        description="1 to 255 printable ASCII characters; a repeat within 24 hours returns the first answer.",
    ),
]


class KeyReused(Invalid):
    """The Idempotency-Key was used for another request body."""

    code = "IDEMPOTENCY_KEY_REUSED"
    sentence = "This Idempotency-Key was already used with a different body."


class KeyInProgress(Invalid):
    """The first request with this Idempotency-Key is still under way."""

    code = "IDEMPOTENCY_KEY_IN_PROGRESS"
    sentence = "The first request with this Idempotency-Key is still in progress."


@dataclass(frozen=True)
class Repeatable:
    """A request that may come again. `body` is JSON-ready."""

    caller: str
    route: str
    key: str
    body: object


async def once(
    database: Database, request: Repeatable | None, use_case: Callable[[Tx], Awaitable[BaseModel]]
) -> Response:
    """Carry out `use_case`, or repeat its answer with `Idempotent-Replayed: true`.

    Raises: KeyReused, KeyInProgress, and what the use case raises.
    """

    async def recalled_or_done(tx: Tx) -> tuple[str, bool]:
        if request is not None and (answer := await recall(tx, request)) is not None:
            return answer, True
        answer = (await use_case(tx)).model_dump_json()
        if request is not None:
            await remember(tx, request, answer)
        return answer, False

    answer, replayed = await database.act(recalled_or_done)
    return answer_once(answer, replayed=replayed)


def answer_once(answer: str, *, replayed: bool) -> Response:
    """The response with a first answer, or with its repetition."""
    headers = {"Idempotent-Replayed": "true"} if replayed else None
    return Response(answer, media_type="application/json", headers=headers)


async def recall(tx: Tx, request: Repeatable) -> str | None:
    """The remembered answer, or None when the request is new; holds the key until the transaction ends.

    Raises: KeyReused, KeyInProgress.
    """
    (found,) = await recall_many(tx, [request])
    if isinstance(found, Invalid):
        raise found
    return found


async def recall_many(tx: Tx, requests: Sequence[Repeatable]) -> list[str | Invalid | None]:
    """As `recall`, for requests of different scopes, in their order; a refusal is returned in its place."""
    # The lock comes first and the reading after it, in a statement of its own: it must see what a rival committed.
    held = await tx.fetch(
        _HOLD, [f"{request.caller}\n{request.route}\n{request.key}" for request in requests]
    )
    rows = await tx.fetch(_RECALL, *_scopes(requests), WINDOW_HOURS)
    remembered = {row["position"]: row for row in rows}
    return [
        _recalled(request, is_held=held[position]["held"], row=remembered.get(position + 1))
        for position, request in enumerate(requests)
    ]


def _recalled(request: Repeatable, *, is_held: bool, row: asyncpg.Record | None) -> str | Invalid | None:
    if not is_held:
        return KeyInProgress()
    if row is None:
        return None
    answer: str = row["answer"]
    return answer if row["body_digest"] == digest(request.body) else KeyReused()


async def remember(tx: Tx, request: Repeatable, answer: str) -> None:
    """Keep the answer beside the effect; a record older than the window gives way."""
    await remember_many(tx, [(request, answer)])


async def remember_many(tx: Tx, answered: Sequence[tuple[Repeatable, str]]) -> None:
    """As `remember`, for requests whose scopes are all different and held by `recall_many`."""
    requests = [request for request, _ in answered]
    digests = [digest(request.body) for request in requests]
    written = await tx.fetch(
        _REMEMBER, *_scopes(requests), WINDOW_HOURS, digests, [answer for _, answer in answered]
    )
    assert len(written) == len(answered), "a held key was written by someone else"


def _scopes(requests: Sequence[Repeatable]) -> tuple[list[str], list[str], list[str]]:
    return (
        [request.caller for request in requests],
        [request.route for request in requests],
        [request.key for request in requests],
    )


async def forget_expired(tx: Tx) -> int:
    """Delete a batch of records past the window; returns how many."""
    rows = await tx.fetch(
        "DELETE FROM plumbing_idempotency WHERE ctid IN (SELECT ctid FROM plumbing_idempotency"
        " WHERE created_at <= now() - make_interval(hours => $1) LIMIT 10000) RETURNING 1",
        WINDOW_HOURS,
    )
    return len(rows)
