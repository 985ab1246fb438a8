"""base64url in its one canonical spelling: no padding, no stray characters, no alias of the last character."""

from base64 import urlsafe_b64decode, urlsafe_b64encode


class NotBase64url(ValueError):
    """The text is not base64url, or not in its canonical spelling; the message is one line."""


def decoded(text: object) -> bytes:
    """The bytes of a text. Raises: NotBase64url."""
    if not isinstance(text, str) or not text.isascii():
        raise NotBase64url("not a base64url text")
    try:
        raw = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        raise NotBase64url("not base64url") from None
    # The decoder drops characters it does not know, so only the way back proves the spelling.
    if encoded(raw) != text:
        raise NotBase64url("not in canonical base64url without padding")
    return raw


def encoded(raw: bytes) -> str:
    """The one text of these bytes."""
    return urlsafe_b64encode(raw).rstrip(b"=").decode()
