"""Entity tags: who has the answer already gets a 304, and who would overwrite what it has not seen is refused.

The tag is strong: it is a hash of the answer's bytes, so two answers with one tag are the same answer.
"""

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Annotated, Any

from fastapi import Depends, Header, Request
from fastapi.responses import Response

from hansa.foundation.words.errors import Refused

HEX_DIGITS = 32
HEADERS: dict[str, Any] = {
    "ETag": {"description": "The strong tag of this answer.", "schema": {"type": "string"}}
}
TAGGED: dict[int | str, dict[str, Any]] = {
    304: {"description": "The reader has this answer already (If-None-Match).", "headers": HEADERS}
}

_TAG = re.compile(r'(W/)?("[\x21\x23-\x7e\x80-\xff]*")')


class PreconditionFailed(Refused):
    """What is to be changed is not what If-Match names: read it again, then decide."""

    status = 412
    code = "PRECONDITION_FAILED"
    sentence = "It has changed since you read it: read it again, then decide."


def tag_of(body: bytes) -> str:
    """The tag of an answer, with its quotes."""
    return f'"{sha256(body).hexdigest()[:HEX_DIGITS]}"'


def tagged(
    request: Request,
    body: bytes,
    *,
    media_type: str = "application/json",
    headers: Mapping[str, str] | None = None,
) -> Response:
    """The answer with its tag, or a 304 for who has it. Caches keep it and ask each time."""
    tag = tag_of(body)
    told = {"Cache-Control": "no-cache", **(headers or {}), "ETag": tag}
    if request.method in {"GET", "HEAD"} and _names(_header(request, "if-none-match"), tag, weak=True):
        return Response(status_code=304, headers=told)
    return Response(body, media_type=media_type, headers=told)


def require_match(if_match: str, tag: str) -> None:
    """What is to be changed is what the caller has read. Raises: PreconditionFailed."""
    if not _names(if_match, tag, weak=False):
        raise PreconditionFailed


async def _if_match(
    request: Request,
    _: Annotated[
        str | None,
        Header(alias="If-Match", description="The ETag of what is to be changed, as it was read; optional."),
    ] = None,
) -> str | None:
    return _header(request, "if-match")


IfMatch = Annotated[str | None, Depends(_if_match)]


def _header(request: Request, name: str) -> str | None:
    values = request.headers.getlist(name)
    return ", ".join(values) if values else None


def _names(header: str | None, tag: str, *, weak: bool) -> bool:
    if header is None:
        return False
    return header.strip() == "*" or any(
        named == tag and (weak or not mark) for mark, named in _TAG.findall(header)
    )
