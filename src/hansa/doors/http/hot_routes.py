"""What a connection knows of the hot routes: the admission to them, and how one is told that there is no place."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from fastapi import FastAPI

from hansa.doors.http.admission import Admission
from hansa.doors.http.guard import answers_of, request_id_of
from hansa.doors.http.ready_answers import prepared
from hansa.foundation.words.errors import Unavailable

RETRY_AFTER_SECONDS = 2
SENTENCE = "Too many requests are waiting; try again shortly."


@dataclass(frozen=True)
class HotRoutes:
    """The hot routes of an application, each with the answer to a request for which there is no place."""

    refusals: dict[tuple[str, str], tuple[bytes, bytes]]
    """By method and path: the head without its end, and the body."""
    admission: Admission = field(default_factory=Admission)

    @classmethod
    def of(cls, app: FastAPI, routes: Iterable[tuple[str, str]]) -> "HotRoutes":
        """Those with these methods and paths."""
        return cls({(method, path): _refusal(app, method, path) for method, path in routes})

    def refusal(
        self, method: str, path: str, headers: Iterable[tuple[bytes, bytes]], *, keeps_alive: bool
    ) -> bytes:
        """The whole answer to one request, which counts as answered."""
        answers_of(method, path, Unavailable.status).inc()
        head, body = self.refusals[method, path]
        closing = b"" if keeps_alive else b"connection: close\r\n"
        return b"%bx-request-id: %b\r\n%b\r\n%b" % (head, request_id_of(headers), closing, body)


def _refusal(app: FastAPI, method: str, path: str) -> tuple[bytes, bytes]:
    retry = {"Retry-After": str(RETRY_AFTER_SECONDS)}
    return prepared(
        app,
        method,
        path,
        status=Unavailable.status,
        code=Unavailable.code,
        detail=SENTENCE,
        headers=retry,
    )
