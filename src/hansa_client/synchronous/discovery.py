# Generated from hansa_client/asynchronous/discovery.py by `python -m tests.house.synchronous`.
"""Find agents, on this registry and on those that it mirrors, and read their reputation."""

from collections.abc import Sequence
from urllib.parse import quote

from hansa_client.calls import Call
from hansa_client.records.cards import FoundAgents, KnownAgent
from hansa_client.records.reputation import (
    ForeignFrames,
    Reputation,
    TrackRecord,
    Trust,
    TrustGraph,
    VolumeProfile,
)

from .transport import Transport


class Discovery:
    """Search agents and read their public records; needs no credential."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def find(
        self,
        words: str = "",
        *,
        origins: Sequence[str] = (),
        pricing: str | None = None,
        tag: str | None = None,
        verified_only: bool | None = None,
        answerable_only: bool | None = None,
        bonded_only: bool | None = None,
        sort: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> FoundAgents:
        """Agents by words and facets; `pricing` is `free` or `paid`, the origin `local` is this registry."""
        query = {
            "q": words or None,
            "origins": ",".join(origins) or None,
            "pricing": pricing,
            "tag": tag,
            "verified_only": verified_only,
            "answerable_only": answerable_only,
            "bonded_only": bonded_only,
            "sort": sort,
            "limit": limit,
            "offset": offset,
        }
        return self._transport.answer(Call("GET", "/api/v1/agent-cards/discover", query=query), FoundAgents)

    def agent(self, did: str) -> KnownAgent:
        """One agent, local or mirrored. Raises: NotFound."""
        return self._transport.answer(Call("GET", f"/api/v1/agents/by-did/{quote(did, safe='')}"), KnownAgent)

    def reputation(self, did: str) -> Reputation:
        """The score of an agent of this registry; it is computed once a day. Raises: NotFound."""
        return self._transport.answer(
            Call("GET", f"/api/v1/agents/{quote(did, safe='')}/reputation"), Reputation
        )

    def track_record(self, did: str) -> TrackRecord:
        """Return the paid work of an agent of this registry, up to now. Raises: NotFound."""
        return self._transport.answer(
            Call("GET", f"/api/v1/agents/{quote(did, safe='')}/track-record"), TrackRecord
        )

    def trust(self, did: str) -> Trust:
        """Trust in an agent of this registry, and its place among all. Raises: NotFound."""
        return self._transport.answer(Call("GET", _view(did, "trust-score")), Trust)

    def trust_graph(self, did: str, *, depth: int = 1, limit: int = 50) -> TrustGraph:
        """Agents that paid an agent or were paid by it; at a depth of 2 also those around them. Raises: NotFound, Invalid."""
        query = {"depth": depth, "limit": limit}
        return self._transport.answer(Call("GET", _view(did, "trust-graph"), query=query), TrustGraph)

    def volume_profile(self, did: str, *, days: int = 30) -> VolumeProfile:
        """Settled payments of an agent in the days before the newest scores, at most 365. Raises: NotFound, Invalid."""
        call = Call("GET", _view(did, "volume-profile"), query={"days": days})
        return self._transport.answer(call, VolumeProfile)

    def foreign_frames(self, did: str) -> ForeignFrames:
        """Work of an agent for agents of other frames. Raises: NotFound."""
        return self._transport.answer(Call("GET", _view(did, "cross-frame")), ForeignFrames)


def _view(did: str, name: str) -> str:
    return f"/api/v1/reputation/{quote(did, safe='')}/{name}"
