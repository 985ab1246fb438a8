"""Shapes of the OAuth server and of connections."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from pydantic import ConfigDict, Field

from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import Amount, Minor, format_amount, parse_amount
from hansa.foundation.values.request_body import RequestBody

from .records import ConnectionRow, Limits, OAuthClient

# An empty parameter counts as one that is left out (RFC 6749, 3.2).
Parameter = Annotated[str, Field(max_length=4096)]
SecretParameter = Annotated[str, Field(max_length=4096, repr=False)]
ConnectionScope = Literal[
    "mcp:read",
    "wallet:read",
    "wallet:pay",
    "contracts:act",
    "disputes:act",
    "pipelines:run",
    "support:write",
]
PASSWORD_MAX_CHARACTERS = 1024


class OAuthTokenForm(LazyModel):
    """Parameters of RFC 6749 and RFC 8707; which are needed depends on `grant_type`."""

    grant_type: Parameter | None = Field(
        default=None, description="authorization_code, refresh_token or client_credentials."
    )
    client_id: Parameter | None = None
    client_secret: SecretParameter | None = Field(default=None, description="The secret of an agent.")
    code: SecretParameter | None = None
    redirect_uri: Parameter | None = None
    code_verifier: SecretParameter | None = None
    refresh_token: SecretParameter | None = None
    scope: Annotated[str, Field(max_length=1024)] | None = None
    resource: Parameter | None = None


class RevocationForm(LazyModel):
    """Parameters of RFC 7009."""

    token: SecretParameter | None = None
    client_id: Parameter | None = None
    token_type_hint: Parameter | None = None


class OAuthTokenOut(LazyModel):
    """Tokens of a connection, or the token of an agent, which has no refresh token."""

    access_token: str
    token_type: Literal["bearer"] = "bearer"  # noqa: S105
    expires_in: int = Field(description="In seconds.")
    refresh_token: str | None = None
    scope: str | None = None


class RevokedOut(LazyModel):
    """Empty: a client does not learn whether there was such a token."""


class OAuthErrorOut(LazyModel):
    """Fault in the form of RFC 6749, 5.2."""

    error: str
    error_description: str


class ClientIn(LazyModel):
    """Metadata of a client (RFC 7591); other members are ignored."""

    model_config = ConfigDict(extra="ignore")

    redirect_uris: Any = Field(default=None, description="1 to 5 addresses.")
    client_name: Any = Field(default=None, description="The name that the person reads.")


class RegisteredClientOut(LazyModel):
    """A client without secret. Nothing is stored: the id is the signed metadata."""

    client_id: str
    client_name: str
    redirect_uris: list[str]
    token_endpoint_auth_method: Literal["none"] = "none"  # noqa: S105
    grant_types: list[str] = Field(
        ["authorization_code", "refresh_token"], examples=[["authorization_code", "refresh_token"]]
    )
    response_types: list[str] = Field(["code"], examples=[["code"]])

    @classmethod
    def of(cls, client: OAuthClient) -> "RegisteredClientOut":
        """The shape of a client."""
        return cls(
            client_id=client.client_id, client_name=client.name, redirect_uris=list(client.redirect_uris)
        )


class LimitsOut(LazyModel):
    """Limits of a connection on payments, without fees."""

    per_call: str
    per_day: str = Field(description="Per day (UTC).")
    ask_above: str = Field(description="Payments above this amount need the approval of the person.")


class ConnectionOut(LazyModel):
    """A client that the person connected."""

    id: UUID
    client_host: str | None = Field(description="The host that vouches for the client; null: unverified.")
    client_name: str
    agent_did: str | None
    scopes: list[str]
    limits: LimitsOut
    spent_today: str
    created_at: datetime
    last_used_at: datetime | None
    ends_at: datetime

    @classmethod
    def of(cls, row: ConnectionRow, spent_today: Minor) -> "ConnectionOut":
        """The shape of a connection."""
        return cls(
            id=row.id,
            client_host=row.client_host,
            client_name=row.client_name,
            agent_did=row.agent_did,
            scopes=list(row.scopes),
            limits=LimitsOut(**row.limits.texts),
            spent_today=format_amount(spent_today),
            created_at=row.created_at,
            last_used_at=row.last_used_at,
            ends_at=row.ends_at,
        )


class ConnectionEndedOut(LazyModel):
    """A connection that was ended."""

    id: UUID
    deleted: Literal[True] = True


class LimitsIn(RequestBody):
    """New limits of a connection; an absent member stays as it is."""

    model_config = ConfigDict(extra="forbid")

    per_call: Amount = ""
    per_day: Amount = ""
    ask_above: Amount = ""

    def over(self, limits: Limits) -> Limits:
        """The limits with the members that are given."""
        given = {name: parse_amount(getattr(self, name)) for name in self.model_fields_set}
        return msgspec.structs.replace(limits, **given)


class ConnectionChangesIn(RequestBody):
    """Changes of a connection. Higher limits need a login session and `password`."""

    model_config = ConfigDict(extra="forbid")

    scopes: list[ConnectionScope] | None = Field(
        default=None, min_length=1, description="The scopes that stay."
    )
    limits: LimitsIn | None = None
    password: Annotated[str, Field(min_length=1, max_length=PASSWORD_MAX_CHARACTERS, repr=False)] | None = (
        None
    )
