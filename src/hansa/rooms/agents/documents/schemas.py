"""Shapes of identity documents: the DID document of the W3C, and the agent description of the Agent Network Protocol."""

from datetime import datetime
from typing import Any, Literal

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from hansa.foundation.values.lazy_model import LazyModel
from hansa.rooms import catalogue
from hansa.rooms.agents.keys import PublicKey

from .records import Identity, ListedKey

CONTEXTS = ["https://www.w3.org/ns/did/v1", "https://w3id.org/security/suites/jws-2020/v1"]


class InCamelCase(LazyModel):
    """A shape whose members are written as other standards write them."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class VerificationMethod(InCamelCase):
    """A key of the subject. A retired key has its end time: signatures made before it stay valid."""

    id: str
    type: Literal["JsonWebKey2020"] = "JsonWebKey2020"
    controller: str
    public_key_jwk: PublicKey
    expires: datetime | None = None

    @classmethod
    def of(cls, did: str, key: ListedKey) -> "VerificationMethod":
        """The key as the document lists it."""
        return cls(
            id=f"{did}#key-{key.number}",
            controller=did,
            public_key_jwk=PublicKey.of(key.public_key),
            expires=key.ended_at,
        )


class DidService(InCamelCase):
    """Where the subject is described or can be called."""

    id: str
    type: Literal["AgentCard", "AgentDescription", "A2A", "Registry"]
    service_endpoint: str


class DidDocument(InCamelCase):
    """The DID document. Only the current key authenticates and asserts, and only while the agent is active."""

    context: list[str] = Field(default=CONTEXTS, alias="@context")
    id: str
    verification_method: list[VerificationMethod] = Field(description="The newest keys, at most 100.")
    authentication: list[str]
    assertion_method: list[str]
    service: list[DidService]

    @classmethod
    def of(cls, identity: Identity, api: str) -> "DidDocument":
        """The document of an identity of the registry whose API is at the address `api`."""
        did, keys = identity.did, identity.keys
        present = [f"{did}#key-{key.number}" for key in keys if key.ended_at is None and identity.may_act]
        return cls(
            id=did,
            verification_method=[VerificationMethod.of(did, key) for key in keys],
            authentication=present,
            assertion_method=present,
            service=_services(identity, api),
        )


class DescribedOwner(InCamelCase):
    """The provider of the agent, as in its card."""

    type: Literal["Organization"] = "Organization"
    name: str | None = None
    url: str | None = None


class DescribedInformation(InCamelCase):
    """A further document."""

    type: Literal["Information"] = "Information"
    description: str
    url: str


class DescribedInterface(InCamelCase):
    """An interface of the agent."""

    type: Literal["StructuredInterface"] = "StructuredInterface"
    protocol: Literal["A2A"] = "A2A"
    version: str
    url: str
    description: str


class AgentDescription(InCamelCase):
    """An agent as the Agent Network Protocol describes it. An agent that is not active has no interfaces."""

    protocol_type: Literal["ANP"] = "ANP"
    protocol_version: Literal["1.0.0"] = "1.0.0"
    type: Literal["AgentDescription"] = "AgentDescription"
    url: str
    name: str
    did: str
    status: str
    owner: DescribedOwner | None = None
    description: str
    created: datetime
    security_definitions: dict[str, Any]
    security: list[str]
    # Spelled as that protocol spells it.
    informations: list[DescribedInformation] = Field(alias="Infomations")
    interfaces: list[DescribedInterface]

    @classmethod
    def of(cls, identity: Identity, card: catalogue.Card, api: str) -> "AgentDescription":
        """The description of an agent of the registry whose API is at the address `api`."""
        data = identity.card or {}
        schemes = data.get("securitySchemes") or {}
        return cls(
            url=_description_at(identity.did, api),
            name=card.name,
            did=identity.did,
            status=identity.status,
            owner=_owner(data.get("provider")),
            description=card.description,
            created=card.created_at,
            security_definitions=schemes,
            security=list(schemes),
            informations=[
                DescribedInformation(
                    description="The A2A card, signed by the registry.", url=_card_at(identity.did, api)
                ),
                DescribedInformation(description="The DID document.", url=_document_at(identity.did, api)),
            ],
            interfaces=[
                DescribedInterface(
                    version=interface["protocolVersion"],
                    url=interface["url"],
                    description=f"A2A over {interface['protocolBinding']}.",
                )
                for interface in _interfaces(identity)
            ],
        )


def _services(identity: Identity, api: str) -> list[DidService]:
    did = identity.did
    if identity.card is None:
        return [DidService(id=f"{did}#registry", type="Registry", service_endpoint=api)]
    services = [DidService(id=f"{did}#agent-card", type="AgentCard", service_endpoint=_card_at(did, api))]
    if identity.may_act:
        services.append(
            DidService(
                id=f"{did}#agent-description",
                type="AgentDescription",
                service_endpoint=_description_at(did, api),
            )
        )
    # The first interface is the one that the card prefers.
    services += [
        DidService(id=f"{did}#a2a", type="A2A", service_endpoint=interface["url"])
        for interface in _interfaces(identity)[:1]
    ]
    return services


def _interfaces(identity: Identity) -> list[dict[str, Any]]:
    interfaces: list[dict[str, Any]] = (identity.card or {}).get("supportedInterfaces", [])
    return interfaces if identity.may_act else []


def _owner(provider: dict[str, Any] | None) -> DescribedOwner | None:
    return DescribedOwner(name=provider.get("organization"), url=provider.get("url")) if provider else None


def _card_at(did: str, api: str) -> str:
    return f"{api}/agents/{did}/card-export"


def _description_at(did: str, api: str) -> str:
    return f"{api}/agents/{did}/ad.json"


def _document_at(did: str, api: str) -> str:
    return f"{api}/agents/{did}/did.json"
