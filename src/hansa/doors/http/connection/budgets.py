"""The budgets of a process: numbers of requests of each kind that are worked on at once.

- Money, search, reads and administration have places of their own: a flood of one kind keeps no other kind out.
- While money moves, the others yield: they are given fewer places, which is a smaller share of the event loop.
- Health checks and metrics need no place, and neither do the other writes: the costly work there waits in queues of its
  own.

Answers that a connection gives without the application: problem documents in the same words.
"""

from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

import msgspec
from fastapi import FastAPI, Request

from hansa.doors.http.admission import Admission
from hansa.doors.http.connection.strict_head import ConnectionRefused
from hansa.doors.http.guard import API_HEADERS, answers_of, request_id_of
from hansa.doors.http.problems import problem
from hansa.foundation.plumbing.process.runtime import Slot
from hansa.foundation.values.errors import Unavailable

RETRY_AFTER_SECONDS = 2
REFUSALS_KEPT = 256
SENTENCE = "Too many requests are waiting; try again shortly."
ADMINISTRATION = "/api/v1/admin/"
MONEY = "/api/v1/teg/"
PROPOSAL = ("POST", "/api/v1/contracts")
SEARCHES = frozenset(
    {
        ("GET", "/api/v1/discover"),
        ("GET", "/api/v1/agent-cards/discover"),
        ("POST", "/api/v1/ard/search"),
        ("POST", "/api/v1/ard/explore"),
    }
)
UNCOUNTED = frozenset({"/livez", "/readyz", "/health", "/metrics"})
# Few enough that those under way together take some milliseconds of the loop.
SEARCH_PLACES, SEARCH_PLACES_BESIDE_MONEY = 64, 2
READ_PLACES, READ_PLACES_BESIDE_MONEY = 128, 16
ADMINISTRATION_PLACES, ADMINISTRATION_PLACES_BESIDE_MONEY = 32, 8


class Admissions(msgspec.Struct, frozen=True):
    """The places for each kind of request."""

    money: Admission = msgspec.field(default_factory=Admission)
    search: Admission = msgspec.field(default_factory=Admission)
    reads: Admission = msgspec.field(default_factory=Admission)
    administration: Admission = msgspec.field(default_factory=Admission)

    @classmethod
    def usual(cls) -> "Admissions":
        """Those of a service."""
        money = Admission()

        def beside(places: int, places_beside: int, *, is_for_reads: bool = False) -> Admission:
            return Admission(places, yields_to=money, places_beside=places_beside, is_for_reads=is_for_reads)

        return cls(
            money,
            search=beside(SEARCH_PLACES, SEARCH_PLACES_BESIDE_MONEY),
            reads=beside(READ_PLACES, READ_PLACES_BESIDE_MONEY, is_for_reads=True),
            administration=beside(ADMINISTRATION_PLACES, ADMINISTRATION_PLACES_BESIDE_MONEY),
        )


class Budgets:
    """Budgets as a connection sees them: the one that a request needs, and the answer when it has no place."""

    def __init__(self, app: FastAPI, direct: Iterable[tuple[str, str]], admissions: Admissions) -> None:
        """`direct` are the method and path of the direct routes."""
        self._app = app
        self._admissions = admissions
        # A proposal of a contract needs no place, as the other acts on contracts.
        self._direct = {
            operation: self._for_direct(*operation) for operation in direct if operation != PROPOSAL
        }
        self._refusals: dict[tuple[str, str], tuple[bytes, bytes]] = {}
        self._refusals_of_others: dict[tuple[str, str], tuple[bytes, bytes]] = {}

    def admission_for(self, method: str, path: str) -> Admission | None:
        """The budget of a request; None when it needs no place."""
        known = self._direct.get((method, path))
        return known if known is not None else self._for_others(method, path)

    def refusal(
        self, method: str, path: str, headers: Iterable[tuple[bytes, bytes]], *, keeps_alive: bool
    ) -> bytes:
        """The whole answer to one request without a place, which counts as answered."""
        is_direct = (method, path) in self._direct
        answers_of(method, path if is_direct else "unmatched", Unavailable.status).inc()
        prepare = self._prepared_for_direct if is_direct else self._prepared_for_others
        head, body = prepare(method, path)
        closing = b"" if keeps_alive else b"connection: close\r\n"
        return b"%bx-request-id: %b\r\n%b\r\n%b" % (
            head,
            request_id_of(headers),
            closing,
            b"" if method == "HEAD" else body,
        )

    def _for_direct(self, method: str, path: str) -> Admission:
        if (method, path) in SEARCHES:
            return self._admissions.search
        return self._admissions.money if path.startswith(MONEY) else self._admissions.reads

    def _for_others(self, method: str, path: str) -> Admission | None:
        if path in UNCOUNTED:
            return None
        if (method, path) in SEARCHES:
            return self._admissions.search
        if path.startswith(ADMINISTRATION):
            return self._admissions.administration
        return self._admissions.reads if method in {"GET", "HEAD"} else None

    def _prepared_for_direct(self, method: str, path: str) -> tuple[bytes, bytes]:
        stored = self._refusals.get((method, path))
        if stored is None:
            stored = self._refusals[method, path] = self._prepared(method, path)
        return stored

    def _prepared_for_others(self, method: str, path: str) -> tuple[bytes, bytes]:
        stored = self._refusals_of_others.get((method, path))
        if stored is None:
            stored = self._prepared(method, path)
            if len(self._refusals_of_others) >= REFUSALS_KEPT:
                self._refusals_of_others.clear()
            self._refusals_of_others[method, path] = stored
        return stored

    def _prepared(self, method: str, path: str) -> tuple[bytes, bytes]:
        retry = {"Retry-After": str(RETRY_AFTER_SECONDS)}
        return prepared(
            self._app,
            method,
            path,
            status=Unavailable.status,
            code=Unavailable.code,
            detail=SENTENCE,
            headers=retry,
        )


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


BUDGETS: Slot[Budgets] = Slot("http: budgets of requests")


def closing_answer(app: Any, method: str, path: str, refused: ConnectionRefused) -> bytes:
    """The whole last answer of a connection."""
    head, body = prepared(app, method, path, status=refused.status, code=refused.code, detail=refused.detail)
    return b"%bx-request-id: %b\r\nconnection: close\r\n\r\n%b" % (head, request_id_of(()), body)
