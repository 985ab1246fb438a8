"""Shapes of the well-known documents."""

from typing import Any, Literal

from pydantic import ConfigDict, Field

from hansa.foundation.values.lazy_model import LazyModel

from .descriptions import DescribedPage

VOCABULARIES = {
    "@vocab": "https://schema.org/",
    "did": "https://w3id.org/did#",
    "ad": "https://agent-network-protocol.com/ad#",
}


class InJsonLd(LazyModel):
    """A shape with members that begin with `@`."""

    model_config = ConfigDict(validate_by_name=True)


class DescriptionItem(InJsonLd):
    """One agent and the address of its description."""

    type: Literal["ad:AgentDescription"] = Field(default="ad:AgentDescription", alias="@type")
    name: str
    id: str = Field(alias="@id", description="The address of the agent's description.")


class AgentDescriptions(InJsonLd):
    """A page of agents; follow `next` until it is absent."""

    context: dict[str, str] = Field(default=VOCABULARIES, alias="@context")
    type: Literal["CollectionPage"] = Field(default="CollectionPage", alias="@type")
    url: str
    items: list[DescriptionItem]
    next: str | None = None

    @classmethod
    def of(cls, page: DescribedPage, *, after: int, here: str, api: str) -> "AgentDescriptions":
        """The page that stands at the address `here`, of the registry whose API is at the address `api`."""
        return cls(
            url=f"{here}?after={after}" if after else here,
            items=[
                DescriptionItem(name=agent.name, id=f"{api}/agents/{agent.did}/ad.json")
                for agent in page.agents
            ],
            next=None if page.next_after is None else f"{here}?after={page.next_after}",
        )


class OwnCard(LazyModel):
    """The A2A card of the registry itself, with the members of both A2A 1.0 and 0.3."""

    model_config = ConfigDict(extra="allow")

    name: str
    description: str
    version: str
    supportedInterfaces: list[dict[str, Any]]  # noqa: N815
    capabilities: dict[str, Any]
    skills: list[dict[str, Any]]
