"""Entity tags: a client that has the answer already gets a 304; a client that would overwrite an unread state is refused.

- A tag is strong (RFC 9110, 8.8.1): it holds a hash of the answer's bytes, so two answers with one tag are the same
  answer, and a 304 hides nothing.
- The tag of a document that can be changed says before a point which state it shows, and after it which of the answers of that state
  it is: a response may also contain other records of the registry. If-None-Match is judged by the whole tag. If-Match is
  there against lost updates (RFC 9110, 13.1.1) and is judged by the state alone, since no write can lose the rest. A weak
  tag matches no write, as the RFC wants it.
- A secret has a version, which the object that holds it shows. A request that replaces the secret may name it as a tag in
  If-Match: a second replacement then cannot end a secret that its sender has not seen.
"""

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Annotated, Any

from fastapi import Depends, Header, Request
from fastapi.responses import Response

from hansa.foundation.values.errors import Refused

HEX_DIGITS = 32
STATE_ENDS = "."
HEADERS: dict[str, Any] = {
    "ETag": {"description": "The strong tag of this answer.", "schema": {"type": "string"}}
}
TAGGED: dict[int | str, dict[str, Any]] = {
    304: {"description": "The reader has this answer already (If-None-Match).", "headers": HEADERS}
}

_TAG = re.compile(r'(W/)?("[\x21\x23-\x7e\x80-\xff]*")')


_PASSED_VERSION = "The secret was replaced after you read its version; nothing was changed by this request. Read the version again."


class PreconditionFailed(Refused):
    """The resource does not match If-Match: it was changed after you read it."""

    status = 412
    code = "PRECONDITION_FAILED"
    sentence = "The resource was changed after you read it: read it again, then repeat the request."
    remedy = "Read the resource again, apply the change to what it is now, and send the new ETag in If-Match."


def tagged(
    request: Request,
    body: bytes,
    *,
    state: str | None = None,
    media_type: str = "application/json",
    headers: Mapping[str, str] | None = None,
) -> Response:
    """The answer with its tag, or a 304 for who has it. Caches keep it and ask each time.

    `state` names whatever a write with If-Match could lose: another text for each other state.
    """
    tag = f'"{_hash(body)}"' if state is None else f'"{_hash(state.encode())}{STATE_ENDS}{_hash(body)}"'
    all_headers = {"Cache-Control": "no-cache", **(headers or {}), "ETag": tag}
    if request.method in {"GET", "HEAD"} and _names(_header(request, "if-none-match"), tag):
        return Response(status_code=304, headers=all_headers)
    return Response(body, media_type=media_type, headers=all_headers)


def knows(request: Request, tag: str) -> bool:
    """Return whether the client already has the answer with this tag, which is written as in its header."""
    return _names(_header(request, "if-none-match"), tag.removeprefix("W/"))


def tag_of(version: str) -> str:
    """The strong tag that names a version."""
    return f'"{version}"'


def version_of(state: bytes) -> str:
    """A version for a state that has no number: another text for each other state."""
    return _hash(state)


def require_version(if_match: str | None, version: str) -> None:
    """The secret to be replaced has the version that the caller has read, where it names one. Raises: PreconditionFailed."""
    if if_match is None or if_match.strip() == "*":
        return
    if tag_of(version) not in (tag for mark, tag in _TAG.findall(if_match) if not mark):
        raise PreconditionFailed(_PASSED_VERSION)


def require_match(if_match: str, state: str) -> None:
    """Require the state that the caller has read, before a change. Raises: PreconditionFailed."""
    present = f'"{_hash(state.encode())}{STATE_ENDS}'
    named = (tag for mark, tag in _TAG.findall(if_match) if not mark)
    if if_match.strip() != "*" and not any(tag.startswith(present) for tag in named):
        raise PreconditionFailed


async def _if_match(
    request: Request,
    _: Annotated[
        str | None,
        Header(alias="If-Match", description="The ETag of the resource as it was read; optional."),
    ] = None,
) -> str | None:
    return _header(request, "if-match")


IfMatch = Annotated[str | None, Depends(_if_match)]


async def _if_version(
    request: Request,
    _: Annotated[
        str | None,
        Header(
            alias="If-Match",
            description="""The version of the secret as it was read, in quotation marks; optional. Another version: 412.""",
        ),
    ] = None,
) -> str | None:
    return _header(request, "if-match")


IfVersion = Annotated[str | None, Depends(_if_version)]
"""If-Match of a request that replaces a secret."""


def _header(request: Request, name: str) -> str | None:
    values = request.headers.getlist(name)
    return ", ".join(values) if values else None


def _names(header: str | None, tag: str) -> bool:
    """Return whether If-None-Match names the tag, weak or strong."""
    if header is None:
        return False
    return header.strip() == "*" or any(named == tag for _, named in _TAG.findall(header))


def _hash(content: bytes) -> str:
    return sha256(content).hexdigest()[:HEX_DIGITS]
