"""Entries found and counted: the search of the catalogue, asked in the words of Agentic Resource Discovery.

All agents that may be shown are searched, own and mirrored. Search and counts ask the same question, so they speak of
the same entries. No other registry is asked, in any federation mode: the cards of peers are mirrored here.

Filter keys and facets of a query: the term of an entry that is meant, in each of its forms.

A key is a term's name (`tags`), its address (`https://agenticresourcediscovery.org/ns#tags`), or a name with a prefix that
the query's `@context` binds. Keys that resolve to the same address are the same term. A context that stands elsewhere is not
fetched.
"""

import hashlib
from collections import Counter
from typing import Any

import msgspec

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database
from hansa.rooms.catalogue.search import Discovery, Facets, FoundCard, Searcher, SearchQuery, discover

from .entries import AGENT_TYPE, result_of
from .errors import ArgumentInvalid
from .manifest import API, REGISTRY_AT
from .publishers import origins_of, trust_domains
from .records import FoundAgent, VisibleAgent
from .schemas import (
    BASE_CONTEXT,
    Bucket,
    ExploreIn,
    ExploreOut,
    Facet,
    FacetRequest,
    QueryIn,
    SearchIn,
    SearchOut,
)
from .tokens import place_in, token_of

DEPTH_MAX = 10_000
"""How far a search is paged through; who wants everything reads the catalogues."""
NAMESPACE = "https://agenticresourcediscovery.org/ns#"
BINDINGS_MAX = 64
SUPPORTED = ("type", "publisher", "tags", "metadata.origin")


NOTHING = Discovery([], 0, Facets())
_SHOWN = VisibleAgent.__struct_fields__


class SearchContext(msgspec.Struct, frozen=True):
    """Parts of the process that a search needs: searcher, database and settings."""

    searcher: Searcher
    database: Database
    settings: Settings


async def search(search_context: SearchContext, body: SearchIn) -> SearchOut:
    """The entries that fit, the best first. Raises: ArgumentInvalid, SearchNotReady."""
    purpose = _purpose(body.query)
    begin = place_in(body.page_token, purpose, 1)[0] if body.page_token is not None else 0
    found = await _found(search_context, body.query, limit=body.page_size, offset=min(begin, DEPTH_MAX))
    end = begin + body.page_size
    api = search_context.settings.base_url + API
    source = f"{search_context.settings.base_url}{REGISTRY_AT}/"
    agents = [_agent(card) for card in found.results]
    return SearchOut(
        results=[result_of(agent, api, source) for agent in agents if agent.identifier.is_well_formed],
        referrals=[] if body.federation == "referrals" else None,
        page_token=token_of(purpose, end) if end < min(found.total, DEPTH_MAX) else None,
    )


async def explore(search_context: SearchContext, body: ExploreIn) -> ExploreOut:
    """How many of the entries that fit have which values. Raises: ArgumentInvalid, SearchNotReady."""
    context = read_context(body.query.context)
    facets = [(facet, context.term(facet.field)) for facet in body.result_type.facets]
    found = await _found(search_context, body.query, limit=1, offset=0)
    publishers = await search_context.database.query(lambda tx: trust_domains(tx, search_context.settings))
    return ExploreOut(facets={facet.field: _facet(facet, term, found, publishers) for facet, term in facets})


async def _found(search_context: SearchContext, asked: QueryIn, *, limit: int, offset: int) -> Discovery:
    context = read_context(asked.context)
    chosen = _chosen(asked, context)
    types, tags, origins = (chosen.get(term) for term in ("type", "tags", "metadata.origin"))
    if "publisher" in chosen:
        named = await search_context.database.query(
            lambda tx: origins_of(tx, chosen["publisher"], search_context.settings)
        )
        origins = named if origins is None else named & origins
    if (types is not None and AGENT_TYPE not in types) or origins == set() or tags == set():
        return NOTHING
    query = SearchQuery(
        q=(asked.text or "").strip(),
        origins=tuple(sorted(origins or ())),
        any_tags=tuple(sorted(tags or ())),
        agents_only=True,
        limit=limit,
        offset=offset,
    )
    return await discover(search_context.searcher, search_context.database, query)


class Context(msgspec.Struct, frozen=True):
    """Bindings of a query beside the base context: prefixes of keys, and terms under other names."""

    bound: dict[str, str] = msgspec.field(default_factory=lambda: {"ard": NAMESPACE})

    def term(self, key: str) -> str:
        """The supported term that `key` means. Raises: ArgumentInvalid."""
        address = self._address(key)
        term = address.removeprefix(NAMESPACE) if address.startswith(NAMESPACE) else ""
        # The base context gives the term `type` this address.
        term = "type" if term == "mediaType" else term
        if term not in SUPPORTED:
            raise ArgumentInvalid(
                f"{_shown(key)}: entries are filtered and counted by {', '.join(SUPPORTED)}.", field="query"
            )
        return term

    def _address(self, key: str) -> str:
        if key.startswith(NAMESPACE):
            return key
        prefix, colon, rest = key.partition(":")
        if colon:
            return self.bound.get(prefix, "") + rest
        leading, dot, path = key.partition(".")
        return self.bound.get(leading, NAMESPACE + leading) + dot + path


def _chosen(asked: QueryIn, context: Context) -> dict[str, set[str]]:
    """The values wanted of each term."""
    chosen: dict[str, set[str]] = {}
    for key, values in asked.filter.items():
        term = context.term(key)
        if term in chosen:
            raise ArgumentInvalid(f"{term}: two keys of the filter have this meaning.", field="query")
        chosen[term] = {values} if isinstance(values, str) else set(values)
    return chosen


def _facet(request: FacetRequest, term: str, found: Discovery, publishers: dict[str, str]) -> Facet:
    counted = _counted(term, found, publishers)
    stored = [(value, count) for value, count in counted.most_common() if count >= request.min_count]
    returned = stored[: request.limit]
    # An entry has several tags, and of tags the commonest alone are counted.
    others = None if term == "tags" else sum(count for _, count in stored[request.limit :])
    return Facet(buckets=[Bucket(value=value, count=count) for value, count in returned], other_count=others)


def _counted(term: str, found: Discovery, publishers: dict[str, str]) -> Counter[str]:
    if term == "type":
        return Counter({AGENT_TYPE: found.total} if found.total else {})
    if term == "tags":
        return Counter(found.facets.tags)
    if term == "metadata.origin":
        return Counter(found.facets.origins)
    domains: Counter[str] = Counter()
    for origin, count in found.facets.origins.items():
        domains[publishers.get(origin, origin)] += count
    return domains


def _agent(card: FoundCard) -> FoundAgent:
    return FoundAgent(**{name: getattr(card, name) for name in _SHOWN}, score=card.score)


def _purpose(asked: QueryIn) -> str:
    """A token of one search is of no use to another."""
    returned = f"{asked.text}\n{sorted(asked.filter.items())}\n{asked.context}"
    return hashlib.sha256(returned.encode()).hexdigest()[:16]


def read_context(given: Any) -> Context:
    """Raises: ArgumentInvalid."""
    parts = given if isinstance(given, list) else [given]
    bound = Context().bound
    for part in parts:
        if isinstance(part, dict):
            bound |= _bindings(part)
        elif part is not None and part != BASE_CONTEXT:
            raise ArgumentInvalid(
                "@context: documents are not fetched; bind prefixes instead.", field="query"
            )
    if len(bound) > BINDINGS_MAX:
        raise ArgumentInvalid(f"@context: at most {BINDINGS_MAX} names can be bound.", field="query")
    return Context(bound)


def _bindings(part: dict[str, Any]) -> dict[str, str]:
    bound: dict[str, str] = {}
    for name, value in part.items():
        address = value.get("@id") if isinstance(value, dict) else value
        if name.startswith("@"):
            continue
        if not isinstance(address, str):
            raise ArgumentInvalid("@context: a name must be bound to an address.", field="query")
        bound[name] = address
    return bound


def _shown(key: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in key)[:100]
