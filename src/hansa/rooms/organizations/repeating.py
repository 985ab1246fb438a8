"""Requests of a developer that may come again under their Idempotency-Key."""

from collections.abc import Awaitable, Callable
from typing import Annotated

import msgspec
from fastapi import Depends, Request
from fastapi.responses import Response
from pydantic import BaseModel

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Developer, developer_acting
from hansa.foundation.plumbing.web.idempotency import (
    IdempotencyKey,
    KeyInProgress,
    KeyReused,
    Repeatable,
    Transactions,
    once,
)
from hansa.foundation.plumbing.web.problem_docs import refuses_with


class Repeating(msgspec.Struct, frozen=True):
    """Sender, path and key of a request."""

    developer: Developer
    path: str
    key: str | None

    async def answer(
        self,
        database: Transactions,
        use_case: Callable[[Tx], Awaitable[BaseModel]],
        body: BaseModel | None = None,
        *,
        status: int = 200,
    ) -> Response:
        """Carry the request out, or repeat its first answer. Raises: KeyReused, KeyInProgress, and the errors of the use case."""
        members = body.model_dump(mode="json") if body else None
        request = (
            None
            if self.key is None
            else Repeatable(f"developer:{self.developer.id}", f"POST {self.path}", self.key, members)
        )
        answer = await once(database, request, use_case)
        answer.status_code = status
        return answer


@refuses_with(KeyReused, KeyInProgress)
async def _repeating(
    request: Request,
    developer: Annotated[Developer, developer_acting("orgs:write")],
    key: IdempotencyKey = None,
) -> Repeating:
    return Repeating(developer, request.url.path, key)


Sent = Annotated[Repeating, Depends(_repeating)]
