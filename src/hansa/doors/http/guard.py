"""Guard of every request: an id, hostile paths refused, security headers, metrics and one log line."""

import re
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping, Sequence
from functools import cache
from http import HTTPStatus
from random import Random
from typing import Any

import msgspec
from prometheus_client import Counter, Histogram
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hansa.doors.http.direct_request import (
    HELD_BODY,
    SEND_WHOLE,
    DirectRequest,
    HeldBody,
    SendWhole,
    first_fields,
)
from hansa.doors.http.problems import WITHOUT_HEAD, answered, problem
from hansa.foundation.plumbing.process.runtime import RUNTIME, Runtime
from hansa.foundation.plumbing.telemetry.log import REQUEST_ID
from hansa.foundation.plumbing.telemetry.metrics import request_seconds, requests_total, requests_under_way
from hansa.foundation.plumbing.telemetry.request_log import RequestLine, request_log
from hansa.foundation.plumbing.telemetry.tracing import TRACE, tracing
from hansa.foundation.plumbing.web.bodies import JsonText
from hansa.foundation.plumbing.web.caller import CALLER, Agent, Developer
from hansa.foundation.plumbing.web.direct import DirectMember, DirectTree
from hansa.foundation.plumbing.web.in_process import IN_PROCESS
from hansa.rooms import operations, people

_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}", re.ASCII)
TARGET_MAX_CHARACTERS = 8192
# What follows is one name, and such names may hold slashes.
NAMES_WITH_SLASHES = (
    b"/api/v1/agent-cards/id/",
    b"/api/v1/ard/agents/",
    b"/api/v1/admin/federation/peers/",
    b"/v0.1/servers/",
    b"/federation/peers/",
)
ERRORS_OF_THE_SERVICE = ("500", "503")
METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}
API_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cache-control", b"no-store"),
]

_API_LINES = b"".join(b"%b: %b\r\n" % field for field in API_HEADERS)

Handler = Callable[[Request], Awaitable[Response]]

# Seeded anew in each process. Ids only have to differ, they guard nothing.
_ids = Random()  # noqa: S311


class DirectPath(msgspec.Struct, frozen=True):
    """Path of a route for the metrics."""

    path: str


class RequestGuard:
    """The outermost layer. A request target with NUL, bad UTF-8 or an encoded slash is refused before anything reads it.

    Direct routes (`direct`: method and path → handler; `members`: those with a parameter; `trees`: those below a prefix) are answered from
    here: nothing that the framework does before them is needed, and it costs more than they do.
    """

    def __init__(
        self,
        app: ASGIApp,
        direct: Mapping[tuple[str, str], Handler],
        members: Mapping[tuple[str, str, str], DirectMember],
        trees: Sequence[DirectTree],
    ) -> None:
        self._app = app
        self._direct, self._members, self._trees = direct, members, trees

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # Taken out, since they hold the exchange that holds the scope: a ring would wait for the garbage collector.
        send_whole: SendWhole | None = scope.pop(SEND_WHOLE, None)
        held_body: HeldBody | None = scope.pop(HELD_BODY, None)
        method = scope["method"]
        if method == "HEAD" and scope["path"] not in WITHOUT_HEAD:
            # The server sends no body of an answer to HEAD.
            scope = {**scope, "method": "GET"}
        first = first_fields(scope["headers"])
        request_id = own_or_new_id(first.get(b"x-request-id"))
        token = tracing.begin_request(first.get(b"traceparent")) if tracing.is_on else None
        started, status = time.perf_counter(), 500
        requests_under_way.inc()
        # The server runs each request in a context of its own, which ends with it.
        REQUEST_ID.set(request_id)
        try:
            answer: ASGIApp = self._app
            if (error := _target_trouble(scope)) is not None:
                answer = problem(Request(scope, receive), 400, "BAD_REQUEST", error)
            elif (handler := self._direct_handler(scope)) is not None:
                answer = response = await answered(handler, DirectRequest(scope, receive, first, held_body))
                if _was_sent_whole(send_whole, response, request_id):
                    status = response.status_code
                    return
            # Behind what most direct routes need: to make a function costs as much as to call one.
            headers = [*API_HEADERS, (b"x-request-id", request_id)]

            async def send_with_headers(message: Message) -> None:
                nonlocal status
                if message["type"] == "http.response.start":
                    status = message["status"]
                    _add_headers(message, headers)
                await send(message)

            await answer(scope, receive, send_with_headers)
        finally:
            requests_under_way.dec()
            seconds, key = time.perf_counter() - started, first.get(b"idempotency-key")
            _record(method, scope, status, seconds, request_id=request_id, key=key)
            if token is not None:
                tracing.end_request(token, method, _route_of(scope), status)

    def _direct_handler(self, scope: Scope) -> Handler | None:
        """The handler of a direct route, which is noted in the scope."""
        if (handler := self._direct.get((scope["method"], scope["path"]))) is not None:
            scope["route"] = DirectPath(scope["path"])
            return handler
        if (found := self._member_of(scope) or self._tree_of(scope)) is not None:
            route, value = found
            scope["route"] = DirectPath(route.path)
            scope["path_params"] = {route.name: value}
            return route.handler
        return None

    def _member_of(self, scope: Scope) -> tuple[DirectMember, str] | None:
        before, _, end = scope["path"].rpartition("/")
        before, _, value = before.rpartition("/")
        member = self._members.get((scope["method"], before, end))
        return (member, value) if member is not None and value else None

    def _tree_of(self, scope: Scope) -> tuple[DirectTree, str] | None:
        for tree in self._trees:
            if (value := tree.value_in(scope["method"], scope["path"])) is not None:
                return tree, value
        return None


def _was_sent_whole(send_whole: SendWhole | None, response: Response, request_id: bytes) -> bool:
    """Send a JSON answer with one write, where the connection does that; its fields are those of every other answer."""
    if send_whole is None or type(response) is not JsonText or response.status_code != HTTPStatus.OK:
        return False
    head = b"%b%bx-request-id: %b\r\n" % (response.head_lines(), _API_LINES, request_id)
    return send_whole(head, bytes(response.body))


def request_id_of(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """The client's own, where it is harmless, else a new one."""
    return own_or_new_id(next((value for name, value in headers if name == b"x-request-id"), None))


def own_or_new_id(own: bytes | None) -> bytes:
    """The id of a request: its `own`, where it is harmless, else a new one."""
    return own if own is not None and _REQUEST_ID.fullmatch(own) else b"%032x" % _ids.getrandbits(128)


def _target_trouble(scope: Scope) -> str | None:
    target: bytes = scope.get("raw_path", b"") + b"?" + scope.get("query_string", b"")
    if len(target) > TARGET_MAX_CHARACTERS:
        return f"The path and query are longer than {TARGET_MAX_CHARACTERS} characters."
    if b"%" in target:
        decoded = re.sub(rb"%([0-9a-fA-F]{2})", lambda match: bytes([int(match[1], 16)]), target)
        if b"\x00" in decoded:
            return "The path or query contains a NUL character."
        try:
            decoded.decode("utf-8")
        except UnicodeDecodeError:
            return "The path or query is not valid UTF-8."
        path = scope.get("raw_path", b"")
        # Decoded, it would name another route than it does to a proxy.
        if b"%2f" in path.lower() and not path.startswith(NAMES_WITH_SLASHES):
            return "The path holds an encoded slash (%2F)."
    # The pattern of a route does not see it: the path would pass for the one without.
    if scope["path"].endswith("\n"):
        return "The path ends with a line feed."
    return None


def _add_headers(message: Message, headers: list[tuple[bytes, bytes]]) -> None:
    present = {name for name, _ in message["headers"]}
    message["headers"] = [*message["headers"], *(header for header in headers if header[0] not in present)]


def _record(
    method: str,
    scope: MutableMapping[str, Any],
    status: int,
    seconds: float,
    *,
    request_id: bytes,
    key: bytes | None,
) -> None:
    route = _route_of(scope)
    # From a short list, however odd the request.
    method = method if method in METHODS else "other"
    answers_of(method, route, status).inc()
    _took(method, route).observe(seconds)
    raw_path: bytes = scope.get("raw_path", b"")
    trace = TRACE.get() if tracing.is_on else None
    trace_id = None if trace is None else trace.trace_id
    line = RequestLine(time.time(), method, raw_path, route, status, seconds, request_id, trace_id)
    request_log.add(line)
    if (caller := scope.get(CALLER)) is not None and IN_PROCESS not in scope:
        _note_call(scope[RUNTIME], caller, line, key)


def _route_of(scope: MutableMapping[str, Any]) -> str:
    route: str = getattr(scope.get("route"), "path", "unmatched")
    return route


def _note_call(runtime: Runtime, caller: Developer | Agent, line: RequestLine, key: bytes | None) -> None:
    """Note a call for the developer who asked, or whose agent did, and count that of an agent."""
    developer_id, did = (caller.developer_id, caller.did) if isinstance(caller, Agent) else (caller.id, None)
    if did is not None:
        operations.NOTED.of(runtime).note_request(did, line.at, line.status)
    people.CALLS.of(runtime).note(developer_id, people.Call(did, line, key))


# Finding a labelled counter costs several times what counting does.
@cache
def answers_of(method: str, route: str, status: int) -> Counter:
    """How many requests were answered so.

    With the first answer of a route its errors of the service begin at 0, so that an alert sees the first of them.
    """
    for error in ERRORS_OF_THE_SERVICE:
        requests_total.labels(method, route, error)
    return requests_total.labels(method, route, str(status))


@cache
def _took(method: str, route: str) -> Histogram:
    return request_seconds.labels(method, route)
