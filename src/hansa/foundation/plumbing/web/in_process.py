"""Requests that a door makes within the process, of the service's own routes.

- The application answers them as those of the network: the limits, the checks and the idempotency of the route hold.
- The caller is the one that the door has accepted, without a token; or a token stands in the headers of the call.
- `in_commit` is called in the transaction of a payment, with the id of what pays: what it raises undoes the payment.
"""

from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Annotated, Any, TypeAlias
from urllib.parse import unquote, urlencode

import msgspec
from fastapi import Depends, Request
from starlette.types import Message, Scope

from hansa.foundation.plumbing.process.parameter_binding import found_at_once
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.telemetry.log import REQUEST_ID

from .caller import GIVEN, Agent, Developer

InCommit: TypeAlias = Callable[[Tx, str], Awaitable[None]]

IN_PROCESS = "hansa.in_process"
"""Key of the scope of such a request; the door notes its call for the developer."""
_IN_COMMIT = "hansa.in_commit"
_PASSED_ON = frozenset({b"host", b"x-forwarded-for"})


def _commit_act(request: Request) -> InCommit | None:
    act: InCommit | None = request.scope.get(_IN_COMMIT)
    return act


CommitAct = Annotated[InCommit | None, Depends(found_at_once(_commit_act))]
"""Act of a door in the commit of a payment; None for requests of the network."""


class InnerCall(msgspec.Struct, frozen=True):
    """Request of one route; `path` is percent-encoded, `body` JSON-ready, `key` an Idempotency-Key.

    `headers` are further fields by lower-case name, in ASCII. `is_noted`: it stands in the developer's request log as one of the network.
    """

    method: str
    path: str
    query: Mapping[str, Any] = {}
    body: object = None
    key: str | None = None
    headers: Mapping[str, str] = {}
    is_noted: bool = False


class InnerAnswer(msgspec.Struct, frozen=True):
    """Answer of a route: its status, its fields by lower-case name, and its JSON."""

    status: int
    headers: dict[str, str]
    content: Any

    @property
    def is_refusal(self) -> bool:
        """The request was refused."""
        return self.status >= HTTPStatus.BAD_REQUEST


async def call_within(
    request: Request,
    call: InnerCall,
    caller: Developer | Agent | None,
    in_commit: InCommit | None = None,
) -> InnerAnswer:
    """Carry out a request of this process while `request` waits; without a caller it is anonymous."""
    body = b"" if call.body is None else msgspec.json.encode(call.body)
    scope = _scope_of(request, call)
    if caller is not None:
        scope[GIVEN] = caller
    if in_commit is not None:
        scope[_IN_COMMIT] = in_commit
    status, fields, chunks = 0, {}, []

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
            fields.update(
                {name.decode("latin-1"): value.decode("latin-1") for name, value in message["headers"]}
            )
        else:
            chunks.append(message.get("body", b""))

    try:
        await request.scope["app"](scope, receive, send)
    except Exception:
        # The outermost layer of the framework answers a crash, logs it and raises it again.
        if not status:
            raise
    content = b"".join(chunks)
    return InnerAnswer(status, fields, msgspec.json.decode(content) if content else None)


def _scope_of(request: Request, call: InnerCall) -> Scope:
    outer = request.scope
    headers = [field for field in outer["headers"] if field[0] in _PASSED_ON]
    if (request_id := REQUEST_ID.get()) is not None:
        headers.append((b"x-request-id", request_id))
    if call.body is not None:
        headers.append((b"content-type", b"application/json"))
    if call.key is not None:
        headers.append((b"idempotency-key", call.key.encode("ascii")))
    headers += [(name.encode("ascii"), value.encode("ascii")) for name, value in call.headers.items()]
    return {
        "type": "http",
        "asgi": outer["asgi"],
        "http_version": "1.1",
        "method": call.method,
        "scheme": outer["scheme"],
        "path": unquote(call.path),
        "raw_path": call.path.encode("ascii"),
        "query_string": urlencode(call.query).encode("ascii"),
        "root_path": "",
        "headers": headers,
        "client": outer.get("client"),
        "server": outer.get("server"),
        **({} if call.is_noted else {IN_PROCESS: True}),
    }
