"""Phones, their passkeys, and the logins that they are asked about."""

from datetime import datetime
from uuid import UUID

import msgspec


class Device(msgspec.Struct, frozen=True):
    """Browser with a passkey that approves logins of an account."""

    id: UUID
    developer_id: int
    name: str
    created_at: datetime
    last_used_at: datetime | None
    credential_id: bytes


class Passkey(Device, frozen=True):
    """A phone with the key and the counter of its passkey."""

    public_key: bytes
    sign_count: int


class PhoneLogin(msgspec.Struct, frozen=True):
    """Login that a phone was asked about."""

    id: UUID
    developer_id: int
    challenge: bytes
    number: str
    address: str
    user_agent: str
    asked_at: datetime
    expires_at: datetime
    status: str
