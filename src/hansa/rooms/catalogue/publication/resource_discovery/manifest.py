"""The manifest of this domain: where its agents are searched, the card of the registry, and a chain of catalogues.

The agents themselves may be a million: the manifest leads to them, by the search for who asks, and by catalogues
of a hundred entries, each with a link to the next one, for who reads everything.
"""

from hansa.foundation.plumbing.settings import Settings
from hansa.rooms.catalogue.publication.registry_agent_card import CARD_AT

from .entries import AGENT_TYPE
from .identifiers import Identifier
from .schemas import Entry, Host, Manifest

REGISTRY_TYPE = "application/ai-registry+json"
CATALOGUE_TYPE = "application/ai-catalog+json"
API = "/api/v1"
REGISTRY_AT = f"{API}/ard"
CATALOGUE_AT = f"{REGISTRY_AT}/catalogue"


def manifest_of(settings: Settings) -> Manifest:
    """The manifest at `/.well-known/ard.json`."""
    return Manifest(host=_host(settings), entries=own_entries(settings))


def catalogue_of(settings: Settings, agents: list[Entry], next_after: int | None) -> Manifest:
    """One catalogue of the chain."""
    onward = [] if next_after is None else [_catalogue(settings, next_after)]
    return Manifest(host=_host(settings), entries=[*agents, *onward])


def own_entries(settings: Settings) -> list[Entry]:
    """Return the entries of the registry about itself."""
    return [_registry(settings), _card(settings), _catalogue(settings, 0)]


def _registry(settings: Settings) -> Entry:
    return Entry(
        identifier=str(Identifier(settings.trust_domain, "registry:agents")),
        display_name=f"{settings.registry_name}: search for agents",
        type=REGISTRY_TYPE,
        url=f"{settings.base_url}{REGISTRY_AT}/",
        description="Finds the agents of this registry and those mirrored from its peers.",
        tags=["registry", "search", "agents"],
        capabilities=["search", "explore", "agents"],
        representative_queries=[
            "find an agent for this task",
            "which agents are registered here",
            "what does an agent for this task cost",
        ],
    )


def _card(settings: Settings) -> Entry:
    return Entry(
        identifier=str(Identifier(settings.trust_domain, "registry:card")),
        display_name=settings.registry_name,
        type=AGENT_TYPE,
        url=settings.base_url + CARD_AT,
        description="The registry and ledger itself: onboarding, identity and payments of agents.",
        tags=["registry", "ledger", "identity"],
        capabilities=["find-agents", "read-agents", "register-agent", "transfer-units"],
        representative_queries=[
            "register my agent and give it an identity",
            "pay another agent",
            "read the keys and the card of an agent",
        ],
    )


def _catalogue(settings: Settings, after: int) -> Entry:
    name = f"catalogue:after-{after}" if after else "catalogue:agents"
    return Entry(
        identifier=str(Identifier(settings.trust_domain, name)),
        display_name=f"{settings.registry_name}: every agent" + (f", after card {after}" if after else ""),
        type=CATALOGUE_TYPE,
        url=settings.base_url + CATALOGUE_AT + (f"?after={after}" if after else ""),
        description="The agents of this registry, a hundred entries at a time, each catalogue naming the next one.",
        tags=["catalogue", "agents"],
        representative_queries=["list every agent of this registry", "all agents registered here"],
    )


def _host(settings: Settings) -> Host:
    return Host(
        display_name=settings.registry_name,
        identifier=settings.trust_domain,
        documentation_url=f"{settings.base_url}/docs",
        logo_url=f"{settings.base_url}/static/logo.svg",
    )
