"""Shapes of the agents room's requests and answers."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from hansa.foundation.values.jwk import public_key_of
from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.paging import Pagination

from .check import KnownAgent
from .credentials import NewIdentity
from .keys import BroughtKey, PublicKey
from .onboard import Onboarded
from .rules import FundingStatus, OwnedAgent

SECRET_MAX_CHARACTERS = 256
ORGANIZATION_KEY_MAX = 64


def _without_empty(value: object) -> object:
    return None if value == "" else value


Hint = Annotated[str, Field(max_length=128)]
FormText = Annotated[
    Annotated[str, Field(max_length=SECRET_MAX_CHARACTERS)] | None,
    BeforeValidator(_without_empty),
]


class BootstrapRequest(LazyModel):
    """A request for a bootstrap token; an empty object is valid."""

    agent_type_hint: Hint | None = None
    requested_by: Hint | None = None
    organization_id: Annotated[str, Field(min_length=1, max_length=ORGANIZATION_KEY_MAX)] | None = Field(
        default=None,
        description="Id or slug of an organization that is to own the agent; the developer is an admin of it, now and when the agent"
        " is created. An API key needs `orgs:write` as well.",
    )


class BootstrapOut(LazyModel):
    """A bootstrap token: creates one agent until it expires."""

    bootstrap_token: str
    expires_in: int = Field(description="Seconds.")
    expires_at: datetime


class CreateAgentIn(LazyModel):
    """A new agent, by `agent_host` or `agent_card`; the host takes precedence. Name, description and skills belong in the card."""

    agent_did_method: str = Field(max_length=64, description="The registry's own DID method.")
    agent_host: str | None = Field(
        default=None,
        max_length=2048,
        description="The agent's address; its card is fetched later from /.well-known/agent-card.json there. If both are"
        " present, agent_card is ignored. A private host is accepted, but its card is never fetched.",
    )
    agent_card: dict[str, Any] | None = Field(default=None, description="The whole card.")
    public_key_jwk: BroughtKey = None

    @model_validator(mode="after")
    def _has_one_source_of_its_card(self) -> "CreateAgentIn":
        if self.agent_host is None and self.agent_card is None:
            raise ValueError("agent_host or agent_card is required")
        return self

    @property
    def brought_key(self) -> bytes | None:
        """The 32 bytes of the public key in the request."""
        return public_key_of(self.public_key_jwk) if self.public_key_jwk else None


class CreateAgentOut(LazyModel):
    """A new agent. `client_secret` and `private_key_pem` are shown only once."""

    agent_did: str
    client_id: str
    client_secret: str
    account_status: Literal["active"]
    initial_funding_status: FundingStatus
    agent_card_id: str
    agent_card_name: str
    requires_well_known_fetch: bool = Field(
        description="Whether the card is a stub until the agent's own card is fetched."
    )
    private_key_pem: str | None = Field(description="PKCS#8, Ed25519; null if the request contained a key.")

    @classmethod
    def of(cls, identity: NewIdentity, onboarded: Onboarded) -> "CreateAgentOut":
        """The answer that shows the secrets."""
        return cls(
            agent_did=identity.did,
            client_id=identity.client_id,
            client_secret=identity.client_secret,
            account_status="active",
            initial_funding_status=onboarded.funding,
            agent_card_id=str(onboarded.card.id),
            agent_card_name=onboarded.card.name,
            requires_well_known_fetch=onboarded.card.is_stub,
            private_key_pem=identity.private_key_pem,
        )


class AgentTokenForm(LazyModel):
    """`password` (or no grant type) with username and password; `client_credentials` with client_id and client_secret."""

    grant_type: Annotated[
        Literal["password", "client_credentials"] | None, BeforeValidator(_without_empty)
    ] = None
    username: FormText = Field(default=None, description="The client id.")
    password: FormText = Field(default=None, description="The client secret.", repr=False)
    client_id: FormText = None
    client_secret: FormText = Field(default=None, repr=False)

    @model_validator(mode="after")
    def _has_credentials(self) -> "AgentTokenForm":
        if self.grant_type == "client_credentials" and not (self.client_id and self.client_secret):
            raise ValueError("client_id and client_secret are required")
        if self.grant_type != "client_credentials" and not (self.username and self.password):
            raise ValueError("username and password are required")
        return self

    @property
    def credentials(self) -> tuple[str, str]:
        """The client id and the client secret."""
        by_client = self.grant_type == "client_credentials"
        name, secret = (self.client_id, self.client_secret) if by_client else (self.username, self.password)
        assert name
        assert secret
        return name, secret


class AgentTokenOut(LazyModel):
    """An agent token. There is no refresh token; request a new token with the secret."""

    access_token: str
    token_type: Literal["bearer"] = "bearer"  # noqa: S105
    expires_in: int = Field(description="Seconds.")


class OwnAgentDetails(LazyModel):
    """The calling agent. A 200 proves that the token is valid and the agent is active now."""

    did: str
    client_id: str
    status: str
    name: str
    agent_name: str = Field(description="The same as `name`.")
    roles: list[str]
    created_at: datetime
    last_active_at: datetime | None = Field(description="The time of its last token request or heartbeat.")
    public_key_jwk: PublicKey
    actor: str | None = Field(
        description="The actor of an act token; null: the agent itself.", examples=["developer:7"]
    )

    @classmethod
    def of(cls, agent: KnownAgent, name: str, public_key: bytes) -> "OwnAgentDetails":
        """Return the details that the agent may read about itself; `name` is that of its card, `public_key` its present one."""
        return cls(
            did=agent.did,
            client_id=agent.client_id,
            status=agent.status,
            name=name,
            agent_name=name,
            roles=list(agent.roles),
            created_at=agent.created_at,
            last_active_at=agent.last_active_at,
            public_key_jwk=PublicKey.of(public_key),
            actor=agent.actor,
        )


class HeartbeatOut(LazyModel):
    """The heartbeat was recorded."""

    did: str
    status: str
    last_active_at: datetime = Field(description="By the registry's clock; updated at most every 10 seconds.")


class AgentRevokedOut(LazyModel):
    """The agent is revoked."""

    agent_did: str
    status: Literal["revoked"] = "revoked"


class OwnAgentOut(LazyModel):
    """An agent as its owner lists it."""

    did: str
    client_id: str
    name: str
    status: str = Field(description="`active`, `suspended` or `revoked`.")
    roles: list[str]
    created_at: datetime
    last_active_at: datetime | None
    secret_version: str = Field(description="For If-Match of `rotate-secret`; changes with each new secret.")

    @classmethod
    def of(cls, agent: OwnedAgent) -> "OwnAgentOut":
        """The agent as it is answered."""
        return cls.model_validate(agent, from_attributes=True)


class AgentsOfDeveloper(LazyModel):
    """A page of the agents of a developer."""

    agents: list[OwnAgentOut]
    pagination: Pagination


class RotateSecretOut(LazyModel):
    """The agent's new secret, shown only once; the former secret and its tokens are invalid."""

    agent_did: str
    client_id: str
    client_secret: str
