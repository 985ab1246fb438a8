"""Bodies of answers, read whole within a size and a time: a peer that sends much, packed or slowly, is given up."""

import time
from contextlib import suppress

import httpx2

ANSWER_MAX_BYTES = 64 * 1024 * 1024
ANSWER_SECONDS = 300.0


class _Body:
    """Parts of one body, unpacked."""

    def __init__(self, bytes_max: int, seconds: float) -> None:
        self._bytes_max, self._seconds = bytes_max, seconds
        self._deadline = time.monotonic() + seconds
        self._parts: list[bytes] = []
        self._length = 0

    def take(self, part: bytes) -> None:
        """Raises: httpx2.DecodingError beyond the size, httpx2.ReadTimeout beyond the time."""
        self._length += len(part)
        if self._length > self._bytes_max:
            raise httpx2.DecodingError(f"the body has more than {self._bytes_max} bytes")
        if time.monotonic() > self._deadline:
            raise httpx2.ReadTimeout(f"the body did not end within {self._seconds:g} seconds")
        self._parts.append(part)

    def put_into(self, response: httpx2.Response) -> None:
        """Let the response have what was read."""
        # httpx2 has no public member for the content of a response that was read part by part.
        response._content = b"".join(self._parts)  # noqa: SLF001


async def async_read_within(
    response: httpx2.Response, bytes_max: int = ANSWER_MAX_BYTES, seconds: float = ANSWER_SECONDS
) -> None:
    """Read a body of at most `bytes_max` once unpacked, within `seconds` in all; the response then has its content.

    Raises: httpx2.TransportError, httpx2.DecodingError.
    """
    body = _Body(bytes_max, seconds)
    try:
        async for part in response.aiter_bytes():
            body.take(part)
    except BaseException:
        with suppress(httpx2.TransportError):
            await response.aclose()
        raise
    body.put_into(response)


def read_within(
    response: httpx2.Response, bytes_max: int = ANSWER_MAX_BYTES, seconds: float = ANSWER_SECONDS
) -> None:
    """As `async_read_within`, in a thread."""
    body = _Body(bytes_max, seconds)
    try:
        for part in response.iter_bytes():
            body.take(part)
    except BaseException:
        with suppress(httpx2.TransportError):
            response.close()
        raise
    body.put_into(response)
