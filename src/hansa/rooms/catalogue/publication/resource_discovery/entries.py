"""Entries of Agentic Resource Discovery: an agent, as its card has it, in the words of its owner."""

import itertools
from typing import Any

from hansa.rooms.catalogue.search.query import LOCAL_ORIGIN

from .records import FoundAgent, ListedAgent, VisibleAgent
from .schemas import Entry, SearchResult, TrustManifest

AGENT_TYPE = "application/a2a-agent-card+json"
QUERIES_MIN = 2
QUERIES_MAX = 5
QUERY_MAX_CHARACTERS = 300
CAPABILITIES_MAX = 64
HALF_SCORE = 10
"""What search scores one good word in a name with, more or less; it is stated as 50."""


def entry_of(agent: ListedAgent, api: str) -> Entry:
    """The whole entry of an agent, of the registry whose API is at the address `api`.

    An own agent's card is referred to. A mirrored one stands inside: this registry knows no address where its home
    serves it.
    """
    return Entry(
        **_members(agent, api),
        data=None if agent.source_registry is None else agent.card_data,
        capabilities=_capabilities(agent.card_data) or None,
        representative_queries=_queries(agent),
        version=agent.card_data.get("version"),
    )


def result_of(found: FoundAgent, api: str, source: str) -> SearchResult:
    """Return the view of an agent in a search: as much as helps to choose."""
    return SearchResult(**_members(found, api), score=_score(found.score), source=source)


def _members(agent: VisibleAgent, api: str) -> dict[str, Any]:
    """The members that an entry has wherever it stands."""
    return {
        "identifier": str(agent.identifier),
        "display_name": agent.name,
        "type": AGENT_TYPE,
        "url": f"{api}/agents/{agent.did}/card-export" if agent.source_registry is None else None,
        "description": agent.description or None,
        "tags": agent.tags or None,
        "updated_at": agent.updated_at,
        "metadata": {
            "did": agent.did,
            "humanReadableId": agent.human_readable_id,
            "origin": agent.source_registry or LOCAL_ORIGIN,
            "settlementCurrency": agent.settlement_currency,
        },
        "trust_manifest": _trust(agent),
    }


def _score(score: float) -> int:
    """A score without bound as a number from 0 to 100, in the same order."""
    return round(100 * score / (score + HALF_SCORE))


def _trust(agent: VisibleAgent) -> TrustManifest | None:
    """The identity of an entry must be of its publisher's domain; a DID that does not name it proves nothing there."""
    if f":{agent.trust_domain}:" not in agent.did:
        return None
    return TrustManifest(identity=agent.did, identity_type="did")


def _capabilities(card: dict[str, Any]) -> list[str]:
    skills = [str(skill["id"]) for skill in card.get("skills", []) if skill.get("id")]
    return list(dict.fromkeys(skills))[:CAPABILITIES_MAX]


def _queries(agent: ListedAgent) -> list[str] | None:
    """Return questions for the agent, in its owner's words: examples, else the texts of the skills and of the card."""
    skills = agent.card_data.get("skills", [])
    examples = [example for skill in skills for example in skill.get("examples") or []]
    descriptions = [skill.get("description") for skill in skills]
    written = itertools.chain(examples, descriptions, [agent.description, agent.name])
    queries = dict.fromkeys(
        text.strip()[:QUERY_MAX_CHARACTERS]
        for text in itertools.islice(written, 100)
        if isinstance(text, str) and text.strip()
    )
    return list(queries)[:QUERIES_MAX] if len(queries) >= QUERIES_MIN else None
