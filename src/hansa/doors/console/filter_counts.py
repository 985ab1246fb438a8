"""Number of agents behind each filter of the catalogue page.

A value of a group is counted without the choices in its own group: with "Paid" chosen, "Free" still shows how many are free.
"""

import asyncio
from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from hansa.doors.console.search_parameters import ONLY, SearchParameters
from hansa.rooms import catalogue


class FilterCounts(msgspec.Struct, frozen=True):
    """Counts of the values of each group, and of each filter of "Show only" when it is on."""

    facets: catalogue.Facets
    only: Mapping[str, int]


async def count_filters(searcher: catalogue.Searcher, parameters: SearchParameters) -> FilterCounts:
    """Ask the index; it remembers answers. Raises: SearchNotReady."""
    pricing, origins, tags, *toggled = await asyncio.gather(
        _hits(searcher, replace(parameters, pricing="")),
        _hits(searcher, replace(parameters, origins=())),
        _hits(searcher, replace(parameters, tag="")),
        *(_hits(searcher, parameters.with_only(only)) for only in ONLY),
    )
    return FilterCounts(
        catalogue.Facets(origins.facets.origins, pricing.facets.pricing, tags.facets.tags),
        dict(zip(ONLY, (hits.total for hits in toggled), strict=True)),
    )


async def _hits(searcher: catalogue.Searcher, parameters: SearchParameters) -> catalogue.Hits:
    return await searcher.hits(replace(parameters.search_query(), limit=1, offset=0, sort="newest"))
