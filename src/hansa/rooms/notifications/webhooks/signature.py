"""Secrets and signatures of deliveries, by the Standard Webhooks specification."""

import base64
import hmac
import secrets
from collections.abc import Sequence
from hashlib import sha256

PREFIX = "whsec_"
SECRET_BYTES = 32


def new_secret() -> str:
    """A secret for one webhook, as its owner is shown it."""
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def signed_headers(message_id: str, instant: int, body: bytes, keys: Sequence[str]) -> dict[str, str]:
    """The headers of one try: signed at `instant`, in epoch seconds, with each of the secrets."""
    signed = f"{message_id}.{instant}.".encode() + body
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(instant),
        "webhook-signature": " ".join(_signature(key, signed) for key in keys),
    }


def _signature(key: str, signed: bytes) -> str:
    raw = base64.b64decode(key.removeprefix(PREFIX))
    return "v1," + base64.b64encode(hmac.digest(raw, signed, sha256)).decode()
