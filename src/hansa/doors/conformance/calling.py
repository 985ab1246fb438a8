"""HTTP calls of a suite: limits on size and time, no redirects, https except for localhost.

An answer that cannot be read breaks the rule that needs it. A host that accepts no connection ends the suite.
"""

import re
from collections.abc import Mapping
from time import monotonic, sleep
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx2
import msgspec

from hansa.doors.verification.cards import (
    LOOPBACK,
    READ_MAX_BYTES,
    READ_SECONDS,
    CannotRead,
    cause_of,
    is_address,
)
from hansa_verify import NotCanonical, read_json

WAITS_MAX = 5


class Broken(Exception):
    """The implementation does otherwise than a rule says; the message states what was expected and received."""


class Answer(msgspec.Struct, frozen=True):
    """An answer of the implementation, with the name of its request: method and path."""

    name: str
    status: int
    headers: Mapping[str, str]
    content: bytes

    def json(self) -> Any:
        """The content as strict JSON. Raises: Broken."""
        try:
            return read_json(self.content)
        except NotCanonical as error:
            raise Broken(f"{self.name}: the content is no strict JSON: {error}") from None

    def members(self) -> dict[str, Any]:
        """The members of the content, an object. Raises: Broken."""
        content = self.json()
        if not isinstance(content, dict):
            raise Broken(f"{self.name}: the content is no object")
        return content

    def media_type(self) -> str:
        """The media type without its parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


class Host:
    """An implementation by its address. Raises: CannotRead when the address is none of http or https."""

    def __init__(self, url: str) -> None:
        try:
            parts = urlsplit(url)
        except ValueError:
            raise CannotRead(f"URL must start with http:// or https://, got {url!r}") from None
        if not is_address(url) or not parts.hostname:
            raise CannotRead(f"URL must start with http:// or https://, got {url!r}")
        if parts.scheme.lower() != "https" and parts.hostname not in LOOPBACK:
            raise CannotRead(f"{url} is refused: https is required, except for localhost.")
        self.url = url if url.endswith("/") else f"{url}/"

    def call(
        self,
        method: str,
        path: str,
        *,
        json: object = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """The answer to one request, repeated where the host asks to wait. Raises: Broken, CannotRead."""
        sent = {"Cache-Control": "no-cache", **(headers or {})}
        if json is not None:
            content, sent = msgspec.json.encode(json), {"Content-Type": "application/json", **sent}
        name = f"{method} {path.partition('?')[0]}"
        for _ in range(WAITS_MAX):
            answer = self._call_once(name, path, content, sent)
            wait = answer.headers.get("retry-after", "")
            if answer.status != httpx2.codes.TOO_MANY_REQUESTS or not re.fullmatch(r"[0-9]{1,2}", wait):
                break
            sleep(float(wait))
        return answer

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> Answer:
        """The answer to GET. Raises: Broken, CannotRead."""
        return self.call("GET", path, headers=headers)

    def _call_once(self, name: str, path: str, content: bytes | None, sent: Mapping[str, str]) -> Answer:
        address = urljoin(self.url, path.lstrip("/"))
        received, deadline = bytearray(), monotonic() + READ_SECONDS
        try:
            with (
                httpx2.Client(timeout=READ_SECONDS, follow_redirects=False) as http,
                http.stream(name.partition(" ")[0], address, content=content, headers=dict(sent)) as answer,
            ):
                for chunk in answer.iter_bytes():
                    received += chunk
                    if len(received) > READ_MAX_BYTES or monotonic() > deadline:
                        raise Broken(
                            f"{name}: more than {READ_MAX_BYTES} bytes or {READ_SECONDS:.0f} seconds"
                        )
                return Answer(name, answer.status_code, dict(answer.headers), bytes(received))
        except httpx2.ConnectError as error:
            host = urlsplit(self.url).netloc.rpartition("@")[2]
            raise CannotRead(f"cannot connect to {host}: {cause_of(error)}") from None
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            raise Broken(f"{name}: no readable answer: {cause_of(error)}") from None
