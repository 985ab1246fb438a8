"""What the guard does for direct routes in place of the framework: header fields by name, and answers in one piece."""

from collections.abc import Callable
from typing import Any, TypeAlias

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import Receive, Scope

SendWhole: TypeAlias = Callable[[bytes, bytes], bool]
"""Sends the fields of a head with status 200, each with its line end, and a body; returns False where it sent nothing."""

SEND_WHOLE = "hansa.send_whole"
"""Where the scope of a request has a `SendWhole`, if its connection gives one."""


class IndexedHeaders(Headers):
    """The header fields of one request, which are asked for by name several times."""

    def __init__(self, fields: list[tuple[bytes, bytes]]) -> None:
        super().__init__(raw=fields)
        self._first: dict[str, bytes] = {}
        for name, value in fields:
            self._first.setdefault(name.decode("latin-1"), value)

    def __getitem__(self, name: str) -> str:
        return self._first[name.lower()].decode("latin-1")

    def __contains__(self, name: Any) -> bool:
        return name.lower() in self._first

    def get(self, name: str, default: Any = None) -> Any:
        """The first field of this name, or `default`."""
        value = self._first.get(name.lower())
        return default if value is None else value.decode("latin-1")


class DirectRequest(Request):
    """A request to a direct route."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        super().__init__(scope, receive)
        self._headers = IndexedHeaders(scope["headers"])
