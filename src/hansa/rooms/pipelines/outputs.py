"""Output of a step: the result that the service answered, unchanged, and beside it the text that the result has."""

from collections.abc import Iterator
from typing import Any


def output_of(body: Any) -> dict[str, Any]:
    """The output for the JSON-RPC answer of a service: `result`, and in `text` the texts of its message, task or tool."""
    result = body.get("result") if isinstance(body, dict) else body
    texts = list(_texts(result))
    return {"result": result, "text": "\n".join(texts) if texts else None}


def _texts(result: Any) -> Iterator[str]:
    """The texts of a message or a task of either version of A2A, or of the result of a tool."""
    if not isinstance(result, dict):
        return
    for name in ("parts", "content"):
        yield from _texts_of_parts(result.get(name))
    for name in ("message", "task"):
        yield from _texts(result.get(name))
    artifacts = result.get("artifacts")
    found = [text for one in artifacts for text in _texts(one)] if isinstance(artifacts, list) else []
    status = result.get("status")
    yield from found or (_texts(status.get("message")) if isinstance(status, dict) else ())


def _texts_of_parts(parts: Any) -> Iterator[str]:
    for part in parts if isinstance(parts, list) else ():
        text = part.get("text") if isinstance(part, dict) else None
        if isinstance(text, str):
            yield text
