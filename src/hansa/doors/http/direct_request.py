"""Work of the guard for direct routes in place of the framework: header fields by name, and answers in one piece."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

from starlette.datastructures import Headers
from starlette.types import Receive, Scope

from hansa.foundation.plumbing.web.bodies import WaitingRequest

SendWhole: TypeAlias = Callable[[bytes, bytes], bool]
"""Sends the fields of a head with status 200, each with its line end, and a body; returns False where it sent nothing."""

# The names that routes ask for; none comes from a request.
NAMES_KEPT = 256

HeldBody: TypeAlias = Callable[[], bytes | None]
"""The body that a connection holds; None where more of it comes, its sender is gone, or waits for `100 Continue`."""

SEND_WHOLE, HELD_BODY = "hansa.send_whole", "hansa.held_body"
"""Keys of the scope of a request that has a `SendWhole` and a `HeldBody`, if its connection gives them."""


def first_fields(fields: list[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """The first field of each name."""
    return dict(reversed(fields))


@lru_cache(maxsize=NAMES_KEPT)
def _in_bytes(name: str) -> bytes:
    return name.lower().encode("latin-1")


class IndexedHeaders(Headers):
    """The header fields of one request, which are asked for by name several times; `first` is the first of each name."""

    def __init__(self, fields: list[tuple[bytes, bytes]], first: dict[bytes, bytes]) -> None:
        self._list = fields
        self._first = first

    def __getitem__(self, name: str) -> str:
        return self._first[_in_bytes(name)].decode("latin-1")

    def __contains__(self, name: Any) -> bool:
        return _in_bytes(name) in self._first

    def getlist(self, name: str) -> list[str]:
        """All fields of this name."""
        wanted = _in_bytes(name)
        return [value.decode("latin-1") for field, value in self._list if field == wanted]

    def get(self, name: str, default: Any = None) -> Any:
        """The first field of this name, or `default`."""
        value = self._first.get(_in_bytes(name))
        return default if value is None else value.decode("latin-1")


class DirectRequest(WaitingRequest):
    """A request to a direct route."""

    def __init__(
        self, scope: Scope, receive: Receive, first: dict[bytes, bytes], held_body: HeldBody | None
    ) -> None:
        super().__init__(scope, receive)
        self._headers = IndexedHeaders(scope["headers"], first)
        self.held_body = held_body
