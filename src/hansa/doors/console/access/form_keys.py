"""The key of a form: random, sealed for the account that opened the page, good for less than a day.

It stands in a hidden field. No other page can know it, so it proves that the registry made the form; and it is the
idempotency key of the form's act. It is bound to the account and not to the session, so that a form survives a login.
"""

import base64
import binascii
from datetime import datetime, timedelta

from hansa.foundation.plumbing.keys.seal import BadSeal, Seal

from .errors import FormExpired

# Answers are remembered for 24 hours: an older form could be carried out twice.
LIFETIME = timedelta(hours=23)
KEY_MAX_CHARACTERS = 200


def new_form_key(seal: Seal, developer_id: int | None, now: datetime) -> str:
    """A key for one form of this account, or of a visitor without an account."""
    sealed = seal.close(str(int(now.timestamp())).encode(), _purpose(developer_id))
    return base64.urlsafe_b64encode(sealed).decode()


def require_form_key(seal: Seal, developer_id: int | None, now: datetime, key: str) -> None:
    """Raises: FormExpired."""
    if not key.isascii() or len(key) > KEY_MAX_CHARACTERS:
        raise FormExpired
    try:
        opened = seal.open(base64.b64decode(key, altchars=b"-_", validate=True), _purpose(developer_id))
    except (BadSeal, binascii.Error):
        raise FormExpired from None
    if now - datetime.fromtimestamp(int(opened), now.tzinfo) > LIFETIME:
        raise FormExpired


def _purpose(developer_id: int | None) -> str:
    return f"console form of {'anonymous' if developer_id is None else f'developer {developer_id}'}"
