"""One request to a registry, and how its answer is read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Self, TypeVar
from uuid import uuid4

import httpx2
import msgspec

from .errors import AnswerInvalid, Refusal, refusal

T = TypeVar("T")

REDIRECTED, REFUSED = 300, 400
KEY_CHARACTERS_MAX = 255
NOT_READABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
REPEATABLE_METHODS = frozenset({"GET", "HEAD", "PUT", "DELETE"})


def origin_of(url: str) -> str:
    """The base address without a path. Raises: ValueError."""
    try:
        parsed = httpx2.URL(url)
    except httpx2.InvalidURL as error:
        raise ValueError(f"a registry is addressed by an http or https URL, got {url!r}: {error}") from None
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        raise ValueError(f"a registry is addressed by an http or https URL, got {url!r}")
    if parsed.userinfo:
        raise ValueError("the URL of a registry holds no password; pass credentials as such")
    return f"{parsed.scheme}://{parsed.netloc.decode('ascii')}"


def new_key() -> str:
    """An Idempotency-Key for a new intent. Attempts of the same intent share one."""
    return uuid4().hex


def if_version(version: str | None) -> dict[str, str]:
    """The header of a request that replaces the secret with this version and no other; none: whichever there is."""
    return {} if version is None else {"If-Match": f'"{version}"'}


def checked_key(key: str) -> str:
    """The key as it is. Raises: ValueError where no registry would accept it."""
    if not (key.isascii() and key.isprintable() and " " not in key and 0 < len(key) <= KEY_CHARACTERS_MAX):
        raise ValueError(
            f"an idempotency key has 1 to {KEY_CHARACTERS_MAX} visible ASCII characters and no blanks, got {key!r}"
        )
    return key


@dataclass(frozen=True)
class Call:
    """A request; members with the value None are left out of `query`, `json` and `form`."""

    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    json: Any = None
    form: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    key: str | None = None
    is_idempotent: bool = False
    is_without_effect: bool = False
    """A POST that changes nothing that counts, such as a dry run."""
    extra_seconds: float = 0
    """How much longer than usual the registry may take, because it was requested to wait."""

    @property
    def is_repeatable(self) -> bool:
        """Return whether sending it twice has the effect of sending it once."""
        return (
            self.is_idempotent
            or self.key is not None
            or self.is_without_effect
            or self.method in REPEATABLE_METHODS
        )

    @property
    def is_reading(self) -> bool:
        """Return whether it changes nothing."""
        return self.is_without_effect or self.method in {"GET", "HEAD"}

    def arguments(self, token: str | None) -> dict[str, Any]:
        """Return the arguments of the request for the HTTP library."""
        headers = dict(self.headers)
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        if self.key is not None:
            headers["Idempotency-Key"] = checked_key(self.key)
        arguments: dict[str, Any] = {"headers": headers, "params": _stated(self.query)}
        if self.form is not None:
            arguments["data"] = _stated(self.form)
        elif self.json is not None:
            headers["Content-Type"] = "application/json"
            stated = _stated(self.json) if isinstance(self.json, Mapping) else self.json
            arguments["content"] = msgspec.json.encode(stated)
        return arguments


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer of a registry, and the httpx2 response if httpx2 received it."""

    status: int
    headers: Sequence[tuple[bytes, bytes]]
    content: bytes
    """Decoded."""
    received: httpx2.Response | None = None

    @classmethod
    def of(cls, response: httpx2.Response) -> Self:
        """The answer in a response that was read whole."""
        return cls(response.status_code, response.headers.raw, response.content, response)

    def header(self, name: str) -> str | None:
        """The value of a header."""
        return self.response().headers.get(name)

    def response(self) -> httpx2.Response:
        """The same as httpx2 has it."""
        return self.received or httpx2.Response(self.status, headers=list(self.headers), content=self.content)


def read_answer(content: bytes, shape: type[T], call: Call) -> T:
    """The body of a success. Raises: AnswerInvalid."""
    try:
        return msgspec.json.decode(content, type=shape)
    except NOT_READABLE as error:
        raise AnswerInvalid(
            f"{call.method} {call.path} did not return the documented shape: {error}"
        ) from error


def read_redirection(answer: Answer, call: Call) -> AnswerInvalid:
    """The client follows no redirection: it would send the credentials elsewhere."""
    target = answer.header("Location") or "an address that it does not name"
    return AnswerInvalid(
        f"{call.method} {call.path} was redirected to {target}: use the address that the registry itself has"
    )


def read_refusal(answer: Answer) -> Refusal:
    """The refusal that an answer carries; one without a problem document has the code `HTTP_<status>`."""
    try:
        members = msgspec.json.decode(answer.content)
    except NOT_READABLE:
        members = {}
    return refusal(
        answer.status,
        members if isinstance(members, dict) else {},
        retry_after_seconds=_retry_after_seconds(answer.header("Retry-After")),
    )


def _stated(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def _retry_after_seconds(header: str | None) -> float | None:
    if header is None:
        return None
    if header.isascii() and header.isdecimal():
        return float(header)
    try:
        timestamp = parsedate_to_datetime(header)
    except ValueError:
        return None
    return max(0.0, (timestamp.astimezone(UTC) - datetime.now(UTC)).total_seconds())
