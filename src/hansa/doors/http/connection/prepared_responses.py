"""Answers that a connection gives without the application: problem documents in the same words."""

from http import HTTPStatus
from typing import Any

from fastapi import Request

from hansa.doors.http.connection.strict_head import ConnectionRefused
from hansa.doors.http.guard import API_HEADERS, request_id_of
from hansa.doors.http.problems import problem


def prepared(
    app: Any,
    method: str,
    path: str,
    *,
    status: int,
    code: str,
    detail: str,
    headers: dict[str, str] | None = None,
) -> tuple[bytes, bytes]:
    """A head without its end, and a body."""
    scope = {"type": "http", "app": app, "method": method, "path": path, "query_string": b"", "headers": []}
    answer = problem(Request(scope), status, code, detail, headers=headers)
    lines = b"".join(b"%b: %b\r\n" % header for header in [*answer.raw_headers, *API_HEADERS])
    return f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n".encode() + lines, bytes(answer.body)


def closing_answer(app: Any, method: str, path: str, refused: ConnectionRefused) -> bytes:
    """The whole last answer of a connection."""
    head, body = prepared(app, method, path, status=refused.status, code=refused.code, detail=refused.detail)
    return b"%bx-request-id: %b\r\nconnection: close\r\n\r\n%b" % (head, request_id_of(()), body)
