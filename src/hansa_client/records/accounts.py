"""Answers about developers and about the registry itself."""

from datetime import datetime
from decimal import Decimal
from typing import ClassVar

from .record import Record


class IssuedToken(Record, frozen=True):
    """A bearer token; `expires_in` is in seconds."""

    secrets: ClassVar = frozenset({"access_token", "refresh_token", "partial_token"})

    access_token: str
    expires_in: int


class IssuedTokens(IssuedToken, frozen=True):
    """A session of a developer; with `requires_2fa` only half of one, to be completed with `partial_token`."""

    refresh_token: str = ""
    requires_2fa: bool = False
    partial_token: str | None = None


class Registered(Record, frozen=True):
    """A new account. The three recovery keys are returned this once."""

    secrets: ClassVar = frozenset({"recovery_keys"})

    message: str
    recovery_keys: list[str]


class Profile(Record, frozen=True):
    """A developer."""

    id: int
    name: str
    email: str
    role: str
    is_verified: bool
    is_admin: bool
    created_at: datetime
    tos_reconsent_required: bool
    tos_accepted_at: datetime | None = None
    recovery_keys_version: str | None = None


class ApiKeyInfo(Record, frozen=True):
    """An API key without its secret; `expires_at` None: it does not expire."""

    id: int
    key_prefix: str
    description: str
    is_active: bool
    created_at: datetime
    last_used_at: datetime | None
    scopes: list[str]
    expires_at: datetime | None


class NewApiKey(Record, frozen=True):
    """A new API key; `plain_api_key` is returned this once."""

    secrets: ClassVar = frozenset({"plain_api_key"})

    plain_api_key: str
    api_key_info: ApiKeyInfo


class Message(Record, frozen=True):
    """The result as a sentence."""

    message: str


class RegistryConfig(Record, frozen=True):
    """Public configuration of a registry; `did_method` is that of its agents."""

    registry_name: str
    trust_domain: str
    settlement_currency: str
    genesis_grant_enabled: bool
    genesis_grant_amount: Decimal
    staking_enabled: bool
    staking_rewards_enabled: bool
    beta_invite_required: bool
    email_verification_required: bool
    tos_version: str
    documents_version: str
    did_method: str
