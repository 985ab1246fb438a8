"""Search of a visitor in the catalogue. All of it stands in the address, so a page can be kept, sent and gone back to.

A part of the address that means nothing is passed over: a person who follows an old or cut link still sees a page.
"""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import msgspec
from msgspec.structs import asdict, replace

from hansa.rooms import catalogue

PAGE = 20
TAGS_OFFERED = 12
ORIGINS_OFFERED = 12
TEXT_MAX = 100
ORIGINS_MAX = 600
TAG_MAX = 60

SORTS = {
    "relevance": "Best match",
    "newest": "Newest",
    "reputation": "Reputation",
    "proven": "Most verified jobs",
    "price_low": "Price: low to high",
    "price_high": "Price: high to low",
}
ONLY = {
    "verified_only": "Verified",
    "active_24h": "Responded in the last 24 hours",
    "answerable_only": "Callable",
    "bonded_only": "With a bond",
    "encircled_only": "Encirclement flare",
    "foreign_only": "Other settlement currency",
}
ONLY_EXPLAINED = {
    "verified_only": "The registry verified the host of the agent or the signature of its card.",
    "active_24h": "The agent answered a health check or sent a request in the last 24 hours.",
    "answerable_only": "The card states an address at which the agent can be called.",
    "bonded_only": "The agent has deposited a reputation bond.",
    "encircled_only": "The home registry shows the encirclement flare on the card.",
    "foreign_only": "The agent is paid in another unit than that of this registry.",
}
PROTOCOLS = {"a2a": "A2A", "mcp": "MCP"}
PRICINGS = {"free": "Free", "paid": "Paid"}
HERE = "This registry"

_PRICE = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,8})?", re.ASCII)
_OFFSET = re.compile(r"[0-9]{1,9}", re.ASCII)


class Choice(msgspec.Struct, frozen=True):
    """Something to choose or to leave again: where it leads, and how many cards it stands for."""

    label: str
    address: str
    is_chosen: bool = False
    count: int | None = None
    is_theirs: bool = False
    title: str = ""


class SearchParameters(msgspec.Struct, frozen=True):
    """One state of the catalogue page."""

    q: str = ""
    origins: tuple[str, ...] = ()
    pricing: str = ""
    protocol: str = ""
    max_price: str = ""
    tag: str = ""
    verified_only: bool = False
    active_24h: bool = False
    answerable_only: bool = False
    bonded_only: bool = False
    encircled_only: bool = False
    foreign_only: bool = False
    sort: str = "relevance"
    offset: int = 0

    @classmethod
    def at(cls, query: Mapping[str, str]) -> "SearchParameters":
        """Return the parameters in the query of an address."""
        named = (name.strip() for name in query.get("origins", "")[:ORIGINS_MAX].split(","))
        pricing, sort = query.get("pricing", ""), query.get("sort", "")
        return cls(
            q=query.get("q", "").strip()[:TEXT_MAX],
            origins=tuple(sorted({name for name in named if name})),
            pricing=pricing if pricing in PRICINGS else "",
            protocol=query.get("protocol", "") if query.get("protocol", "") in PROTOCOLS else "",
            max_price=_price(query.get("max_price", "")),
            tag=query.get("tag", "")[:TAG_MAX],
            sort=sort if sort in SORTS else "relevance",
            offset=int(query["offset"]) if _OFFSET.fullmatch(query.get("offset", "")) else 0,
            **{only: query.get(only, "") == "true" for only in ONLY},
        )

    def search_query(self) -> catalogue.SearchQuery:
        """The search of this state."""
        members = asdict(self)
        members |= {name: getattr(self, name) or None for name in ("pricing", "protocol", "tag")}
        members["max_price"] = float(self.max_price) if self.max_price else None
        return catalogue.SearchQuery(**members, limit=PAGE)

    def with_only(self, name: str) -> "SearchParameters":
        """The same state with one filter of `ONLY` on."""
        changes: dict[str, Any] = {name: True}
        return replace(self, **changes)

    def members(self) -> dict[str, str]:
        """Return the differences from the empty state, as they stand in an address."""
        values = asdict(self)
        return {name: _written(value) for name, value in values.items() if value != getattr(EMPTY, name)}

    @property
    def address(self) -> str:
        """Address of this state."""
        return "/catalogue" + (f"?{urlencode(members)}" if (members := self.members()) else "")

    def but(self, **changes: Any) -> str:
        """Return the address of the state with these changes, from its first page on."""
        return replace(self, **{"offset": 0, **changes}).address

    @property
    def is_narrowed(self) -> bool:
        """Return whether anything but the order and the place was chosen."""
        return bool(self.members().keys() - {"sort", "offset"})


EMPTY = SearchParameters()


def chosen(parameters: SearchParameters) -> list[Choice]:
    """Return the choices that narrow the page now; each leads to the page without it."""
    return [
        *([Choice(parameters.q, parameters.but(q=""), is_theirs=True)] if parameters.q else []),
        *(
            Choice(label, parameters.but(**{only: False}))
            for only, label in ONLY.items()
            if getattr(parameters, only)
        ),
        *([Choice(PRICINGS[parameters.pricing], parameters.but(pricing=""))] if parameters.pricing else []),
        *(
            [Choice(PROTOCOLS[parameters.protocol], parameters.but(protocol=""))]
            if parameters.protocol
            else []
        ),
        *(
            [Choice(f"At most {parameters.max_price}", parameters.but(max_price=""))]
            if parameters.max_price
            else []
        ),
        *(_origin(parameters, name) for name in parameters.origins),
        *([Choice(f"#{parameters.tag}", parameters.but(tag=""), is_theirs=True)] if parameters.tag else []),
    ]


def offered(
    parameters: SearchParameters, facets: catalogue.Facets, only_counts: Mapping[str, int]
) -> list[tuple[str, list[Choice]]]:
    """Return the possible choices, group by group, with the number of cards of each."""
    toggles = [
        Choice(
            label,
            parameters.but(**{only: not getattr(parameters, only)}),
            is_chosen=getattr(parameters, only),
            count=only_counts[only],
            title=ONLY_EXPLAINED[only],
        )
        for only, label in ONLY.items()
    ]
    pricings = [
        Choice(
            label,
            parameters.but(pricing="" if parameters.pricing == name else name),
            is_chosen=parameters.pricing == name,
            count=facets.pricing.get(name, 0),
        )
        for name, label in PRICINGS.items()
    ]
    protocols = [
        Choice(
            label,
            parameters.but(protocol="" if parameters.protocol == name else name),
            is_chosen=parameters.protocol == name,
        )
        for name, label in PROTOCOLS.items()
    ]
    # What was chosen stays in sight, also where nothing of it is left.
    origins = [*parameters.origins, *(name for name in facets.origins if name not in parameters.origins)]
    tags = [*filter(None, [parameters.tag]), *(tag for tag in facets.tags if tag != parameters.tag)]
    groups = [
        ("Show only", toggles),
        ("Price", pricings),
        ("Protocol", protocols),
        (
            "Origin",
            [_origin(parameters, name, facets.origins.get(name, 0)) for name in origins[:ORIGINS_OFFERED]],
        ),
        ("Tag", [_tag(parameters, tag, facets.tags.get(tag, 0)) for tag in tags[:TAGS_OFFERED]]),
    ]
    return [(title, choices) for title, choices in groups if choices]


def orders(parameters: SearchParameters) -> list[Choice]:
    """The orders that the page can be in."""
    return [
        Choice(label, parameters.but(sort=name), is_chosen=parameters.sort == name)
        for name, label in SORTS.items()
    ]


def _origin(parameters: SearchParameters, name: str, count: int | None = None) -> Choice:
    is_chosen = name in parameters.origins
    others = {*parameters.origins} - {name}
    is_here = name == catalogue.LOCAL_ORIGIN
    return Choice(
        HERE if is_here else name,
        parameters.but(origins=tuple(sorted(others if is_chosen else others | {name}))),
        is_chosen=is_chosen,
        count=count,
        is_theirs=not is_here,
    )


def _tag(parameters: SearchParameters, tag: str, count: int) -> Choice:
    is_chosen = tag == parameters.tag
    return Choice(
        tag, parameters.but(tag="" if is_chosen else tag), is_chosen=is_chosen, count=count, is_theirs=True
    )


def _price(text: str) -> str:
    """The price as digits, with a point also for a decimal comma; empty for any other text."""
    digits = text.strip().replace(",", ".")
    return digits if _PRICE.fullmatch(digits) else ""


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(value) if isinstance(value, tuple) else str(value)
