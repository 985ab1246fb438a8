"""Views as they are read. Amounts are in minor units, shares between 0 and 1."""

from datetime import date

import msgspec


class Edge(msgspec.Struct, frozen=True):
    """Payments that count from one agent to another: how many, and their fees, decayed as in the score."""

    giver: str
    receiver: str
    jobs: int
    evidence: int


class Graph(msgspec.Struct, frozen=True):
    """Agents with their scores, and the edges between them; `truncated`: there are more edges."""

    scores: dict[str, int]
    edges: list[Edge]
    truncated: bool


class VolumeDay(msgspec.Struct, frozen=True):
    """Payments of one UTC day to and from an agent."""

    day: date
    received: int
    paid: int
    jobs: int


class VolumeProfile(msgspec.Struct, frozen=True):
    """Payments of an agent by day, and how they are spread over its counterparties."""

    days: list[VolumeDay]
    counterparties: int
    top_share: float
    same_owner_share: float


class ForeignFrame(msgspec.Struct, frozen=True):
    """Jobs of an agent for the agents of another frame that count, and disputes that it lost against them."""

    ledger_id: str
    jobs: int
    volume: int
    disputes_lost: int
