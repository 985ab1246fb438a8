"""Records of the OAuth server about a client, a request and a grant."""

from datetime import datetime
from uuid import UUID

import msgspec

from hansa.foundation.plumbing.web.caller import Developer, Grant, ReadBounds
from hansa.foundation.values.money import Minor, format_amount, units


class OAuthClient(msgspec.Struct, frozen=True):
    """A client program. `host` is that of its metadata document; None for a registered client, which nobody verified."""

    client_id: str
    host: str | None
    name: str
    redirect_uris: tuple[str, ...]


class Limits(msgspec.Struct, frozen=True):
    """Limits of a grant on payments, without fees, in minor units."""

    per_call: Minor = units(5)
    per_day: Minor = units(10)
    ask_above: Minor = units(1)

    def raise_over(self, other: "Limits") -> bool:
        """Return whether any limit allows more than that of `other`."""
        pairs = zip(msgspec.structs.astuple(self), msgspec.structs.astuple(other), strict=True)
        return any(after > before for after, before in pairs)

    @property
    def texts(self) -> dict[str, str]:
        """The limits as decimal strings."""
        return {name: format_amount(amount) for name, amount in msgspec.structs.asdict(self).items()}


class AuthorizationRequest(msgspec.Struct, frozen=True):
    """Request of a client that stood the checks, until the person decides."""

    client: OAuthClient
    redirect_uri: str
    challenge: str
    scopes: tuple[str, ...]
    state: str | None


class ConnectionRow(msgspec.Struct, frozen=True):
    """A living grant of a person for a client."""

    id: UUID
    client_id: str
    client_host: str | None
    client_name: str
    agent_did: str | None
    scopes: tuple[str, ...]
    limits: Limits
    created_at: datetime
    last_used_at: datetime | None
    ends_at: datetime

    @property
    def client_label(self) -> str:
        """The client as its owner knows it."""
        return client_label(self.client_name, self.client_host)


class Connection(msgspec.Struct, frozen=True):
    """The grant behind an access token, as it stands at this call.

    `scopes` are those of the token that the grant still has. `is_suspended`: the developer is suspended, so that the client may
    only use what is public. `developer` reads for the client, with the scope `agents:read` and without areas.
    """

    grant_id: UUID
    developer: Developer
    agent_did: str | None
    scopes: frozenset[str]
    client_id: str
    client_host: str | None
    client_name: str
    limits: Limits
    is_suspended: bool
    read_bounds: ReadBounds

    @property
    def developer_id(self) -> int:
        """The person who granted it."""
        return self.developer.id

    @property
    def actor(self) -> str:
        """Name of the actor in records."""
        return f"connection:{self.grant_id}"

    @property
    def grant(self) -> Grant:
        """The grant for `agents.acting_under`, which bounds the payments of the agent."""
        return Grant(self.grant_id, client_label(self.client_name, self.client_host), self.read_bounds)


def client_label(name: str, host: str | None) -> str:
    """Name of a client with the host that vouches for it."""
    return f"{name} ({host or 'unverified'})"
