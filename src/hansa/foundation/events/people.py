"""Facts of the people room."""

from typing import ClassVar

from hansa.foundation.events.base import REGISTRY_ACCOUNT, Event


class _ConnectionEvent(Event, frozen=True):
    aggregate_type: ClassVar[str] = "system_account"
    is_private: ClassVar[bool] = True

    developer_id: int
    connection_id: str
    agent_did: str | None
    client_host: str | None
    client_name: str

    @property
    def aggregate_id(self) -> str:
        return REGISTRY_ACCOUNT


class ConnectionGranted(_ConnectionEvent, frozen=True):
    """A developer lets a client act within `scopes` until `ends_at`; `client_host` is null for an unverified client."""

    scopes: list[str]
    ends_at: str


class ConnectionEnded(_ConnectionEvent, frozen=True):
    """A client may act no more.

    `reason` is `revoked`, `replaced`, `expired`, `password_changed`, `agent_ended`, `account_deleted`, `code_reused` or
    `refresh_token_reused`.
    """

    reason: str
