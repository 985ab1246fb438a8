"""Verification of webhooks by the Standard Webhooks specification; no network.

A delivery may arrive twice: `WebhookMessage.id` is the same, and a processed message is not processed again.
"""

import base64
import binascii
import hmac
import time
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import msgspec

from .errors import HansaError

SECRET_PREFIX = "whsec_"  # noqa: S105
TOLERANCE_SECONDS = 300


class WebhookRefused(HansaError):
    """The message is not from the holder of the secret, is too old, or is malformed."""


@dataclass(frozen=True)
class WebhookMessage:
    """A verified message."""

    id: str
    sent_at: int
    body: dict[str, Any]


class WebhookVerifier:
    """Verifies the messages of one webhook; after a rotation of the secret, pass both secrets for a while."""

    def __init__(self, *secrets: str, tolerance_seconds: int = TOLERANCE_SECONDS) -> None:
        if not secrets:
            raise ValueError("a verifier needs the secret of its webhook")
        self._keys = [_key(secret) for secret in secrets]
        self._tolerance_seconds = tolerance_seconds

    def verify(self, headers: Mapping[str, str], body: bytes, *, now: float | None = None) -> WebhookMessage:
        """The message, if its signature and time are right; `body` is as it was received, byte for byte.

        Raises: WebhookRefused.
        """
        given = {name.lower(): value for name, value in headers.items()}
        message_id, instant = given.get("webhook-id", ""), given.get("webhook-timestamp", "")
        if not message_id or not (instant.isascii() and instant.isdecimal()):
            raise WebhookRefused("the headers webhook-id and webhook-timestamp are missing or malformed")
        if abs((time.time() if now is None else now) - int(instant)) > self._tolerance_seconds:
            raise WebhookRefused(
                f"the message was sent more than {self._tolerance_seconds} seconds ago, or later than now"
            )
        signed = f"{message_id}.{instant}.".encode() + body
        candidates = [
            part.removeprefix("v1,")
            for part in given.get("webhook-signature", "").split()
            if part.startswith("v1,")
        ]
        expected = [base64.b64encode(hmac.digest(key, signed, sha256)).decode() for key in self._keys]
        if not any(
            hmac.compare_digest(one.encode(), other.encode()) for one in expected for other in candidates
        ):
            raise WebhookRefused("no signature of the message was made with the secret of this webhook")
        try:
            members = msgspec.json.decode(body, type=dict[str, Any])
        except (msgspec.DecodeError, RecursionError):
            raise WebhookRefused("the body is not a JSON object") from None
        return WebhookMessage(message_id, int(instant), members)


def _key(secret: str) -> bytes:
    try:
        return base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    except binascii.Error:
        raise ValueError("the secret of a webhook is whsec_ and base64") from None
