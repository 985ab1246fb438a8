"""Answers with secrets that are stored under an Idempotency-Key: sealed, and under that key as well."""

from base64 import b64decode, b64encode
from collections.abc import Awaitable, Callable

from fastapi.responses import Response
from pydantic import BaseModel

from hansa.foundation.plumbing.keys.seal import BadSeal, Seal
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.errors import Invalid

from .idempotency import Repeatable, Transactions, answer_once, recall, remember


class StoredAnswerUnreadable(Invalid):
    """The answer stored under this Idempotency-Key was sealed under a key that the registry does not have any more."""

    code = "IDEMPOTENCY_ANSWER_UNREADABLE"
    sentence = "The answer under this Idempotency-Key can no longer be read; use a new key."


def sealed_answer(seal: Seal, key: str, answer: str, purpose: str) -> str:
    """Return an answer as it is stored under the key of its request."""
    return b64encode(seal.close_under(key, answer.encode(), purpose)).decode()


def opened_answer(seal: Seal, key: str, stored: str, purpose: str) -> str:
    """Return a stored answer. Raises: StoredAnswerUnreadable."""
    try:
        return seal.open_under(key, b64decode(stored), purpose).decode()
    # An answer that an earlier version stored in clear is no Base64.
    except (BadSeal, ValueError):
        raise StoredAnswerUnreadable from None


async def recall_sealed(tx: Tx, request: Repeatable, seal: Seal, purpose: str) -> str | None:
    """Return the remembered answer like `recall`. Raises: KeyReused, KeyInProgress, StoredAnswerUnreadable."""
    stored = await recall(tx, request)
    return None if stored is None else opened_answer(seal, request.key, stored, purpose)


async def remember_sealed(tx: Tx, request: Repeatable, seal: Seal, answer: str, purpose: str) -> None:
    """Store the answer like `remember`."""
    await remember(tx, request, sealed_answer(seal, request.key, answer, purpose))


async def once_sealed(
    database: Transactions,
    request: Repeatable | None,
    seal: Seal,
    purpose: str,
    use_case: Callable[[Tx], Awaitable[BaseModel]],
) -> Response:
    """Carry out `use_case` like `once`, whose answer has secrets.

    Raises: KeyReused, KeyInProgress, StoredAnswerUnreadable, and the errors of the use case.
    """

    async def recalled_or_done(tx: Tx) -> tuple[str, bool]:
        if request is not None and (known := await recall_sealed(tx, request, seal, purpose)) is not None:
            return known, True
        answer = (await use_case(tx)).model_dump_json()
        if request is not None:
            await remember_sealed(tx, request, seal, answer, purpose)
        return answer, False

    answer, replayed = await database.transaction(recalled_or_done)
    return answer_once(answer, replayed=replayed)
