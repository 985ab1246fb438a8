"""Shapes of Agentic Resource Discovery, v0.91; names as that specification writes them."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from hansa.foundation.values.request_body import RequestBody

BASE_CONTEXT = "https://agenticresourcediscovery.org/context/v1"
PAGE_MAX = 100
TEXT_MAX = 1000
TOKEN_MAX = 512
VALUE_MAX = 256

FilterValue = Annotated[str, Field(max_length=VALUE_MAX)]
FilterValues = Annotated[list[FilterValue], Field(max_length=64)]


class InCamelCase(BaseModel):
    """A shape whose members are written in camel case."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, validate_by_alias=True)


class BodyInCamelCase(RequestBody, InCamelCase):
    """A request body whose members are written in camel case; a member that is not known is refused."""

    model_config = ConfigDict(extra="forbid")


class TrustManifest(InCamelCase):
    """Under which identity the agent proves itself."""

    identity: str
    identity_type: Literal["did", "spiffe"]


class EntryMembers(InCamelCase):
    """What is told of a resource wherever it stands."""

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
    """One resource as a whole: exactly one of `url` and `data` leads to it."""

    context: str = Field(default=BASE_CONTEXT, alias="@context")
    data: dict[str, Any] | None = None
    capabilities: list[str] | None = None
    representative_queries: list[str] | None = None
    version: str | None = None


class SearchResult(EntryMembers):
    """One entry that a search found; the whole of it is read under its identifier."""

    score: int = Field(ge=0, le=100, description="How well the words fit; says nothing about trust.")
    source: str = Field(description="The registry whose index holds the entry.")


class Host(InCamelCase):
    """Who publishes a manifest."""

    display_name: str
    identifier: str
    documentation_url: str
    logo_url: str


class Manifest(InCamelCase):
    """What a domain offers; also of the form of the predecessor, `ai-catalog.json` 1.0."""

    spec_version: Literal["1.0"] = "1.0"
    host: Host
    entries: list[Entry]


class ListQuery(InCamelCase):
    """The query of the list of entries."""

    filter: str | None = Field(
        default=None,
        max_length=1000,
        description="`displayName`, `type`, `publisherId`, `createdAfter` and `updatedAfter`, joined by AND;"
        " a value may be several, separated by commas.",
        examples=["displayName = 'translator' AND createdAfter > '2026-01-01'"],
    )
    order_by: str | None = Field(
        default=None,
        max_length=64,
        description="`createdAt` or `updatedAt`, then `ASC` or `DESC`; without: `createdAt DESC`.",
    )
    page_size: int = Field(default=20, ge=1, le=PAGE_MAX)
    page_token: Annotated[str, Field(max_length=TOKEN_MAX)] | None = None


class ListOut(InCamelCase):
    """A page of entries; `pageToken` leads on, and is missing where the list ends."""

    items: list[Entry]
    page_token: str | None = None


class QueryIn(BodyInCamelCase):
    """What is looked for: values of one filter key are alternatives, keys narrow one another."""

    context: Any = Field(default=None, alias="@context", description="Binds prefixes of filter keys.")
    text: Annotated[str, Field(max_length=TEXT_MAX)] | None = None
    filter: Annotated[
        dict[Annotated[str, Field(max_length=VALUE_MAX)], FilterValues | FilterValue], Field(max_length=16)
    ] = Field(default={}, examples=[{"tags": ["finance"]}])


class SearchQueryIn(QueryIn):
    """A search: words are required."""

    text: str = Field(min_length=1, max_length=TEXT_MAX)


class SearchIn(BodyInCamelCase):
    """The body of a search."""

    query: SearchQueryIn
    federation: Literal["auto", "referrals", "none"] = Field(
        default="auto", description="All three search this registry and its mirrors; no other is asked."
    )
    page_size: int = Field(default=10, ge=1, le=PAGE_MAX)
    page_token: Annotated[str, Field(max_length=TOKEN_MAX)] | None = None


class Referral(InCamelCase):
    """Another registry that may be asked."""

    identifier: str
    display_name: str
    type: str
    url: str


class SearchOut(InCamelCase):
    """What a search found, the best first."""

    results: list[SearchResult]
    referrals: list[Referral] | None = Field(default=None, description="With `federation: referrals` only.")
    page_token: str | None = None


class FacetRequest(BodyInCamelCase):
    """One term to count by."""

    field: str = Field(max_length=VALUE_MAX)
    limit: int = Field(default=20, ge=1, le=PAGE_MAX)
    min_count: int = Field(default=1, ge=0)


class ResultType(BodyInCamelCase):
    """The shape of the counts."""

    facets: list[FacetRequest] = Field(min_length=1, max_length=16)


class ExploreIn(BodyInCamelCase):
    """The body of a count."""

    query: QueryIn = QueryIn()
    result_type: ResultType


class Bucket(InCamelCase):
    """A value and how many entries have it."""

    value: str
    count: int


class Facet(InCamelCase):
    """The commonest values; `otherCount` is missing where an entry may have several values."""

    buckets: list[Bucket]
    other_count: int | None = None


class ExploreOut(InCamelCase):
    """Counts over everything that was found, by the fields as they were asked for."""

    result_type: Literal["facets"] = "facets"
    facets: dict[str, Facet]
