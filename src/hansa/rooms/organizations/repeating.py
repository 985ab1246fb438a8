"""Requests of a developer that may come again under their Idempotency-Key."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import msgspec
from fastapi import Depends, Request
from fastapi.responses import Response
from pydantic import BaseModel

from hansa.foundation.plumbing.process.runtime import Runtime, runtime_of
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
from hansa.foundation.plumbing.web.sealed_answers import once_sealed

from .records import Acting

DONE, ACCEPTED = 200, 202
_MARKS = frozenset(("area", "scope"))
"""Marks of a caller by which the rights of a route are read."""


class Repeating(msgspec.Struct, frozen=True):
    """Sender, path and key of a request, and the process that serves it."""

    runtime: Runtime
    developer: Developer
    path: str
    key: str | None

    @property
    def acting(self) -> Acting:
        """The sender, as acts record it."""
        return Acting.by(self.runtime, self.developer)

    async def answer(
        self,
        database: Transactions,
        use_case: Callable[[Tx], Awaitable[BaseModel]],
        body: BaseModel | None = None,
        *,
        status: int = 200,
        sealed_for: str | None = None,
    ) -> Response:
        """Carry the request out, or repeat its first answer, which is stored sealed where `sealed_for` names a purpose.

        Raises: KeyReused, KeyInProgress, the errors of the use case; StoredAnswerUnreadable for a sealed answer.
        """
        members = body.model_dump(mode="json") if body else None
        request = (
            None
            if self.key is None
            else Repeatable(f"developer:{self.developer.id}", f"POST {self.path}", self.key, members)
        )
        if sealed_for is None:
            answer = await once(database, request, use_case)
        else:
            answer = await once_sealed(database, request, self.runtime.seal, sealed_for, use_case)
        answer.status_code = status
        return answer


def sent_by(caller: Any) -> Any:
    """A dependency: the request of a developer whom the dependency `caller` admits."""

    @refuses_with(KeyReused, KeyInProgress)
    async def repeating(
        request: Request, developer: Annotated[Developer, caller], key: IdempotencyKey = None
    ) -> Repeating:
        return Repeating(runtime_of(request), developer, request.url.path, key)

    for mark in _MARKS & vars(caller.dependency).keys():
        setattr(repeating, mark, getattr(caller.dependency, mark))
    return Depends(repeating)


def status_of(answer: bytes | memoryview | str, done: int = DONE) -> int:
    """The status of an answer: 202 where it is a request that waits, else that of the act that is done."""
    members = msgspec.json.decode(answer)
    return ACCEPTED if "request_id" in members and members["status"] == "PENDING" else done


def answer_of(answer: BaseModel) -> Response:
    """The response of an act that is done (200), or of its request, which waits for approvals (202)."""
    text = answer.model_dump_json(by_alias=True)
    return Response(text, status_of(text), media_type="application/json")


Sent = Annotated[Repeating, sent_by(developer_acting("orgs:write"))]
