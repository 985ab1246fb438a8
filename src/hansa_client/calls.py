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

REFUSED = 400
REPEATABLE_METHODS = frozenset({"GET", "HEAD", "PUT", "DELETE"})


def origin_of(url: str) -> str:
    """The base address without a path. Raises: ValueError."""
    parsed = httpx2.URL(url)
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        raise ValueError(f"a registry is addressed by an http or https URL, got {url!r}")
    if parsed.userinfo:
        raise ValueError("the URL of a registry holds no password; pass credentials as such")
    return f"{parsed.scheme}://{parsed.netloc.decode('ascii')}"


def new_key() -> str:
    """An Idempotency-Key for a new intent. Attempts of the same intent share one."""
    return uuid4().hex


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
    extra_seconds: float = 0
    """How much longer than usual the registry may take, because it was requested to wait."""

    @property
    def is_repeatable(self) -> bool:
        """Whether sending it twice has the effect of sending it once."""
        return self.is_idempotent or self.key is not None or self.method in REPEATABLE_METHODS

    @property
    def is_reading(self) -> bool:
        """Whether it changes nothing."""
        return self.method in {"GET", "HEAD"}

    def arguments(self, token: str | None) -> dict[str, Any]:
        """What the HTTP library sends."""
        headers = dict(self.headers)
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        if self.key is not None:
            headers["Idempotency-Key"] = self.key
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
    """What a registry answered, as it was sent, and where httpx2 received it as it has it."""

    status: int
    headers: Sequence[tuple[bytes, bytes]]
    body: bytes
    received: httpx2.Response | None = None

    @classmethod
    def of(cls, response: httpx2.Response) -> Self:
        """The answer in a response that was read whole."""
        return cls(response.status_code, response.headers.raw, response.content, response)

    @property
    def content(self) -> bytes:
        """The body, decoded."""
        if self.received is None and any(name.lower() == b"content-encoding" for name, _ in self.headers):
            return self.response().content
        return self.body

    def response(self, request: httpx2.Request | None = None) -> httpx2.Response:
        """The same as httpx2 has it."""
        return self.received or httpx2.Response(
            self.status, headers=list(self.headers), content=self.body, request=request
        )


def read_answer(content: bytes, shape: type[T], call: Call) -> T:
    """The body of a success. Raises: AnswerInvalid."""
    try:
        return msgspec.json.decode(content, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError) as trouble:
        raise AnswerInvalid(
            f"{call.method} {call.path} did not return the documented shape: {trouble}"
        ) from trouble


def read_refusal(answer: Answer) -> Refusal:
    """The refusal that an answer carries; one without a problem document has the code `HTTP_<status>`."""
    try:
        members = msgspec.json.decode(answer.content)
    except (msgspec.DecodeError, UnicodeDecodeError):
        members = {}
    return refusal(
        answer.status,
        members if isinstance(members, dict) else {},
        retry_after_seconds=_retry_after_seconds(answer.response().headers.get("Retry-After")),
    )


def _stated(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def _retry_after_seconds(header: str | None) -> float | None:
    if header is None:
        return None
    if header.isascii() and header.isdecimal():
        return float(header)
    try:
        moment = parsedate_to_datetime(header)
    except ValueError:
        return None
    return max(0.0, (moment.astimezone(UTC) - datetime.now(UTC)).total_seconds())
