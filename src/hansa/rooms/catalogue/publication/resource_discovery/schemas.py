"""Shapes of Agentic Resource Discovery, v0.91; names as that specification writes them."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.request_body import RequestBody

BASE_CONTEXT = "https://agenticresourcediscovery.org/context/v1"
PAGE_MAX = 100
TEXT_MAX = 1000
TOKEN_MAX = 512
VALUE_MAX = 256

FilterValue = Annotated[str, Field(max_length=VALUE_MAX)]
FilterValues = Annotated[list[FilterValue], Field(max_length=64)]


class InCamelCase(LazyModel):
    """A shape whose members are written in camel case."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, validate_by_alias=True)


class BodyInCamelCase(RequestBody, InCamelCase):
    """A request body whose members are written in camel case; a member that is not known is refused."""

    model_config = ConfigDict(extra="forbid")


class TrustManifest(InCamelCase):
    """The workload identity of the agent."""

    identity: str
    identity_type: Literal["did", "spiffe"]


class EntryMembers(InCamelCase):
    """What every list states of a resource."""

    identifier: str = Field(description="`urn:air:<trust domain>:<DID>` for an agent.")
    display_name: str
    type: str
    url: str | None = None
    description: str | None = None
    tags: list[str] | None = None
    updated_at: datetime | None = None
    metadata: dict[str, str] | None = None
    trust_manifest: TrustManifest | None = None


class Entry(EntryMembers):
    """One resource; it has exactly one of `url` and `data`."""

    context: str = Field(default=BASE_CONTEXT, alias="@context")
    data: dict[str, Any] | None = None
    capabilities: list[str] | None = None
    representative_queries: list[str] | None = None
    version: str | None = None


class SearchResult(EntryMembers):
    """One result of a search; the complete entry is available under its identifier."""

    score: int = Field(ge=0, le=100, description="Relevance of the match; not a measure of trust.")
    source: str = Field(description="The registry whose index holds the entry.")


class Host(InCamelCase):
    """Who publishes a manifest."""

    display_name: str
    identifier: str
    documentation_url: str
    logo_url: str


class Manifest(InCamelCase):
    """The resources of a domain; also valid as the predecessor format `ai-catalog.json` 1.0."""

    spec_version: Literal["1.0"] = "1.0"
    host: Host
    entries: list[Entry]


class ListQuery(InCamelCase):
    """The query of the list of entries."""

    filter: str | None = Field(
        default=None,
        max_length=1000,
        description="`displayName`, `type`, `publisherId`, `createdAfter` and `updatedAfter`, joined by AND;"
        " several values separated by commas.",
        examples=["displayName = 'translator' AND createdAfter > '2026-01-01'"],
    )
    order_by: str | None = Field(
        default=None,
        max_length=64,
        description="`createdAt` or `updatedAt`, then `ASC` or `DESC`; absent: `createdAt DESC`.",
    )
    page_size: int = Field(default=20, ge=1, le=PAGE_MAX)
    page_token: Annotated[str, Field(max_length=TOKEN_MAX)] | None = None


class ListOut(InCamelCase):
    """A page of entries; `pageToken` is the cursor of the next page, absent on the last one."""

    items: list[Entry]
    page_token: str | None = None


class QueryIn(BodyInCamelCase):
    """The search: values of one filter key are combined with OR, keys with AND."""

    context: Any = Field(default=None, alias="@context", description="Binds prefixes of filter keys.")
    text: Annotated[str, Field(max_length=TEXT_MAX)] | None = None
    filter: Annotated[
        dict[Annotated[str, Field(max_length=VALUE_MAX)], FilterValues | FilterValue], Field(max_length=16)
    ] = Field(default={}, examples=[{"tags": ["finance"]}])


class SearchQueryIn(QueryIn):
    """A search; the text is required."""

    text: str = Field(min_length=1, max_length=TEXT_MAX)


class SearchIn(BodyInCamelCase):
    """The body of a search."""

    query: SearchQueryIn
    federation: Literal["auto", "referrals", "none"] = Field(
        default="auto",
        description="All three search this registry and its mirrors; other registries are not queried.",
    )
    page_size: int = Field(default=10, ge=1, le=PAGE_MAX)
    page_token: Annotated[str, Field(max_length=TOKEN_MAX)] | None = None


class Referral(InCamelCase):
    """Another registry that can be queried."""

    identifier: str
    display_name: str
    type: str
    url: str


class SearchOut(InCamelCase):
    """The results of a search, best match first."""

    results: list[SearchResult]
    referrals: list[Referral] | None = Field(default=None, description="With `federation: referrals` only.")
    page_token: str | None = None


class FacetRequest(BodyInCamelCase):
    """One term to count by."""

    field: str = Field(max_length=VALUE_MAX)
    limit: int = Field(default=20, ge=1, le=PAGE_MAX)
    min_count: int = Field(default=1, ge=0)


class ResultType(BodyInCamelCase):
    """The requested counts."""

    facets: list[FacetRequest] = Field(min_length=1, max_length=16)


class ExploreIn(BodyInCamelCase):
    """The body of a count."""

    query: QueryIn = QueryIn()
    result_type: ResultType


class Bucket(InCamelCase):
    """A value and the number of entries with it."""

    value: str
    count: int


class Facet(InCamelCase):
    """The most frequent values; `otherCount` is absent if an entry may have several values."""

    buckets: list[Bucket]
    other_count: int | None = None


class ExploreOut(InCamelCase):
    """Counts over all results, by the requested fields."""

    result_type: Literal["facets"] = "facets"
    facets: dict[str, Facet]
