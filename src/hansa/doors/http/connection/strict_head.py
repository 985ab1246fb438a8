"""Requirements on the head of a request before the request is begun: small, of a known version, with no member repeated."""

import re
from collections.abc import Sequence

HEAD_MAX_BYTES = 1 << 16
FIELDS_MAX = 100
MESSAGE_MAX_BYTES = 16 << 20
VERSIONS = ("1.1", "1.0")
SINGLE_FIELDS = frozenset({b"host", b"idempotency-key", b"transfer-encoding"})

_HOST = re.compile(rb"[A-Za-z0-9._~!$&'()*+,;=:%\[\]-]*", re.ASCII)


class ConnectionRefused(Exception):
    """The connection gets one problem document and ends. `detail` is a sentence for the client."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail


def malformed(detail: str) -> ConnectionRefused:
    """Return the refusal of bytes that are not HTTP/1.1 as this server takes it."""
    return ConnectionRefused(400, "BAD_REQUEST", detail)


def too_large(detail: str) -> ConnectionRefused:
    """Return the refusal of a head that is larger than the bytes kept of one."""
    return ConnectionRefused(431, "HEAD_TOO_LARGE", detail)


def too_slow(detail: str) -> ConnectionRefused:
    """The rest of a request did not come in time."""
    return ConnectionRefused(408, "REQUEST_TIMEOUT", detail)


def too_many_sockets(detail: str) -> ConnectionRefused:
    """The address holds as many WebSockets as one may hold, or opens them too fast."""
    return ConnectionRefused(429, "TOO_MANY_SOCKETS", detail)


def require_plain_coding(value: bytes) -> None:
    """Require a body in chunks without a further coding: it would be misread. Raises: ConnectionRefused."""
    if value.strip().lower() != b"chunked":
        raise malformed('The only transfer coding that is supported is "chunked".')


def head_is_too_large() -> ConnectionRefused:
    """More bytes than a head may have."""
    return too_large(f"The request line and header fields are larger than {HEAD_MAX_BYTES} bytes.")


def body_is_too_large() -> ConnectionRefused:
    """More bytes than any body may have; most routes take fewer."""
    return ConnectionRefused(413, "PAYLOAD_TOO_LARGE", f"A body has at most {MESSAGE_MAX_BYTES} bytes.")


def require_room(headers: Sequence[tuple[bytes, bytes]], name: bytes) -> None:
    """One more field fits, and a field of which there may be one is there once. Raises: ConnectionRefused."""
    if len(headers) >= FIELDS_MAX:
        raise too_large(f"The request has more than {FIELDS_MAX} header fields.")
    if name in SINGLE_FIELDS:
        for present, _ in headers:
            if name == present:
                raise malformed(f"The header field {name.decode()} occurs more than once.")


def require_strict(version: str, headers: Sequence[tuple[bytes, bytes]]) -> None:
    """Judge a complete head. Raises: ConnectionRefused."""
    if version not in VERSIONS:
        raise malformed(f"HTTP/1.1 and HTTP/1.0 are supported, got HTTP/{version}.")
    for name, value in headers:
        if name == b"host":
            if _HOST.fullmatch(value) is None:
                raise malformed("The Host header field is not a host with an optional port.")
            return
    if version == "1.1":
        raise malformed("The Host header field is missing.")


def require_own_target(target: bytes) -> None:
    """The target is a path, or `*`; the other forms are for proxies (RFC 9112, 3.2). Raises: ConnectionRefused.

    An absolute target names a host that would count instead of the Host header field.
    """
    if not target.startswith(b"/") and target != b"*":
        raise malformed('The request target must be a path that begins with "/".')
