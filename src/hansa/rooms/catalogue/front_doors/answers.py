"""Public documents that a reader may keep: each carries an ETag, and is not sent again to who already has it."""

import hashlib
from typing import Any

from fastapi import Request
from fastapi.responses import Response
from pydantic import BaseModel

ASK_EACH_TIME = "public, no-cache"
"""For what lists agents: one that was unlisted must be gone at the next request."""
KEEP_FOR_MINUTES = "public, max-age=300"
"""For what the settings alone decide."""

NOT_MODIFIED: dict[int | str, dict[str, Any]] = {
    304: {"description": "The reader has this document already (If-None-Match)."}
}


def document(
    request: Request, content: BaseModel | str, *, media_type: str = "application/json", keep: str
) -> Response:
    """The document as it is sent, or 304. Members without a value are left out of a shape."""
    text = content if isinstance(content, str) else content.model_dump_json(by_alias=True, exclude_none=True)
    body = text.encode()
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": keep}
    if _has_it(request, tag):
        return Response(status_code=304, headers=headers)
    return Response(body, media_type=media_type, headers=headers)


def _has_it(request: Request, tag: str) -> bool:
    named = ",".join(request.headers.getlist("if-none-match")).split(",")
    return any(one.strip().removeprefix("W/") in {tag, "*"} for one in named)
