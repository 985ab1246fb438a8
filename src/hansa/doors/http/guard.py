"""What surrounds every request: an id, hostile paths refused, security headers, metrics and one log line."""

import re
import time
from collections.abc import MutableMapping
from typing import Any
from uuid import uuid4

import structlog
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hansa.doors.http.problems import problem
from hansa.foundation.plumbing.metrics import request_seconds, requests_total, requests_under_way

REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
TARGET_MAX_CHARACTERS = 8192
API_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cache-control": "no-store",
}

_log = structlog.get_logger()


class RequestGuard:
    """The outermost layer. A request target with NUL or bad UTF-8 is refused before anything reads it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        given = request.headers.get("x-request-id", "")
        request_id = given if REQUEST_ID.fullmatch(given) else uuid4().hex
        started, status = time.perf_counter(), 500

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                _add_headers(message, {**API_HEADERS, "x-request-id": request_id})
            await send(message)

        with (
            structlog.contextvars.bound_contextvars(request_id=request_id),
            requests_under_way.track_inprogress(),
        ):
            try:
                if (trouble := _target_trouble(scope)) is None:
                    await self._app(scope, receive, send_with_headers)
                else:
                    refusal = problem(request, 400, "BAD_REQUEST", trouble)
                    await refusal(scope, receive, send_with_headers)
            finally:
                _record(scope, status, time.perf_counter() - started)


def _target_trouble(scope: Scope) -> str | None:
    target: bytes = scope.get("raw_path", b"") + b"?" + scope.get("query_string", b"")
    if len(target) > TARGET_MAX_CHARACTERS:
        return f"The path and query are longer than {TARGET_MAX_CHARACTERS} characters."
    if b"%" in target:
        decoded = re.sub(rb"%([0-9a-fA-F]{2})", lambda match: bytes([int(match[1], 16)]), target)
        if b"\x00" in decoded:
            return "The path or query holds a NUL character."
        try:
            decoded.decode("utf-8")
        except UnicodeDecodeError:
            return "The path or query is not valid UTF-8."
    return None


def _add_headers(message: Message, headers: MutableMapping[str, str]) -> None:
    present = {name for name, _ in message["headers"]}
    message["headers"] = [
        *message["headers"],
        *((name.encode(), value.encode()) for name, value in headers.items() if name.encode() not in present),
    ]


def _record(scope: MutableMapping[str, Any], status: int, seconds: float) -> None:
    route = getattr(scope.get("route"), "path", "unmatched")
    method = (
        scope["method"] if scope["method"] in {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} else "other"
    )
    requests_total.labels(method, route, str(status)).inc()
    request_seconds.labels(method, route).observe(seconds)
    _log.debug("request", method=method, route=route, status=status, milliseconds=round(seconds * 1000, 1))
