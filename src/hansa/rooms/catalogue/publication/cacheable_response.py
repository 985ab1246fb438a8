"""Public documents that a reader may cache, and for how long."""

from fastapi import Request
from fastapi.responses import Response
from pydantic import BaseModel

from hansa.foundation.plumbing.web.entity_tags import tagged

REVALIDATE_EACH_TIME = "public, no-cache"
"""For what lists agents: one that was unlisted must be gone at the next request."""
KEEP_FOR_MINUTES = "public, max-age=300"
"""For what the settings alone decide."""


def document(
    request: Request, content: BaseModel | str, *, media_type: str = "application/json", keep: str
) -> Response:
    """The document with its tag, or a 304 for who has it. Members without a value are left out of a shape."""
    text = content if isinstance(content, str) else content.model_dump_json(by_alias=True, exclude_none=True)
    return tagged(request, text.encode(), media_type=media_type, headers={"Cache-Control": keep})
