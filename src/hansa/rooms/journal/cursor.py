"""Opaque cursors: a few whole numbers, encoded so that clients do not depend on their form."""

import base64
import binascii
import struct

from .errors import CursorInvalid


def seal(*numbers: int) -> str:
    """The cursor that holds these numbers."""
    return base64.urlsafe_b64encode(struct.pack(f">{len(numbers)}q", *numbers)).decode().rstrip("=")


def unseal(cursor: str, count: int) -> list[int]:
    """The `count` numbers of a cursor. Raises: CursorInvalid."""
    try:
        packed = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        numbers = list(struct.unpack(f">{count}q", packed))
    except (binascii.Error, ValueError, struct.error):
        raise CursorInvalid(field="next") from None
    if min(numbers) < 0:
        raise CursorInvalid(field="next")
    return numbers
