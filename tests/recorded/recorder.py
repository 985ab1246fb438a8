"""Sends requests to a registry and keeps each one with its answer, without the values that differ from run to run."""

import json
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2

from hansa.foundation.values.errors import Refused
from tests.recorded.placeholders import Placeholders
from tests.registry import TestRegistry

# Answer headers that are recorded, unless they have their usual value.
HEADERS = (
    "allow",
    "cache-control",
    "content-disposition",
    "content-type",
    "etag",
    "idempotent-replayed",
    "link",
    "location",
    "ratelimit-limit",
    "ratelimit-policy",
    "vary",
    "www-authenticate",
)
USUAL = {"cache-control": "no-store", "content-type": "application/json"}
# Request headers with a credential; the record names the caller instead.
CREDENTIALS = ("authorization", "bootstrap-token", "x-internal-key", "x-federation-license")


@dataclass(frozen=True)
class Caller:
    """Somebody who sends requests, by a name that the record shows."""

    name: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RecordedAgent(Caller):
    """An agent with a token, and the answer that created it."""

    did: str = ""
    created: Mapping[str, Any] = field(default_factory=dict)


ANYONE = Caller("anyone")


class Recorder:
    """One conversation with a registry: its lines, and the placeholders that they share."""

    def __init__(self, registry: TestRegistry) -> None:
        self.registry = registry
        self.lines: list[dict[str, Any]] = []
        self.placeholders = Placeholders()
        self._masked: frozenset[str] = frozenset()
        self._hidden: dict[str, str] = {}

    async def ask(
        self,
        method: str,
        path: str,
        by: Caller = ANYONE,
        *,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
        **body: Any,
    ) -> httpx2.Response:
        """Send one request and keep it with its answer. `path` is below /api/v1 unless it begins with two slashes."""
        path = path[1:] if path.startswith("//") else f"/api/v1{path}"
        shown = {**(headers or {}), **({"Idempotency-Key": key} if key else {})}
        number = len(self.lines) + 1
        sent = {
            "User-Agent": "recorder",
            # Each request comes from an address of its own, past the limits per address.
            "X-Forwarded-For": f"198.18.{number // 250}.{number % 250}",
            **by.headers,
            **shown,
        }
        answer = await self.registry.http.request(method, path, headers=sent, **body)
        asked = {
            "request": f"{method} {path}",
            "by": by.name,
            "headers": {
                name: self._sent(value) for name, value in shown.items() if name.lower() not in CREDENTIALS
            },
            **{name: self._sent(value) for name, value in body.items()},
        }
        answered = {"answer headers": _headers(answer), "body": self._body(answer)}
        self._keep(
            {name: value for name, value in asked.items() if value not in (None, {}, "")},
            {"status": answer.status_code, **{name: value for name, value in answered.items() if value}},
        )
        return answer

    def note(self, name: str, outcome: Any) -> None:
        """Keep the outcome of a use case that was not called by a request: a JSON value, or its refusal."""
        if isinstance(outcome, Refused):
            refused = {"refused": outcome.code, "detail": outcome.detail, "context": outcome.context}
            self._keep({"use case": name}, refused)
        else:
            self._keep({"use case": name}, {"outcome": outcome})

    @contextmanager
    def masking(self, *members: str) -> Any:
        """Within it, these members of answers are kept as a mask: they grow with each second."""
        before, self._masked = self._masked, self._masked | set(members)
        yield
        self._masked = before

    @contextmanager
    def hiding(self, value: str, shown: str) -> Any:
        """Within it, requests that hold this value are kept with `shown` in its place."""
        self._hidden[value] = shown
        yield
        del self._hidden[value]

    def _keep(self, asked: dict[str, Any], answered: dict[str, Any]) -> None:
        line = {"n": len(self.lines) + 1, **self.placeholders.replace(asked)}
        self.lines.append({**line, **self.placeholders.replace(answered)})

    def _sent(self, value: Any) -> Any:
        if isinstance(value, bytes):
            return value.decode("utf-8", "backslashreplace")
        if isinstance(value, dict):
            return {name: self._sent(member) for name, member in value.items()}
        return self._hidden.get(value, value) if isinstance(value, str) else value

    def _body(self, answer: httpx2.Response) -> Any:
        media_type = answer.headers.get("content-type", "")
        if not answer.content:
            return None
        if "json" not in media_type:
            return answer.text
        document = json.loads(answer.text)
        # Kept as a document only where that loses nothing.
        if json.dumps(document, separators=(",", ":"), ensure_ascii=False) != answer.text:
            return answer.text
        return self._mask(document)

    def _mask(self, value: Any) -> Any:
        if not self._masked:
            return value
        if isinstance(value, list):
            return [self._mask(item) for item in value]
        if isinstance(value, dict):
            return {
                name: "<masked>" if name in self._masked else self._mask(member)
                for name, member in value.items()
            }
        return value


def _headers(answer: httpx2.Response) -> dict[str, str]:
    return {
        name: answer.headers[name]
        for name in HEADERS
        if name in answer.headers and answer.headers[name] != USUAL.get(name)
    }
