"""Credentials of a registry. Secrets are absent from every `repr`, so that no log line or traceback shows one."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta


@dataclass(frozen=True)
class AgentCredentials:
    """Credentials that `agents.create` returned once for an agent."""

    client_id: str
    client_secret: str = field(repr=False)


@dataclass(frozen=True)
class ApiKey:
    """An API key of a developer (`avreg_…`)."""

    key: str = field(repr=False)


@dataclass(frozen=True)
class DeveloperTokens:
    """An open session of a developer. A refresh token works once: the pair that replaces it must be kept."""

    access_token: str = field(repr=False)
    refresh_token: str = field(repr=False)
    expires_at: datetime

    @classmethod
    def issued(cls, access_token: str, refresh_token: str, expires_in: int) -> "DeveloperTokens":
        """A pair that was received now; `expires_in` is in seconds."""
        return cls(access_token, refresh_token, datetime.now(UTC) + timedelta(seconds=expires_in))
