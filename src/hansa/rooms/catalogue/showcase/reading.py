"""Showcase as anybody reads it. The search index names the agents of each list; the database states whether they may be shown now."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal

import msgspec

from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.rooms.catalogue.search import LOCAL_ORIGIN, Searcher, SearchNotReady, SearchQuery

from . import rules, store
from .store import Candidate

Reason = Literal["pinned", "most_verified", "newest", "best_answering"]

# More than are shown: agents of an owner who is shown already are passed over.
CANDIDATES = 40
LISTS: Mapping[Reason, SearchQuery] = {
    "most_verified": SearchQuery(
        origins=(LOCAL_ORIGIN,), answerable_only=True, agents_only=True, sort="proven", limit=CANDIDATES
    ),
    "newest": SearchQuery(
        origins=(LOCAL_ORIGIN,), answerable_only=True, agents_only=True, sort="newest", limit=CANDIDATES
    ),
    "best_answering": SearchQuery(
        origins=(LOCAL_ORIGIN,),
        answerable_only=True,
        agents_only=True,
        active_24h=True,
        sort="reputation",
        limit=CANDIDATES,
    ),
}


class ShowcaseItem(msgspec.Struct, frozen=True):
    """Agent that is shown, and why; `note` is that of the administrators, or states the reason."""

    did: str
    name: str
    reason: Reason
    note: str


async def read_showcase(searcher: Searcher, database: Database) -> tuple[list[ShowcaseItem], datetime]:
    """The agents to show, and the time at which they were read. While the index is being built there are pins alone."""
    try:
        hits = await asyncio.gather(*(searcher.hits(query) for query in LISTS.values()))
    except SearchNotReady:
        hits = []
    numbers = {reason: found.numbers for reason, found in zip(LISTS, hits, strict=False)}
    every = sorted({number for found in numbers.values() for number in found})

    async def reading(tx: Tx) -> tuple[Sequence[Candidate], Mapping[int, Candidate], datetime]:
        return await read_together(tx, store.pinned, lambda tx: store.found(tx, every), clock.began_at)

    pinned, present, as_of = await database.query(reading)
    lists: dict[Reason, list[Candidate]] = {
        reason: [present[number] for number in found if number in present and _is_of(reason, present[number])]
        for reason, found in numbers.items()
    }
    return [_item(reason, agent) for reason, agent in rules.chosen(pinned, lists, "pinned")], as_of


def _is_of(reason: Reason, agent: Candidate) -> bool:
    return agent.verified_jobs > 0 if reason == "most_verified" else True


def _item(reason: Reason, agent: Candidate) -> ShowcaseItem:
    match reason:
        case "pinned":
            note = agent.note or ""
        case "most_verified":
            note = f"{agent.verified_jobs} verified jobs"
        case "newest":
            note = f"Registered on {agent.created_at:%Y-%m-%d}"
        case "best_answering":
            note = "Answered in the last 24 hours"
    return ShowcaseItem(agent.did, agent.name, reason, note)
