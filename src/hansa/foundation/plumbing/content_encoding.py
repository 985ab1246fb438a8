"""Compressed answers, for content that holds no secret: beside a secret, the size of an answer could reveal it."""

import gzip

from starlette.datastructures import Headers

LEAST_BYTES = 1000
LEVEL = 6


def accepts_gzip(headers: Headers) -> bool:
    """Whether the client takes gzip; a quality of 0 refuses it."""
    for coding in headers.get("accept-encoding", "").lower().split(","):
        name, _, quality = coding.partition(";")
        if name.strip() == "gzip":
            return quality.replace(" ", "").rstrip("0") not in {"q=", "q=0."}
    return False


def compressed(content: bytes) -> bytes:
    """The content as gzip; the same for the same content."""
    return gzip.compress(content, LEVEL, mtime=0)


def negotiated(content: bytes, headers: Headers) -> tuple[bytes, dict[str, str]]:
    """The content as this client takes it, and the headers that say so."""
    varying = {"Vary": "Accept-Encoding"}
    if len(content) < LEAST_BYTES or not accepts_gzip(headers):
        return content, varying
    return compressed(content), {**varying, "Content-Encoding": "gzip"}
