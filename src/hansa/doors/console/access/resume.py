"""A form that could not be carried out yet: kept, sealed, in the page that asks for the login or the password.

Nothing is stored. Secrets are left out, and it opens only forms that it sealed itself.
"""

import base64
import binascii
import json
from collections.abc import Sequence

import msgspec

from hansa.foundation.plumbing.keys.seal import BadSeal, Seal

PURPOSE = "console form kept for after a login"
KEPT_MAX_CHARACTERS = 400_000


class SealedForm(msgspec.Struct, frozen=True):
    """Address of a form and its fields."""

    path: str
    fields: Sequence[tuple[str, str]]


def keep_form(seal: Seal, form: SealedForm) -> str:
    """The sealed form for a hidden field; empty for one that is too large."""
    text = json.dumps([form.path, list(form.fields)])
    if len(text) > KEPT_MAX_CHARACTERS:
        return ""
    return base64.urlsafe_b64encode(seal.close(text.encode(), PURPOSE)).decode()


def sealed_form(seal: Seal, kept: str) -> SealedForm | None:
    """The form that was kept, or None where this is none of ours."""
    if not kept or not kept.isascii():
        return None
    try:
        opened = seal.open(base64.b64decode(kept, altchars=b"-_", validate=True), PURPOSE)
    except (BadSeal, binascii.Error):
        return None
    path, fields = json.loads(opened)
    return SealedForm(path, [(name, value) for name, value in fields])
