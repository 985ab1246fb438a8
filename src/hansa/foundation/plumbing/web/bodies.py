"""The body guard: checks of every JSON or form body before any route sees it.

- Size is capped while reading; depth at 64; no duplicate keys, NaN, infinities, NUL, lone surrogates or numbers of
  thousands of digits; UTF-8 without a byte order mark. Anything else is a 413, 415 or 422 with one sentence.
- The body is parsed once; the route gets the same object.
- The caller is judged, and counted by the limits, before the body is read.
"""

import json
import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from functools import cache, cached_property
from typing import Any

from fastapi import Request, params
from fastapi.responses import Response
from starlette.types import Receive, Scope

from hansa.foundation.plumbing.web.early_authentication import early_dependencies_of
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.values.errors import Invalid, PayloadTooLarge, UnsupportedMediaType
from hansa.foundation.values.money import ExponentNumber

BODY_MAX_BYTES = 1 << 20
CARD_BODY_MAX_BYTES = 2 << 20
STATEMENT_BODY_MAX_BYTES = 4 << 20
DEPTH_MAX = 64
NUMBER_MAX_DIGITS = 64
FORM = "application/x-www-form-urlencoded"

# A string matches even unclosed, so that no input makes the scan start over.
_STRING_OR_BRACKET = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[\]{}]', re.DOTALL)


class BodyInvalid(Invalid):
    """The body is not valid JSON or form data."""

    code = "BODY_INVALID"


class GuardedRequest(Request):
    """A request whose body has passed the guard."""

    def __init__(self, scope: Scope, receive: Receive, body: bytes, parsed: Any) -> None:
        super().__init__(scope, receive)
        self._body = body
        self._json = parsed


class GuardedRoute(LazyRoute):
    """A route behind the body guard; one that takes cards is marked with `takes_cards`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        answer = super().get_route_handler()
        expects_form = self.body_field is not None and isinstance(self.body_field.field_info, params.Form)
        size_max = getattr(self.endpoint, "body_max_bytes", BODY_MAX_BYTES)
        read_fraction = getattr(self.endpoint, "read_fraction", None)

        judges = early_dependencies_of(self.dependant)

        async def guarded(request: Request) -> Response:
            if self.body_field is None:
                return await answer(request)
            for check in judges:
                await check(request, None)
            body = await read_within(request, size_max)
            if not body:
                return await answer(GuardedRequest(request.scope, request.receive, body, None))
            _require_media_type(request, expects_form=expects_form)
            if expects_form:
                _require_clean_form(body)
                return await answer(GuardedRequest(request.scope, _replay(body), body, None))
            return await answer(
                GuardedRequest(request.scope, request.receive, body, parse_json(body, read_fraction))
            )

        return guarded


class WaitingRequest(Request):
    """A request whose body its connection may hold already: `held_body` returns all of it, or None where it has to be received."""

    held_body: Callable[[], bytes | None] | None = None


async def guarded_json(request: Request) -> Any:
    """The JSON body of a request, or None without one. Raises: as the guard."""
    return json_of(request, await read_within(request, BODY_MAX_BYTES))


def held_body(request: Request) -> bytes | None:
    """The body of a request that need not be received, or None. One that is too large is refused where it is received."""
    if not isinstance(request, WaitingRequest) or request.held_body is None:
        return None
    body = request.held_body()
    return body if body is None or len(body) <= BODY_MAX_BYTES else None


def json_of(request: Request, body: bytes) -> Any:
    """The value of the JSON body of a request, None where it is empty. Raises: as the guard."""
    if not body:
        return None
    _require_media_type(request, expects_form=False)
    return parse_json(body)


class JsonText(Response):
    """JSON that is text already; its headers are not worked out anew for each answer."""

    media_type = "application/json"

    def __init__(self, text: str, headers: Sequence[tuple[bytes, bytes]] = ()) -> None:
        self.status_code, self.background = 200, None
        self.body = text.encode()
        self._further = headers

    @cached_property
    def raw_headers(self) -> list[tuple[bytes, bytes]]:  # type: ignore[override]
        """Its header fields, made where they are asked for."""
        length = (b"content-length", b"%d" % len(self.body))
        return [length, (b"content-type", b"application/json"), *self._further]

    def head_lines(self) -> bytes:
        """Its header fields, each with its line end."""
        own = b"content-length: %d\r\ncontent-type: application/json\r\n" % len(self.body)
        # A field that was added stands in the list, which is then there.
        others = self.raw_headers[2:] if "raw_headers" in self.__dict__ else self._further
        return own + b"".join([b"%b: %b\r\n" % field for field in others]) if others else own


def takes_statements(endpoint: Callable[..., Any]) -> Callable[..., Any]:
    """Mark an endpoint whose body may be as large as a contract with its whole history."""
    endpoint.body_max_bytes = STATEMENT_BODY_MAX_BYTES  # type: ignore[attr-defined]
    return endpoint


def takes_cards(endpoint: Callable[..., Any]) -> Callable[..., Any]:
    """Mark an endpoint whose body may be as large as a card, with numbers of which it is known how they are written."""
    endpoint.body_max_bytes = CARD_BODY_MAX_BYTES  # type: ignore[attr-defined]
    endpoint.read_fraction = number_as_written  # type: ignore[attr-defined]
    return endpoint


async def read_within(request: Request, size_max: int) -> bytes:
    """The whole body. Raises: PayloadTooLarge as soon as the limit is passed, BodyInvalid when the sender leaves."""
    declared = request.headers.get("content-length", "")
    if declared.isascii() and declared.isdigit() and int(declared[:20]) > size_max:
        raise PayloadTooLarge(f"The body is larger than {size_max} bytes.")
    chunks: list[bytes] = []
    size, is_complete, receive = 0, False, request.receive
    while not is_complete:
        message = await receive()
        if message["type"] == "http.disconnect":
            # The client is gone; a 4xx keeps its error apart from server errors in logs and metrics.
            raise BodyInvalid("The body ended before it was complete.")
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > size_max:
            raise PayloadTooLarge(f"The body is larger than {size_max} bytes.")
        chunks.append(chunk)
        is_complete = not message.get("more_body", False)
    return b"".join(chunks)


def exact_numbers(endpoint: Callable[..., Any]) -> Callable[..., Any]:
    """Mark an endpoint that gets numbers with a fraction or an exponent digit for digit, as Decimal."""
    endpoint.read_fraction = _bounded_decimal  # type: ignore[attr-defined]
    return endpoint


def parse_json(body: bytes, read_fraction: Callable[[str], Any] | None = None) -> Any:
    """The value of a JSON text that passes the guard. Raises: BodyInvalid."""
    _require_shallow(body)
    try:
        text = body.decode("utf-8")
        value = _decoder(read_fraction or _bounded_float).decode(text)
    except UnicodeDecodeError:
        raise BodyInvalid("The body is not valid UTF-8.") from None
    except json.JSONDecodeError as error:
        raise BodyInvalid(f"The body is not valid JSON: {error.msg} at character {error.pos}.") from None
    if "\\u" in text:
        _require_storable(value)
    return value


@cache
def _decoder(read_fraction: Callable[[str], Any]) -> json.JSONDecoder:
    return json.JSONDecoder(
        object_pairs_hook=_object_without_twins,
        parse_constant=_refuse_constant,
        parse_int=_bounded_int,
        parse_float=read_fraction,
    )


def _require_media_type(request: Request, *, expects_form: bool) -> None:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if expects_form and media_type != FORM:
        raise UnsupportedMediaType(f"This route requires a form body ({FORM}).")
    if not expects_form and not (
        media_type == "application/json"
        or (media_type.startswith("application/") and media_type.endswith("+json"))
    ):
        raise UnsupportedMediaType("This route requires a JSON body (application/json).")


def _require_clean_form(body: bytes) -> None:
    if b"%00" in body or b"\x00" in body:
        raise BodyInvalid("The form contains a NUL character.")
    try:
        body.decode("ascii")
    except UnicodeDecodeError:
        raise BodyInvalid("The form is not percent-encoded ASCII.") from None


def _require_shallow(body: bytes) -> None:
    # Brackets inside strings count too here; only a body with many of them is looked at closely.
    if body.count(b"[") + body.count(b"{") <= DEPTH_MAX:
        return
    depth = 0
    for mark in _STRING_OR_BRACKET.findall(body):
        if mark in b"[{":
            depth += 1
            if depth > DEPTH_MAX:
                raise BodyInvalid(f"The body is nested deeper than {DEPTH_MAX} levels.")
        elif mark in b"]}":
            depth -= 1


def _object_without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise BodyInvalid("The body contains a duplicate member in one object.")
    return members


def _refuse_constant(name: str) -> Any:
    raise BodyInvalid(f"The body contains {name}, which is not JSON.")


def _bounded_int(digits: str) -> int:
    if len(digits) > NUMBER_MAX_DIGITS:
        raise BodyInvalid(f"The body contains a number of more than {NUMBER_MAX_DIGITS} digits.")
    return int(digits)


def _bounded_float(text: str) -> float:
    value = float(text)
    if len(text) > NUMBER_MAX_DIGITS or value in {float("inf"), float("-inf")}:
        raise BodyInvalid("The body contains a number that is out of range.")
    return value


def number_as_written(text: str) -> float:
    """A number with a fraction or an exponent; the latter is an ExponentNumber. Raises: BodyInvalid."""
    value = _bounded_float(text)
    return ExponentNumber(value) if "e" in text or "E" in text else value


def _bounded_decimal(text: str) -> Decimal:
    _bounded_float(text)
    try:
        return Decimal(text)
    except InvalidOperation:
        raise BodyInvalid("The body contains a number that is out of range.") from None


def _require_storable(value: Any) -> None:
    """Refuse characters that escapes can bring in and plain UTF-8 cannot: NUL and lone surrogates. Raises: BodyInvalid."""
    if isinstance(value, str):
        if "\x00" in value:
            raise BodyInvalid("The body contains a NUL character.")
        if any("\ud800" <= character <= "\udfff" for character in value):
            raise BodyInvalid("The body contains an unpaired surrogate.")
    elif isinstance(value, Mapping):
        for name, member in value.items():
            _require_storable(name)
            _require_storable(member)
    elif isinstance(value, list):
        for member in value:
            _require_storable(member)


def _replay(body: bytes) -> Receive:
    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive
