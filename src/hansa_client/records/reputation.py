"""Answers about the reputation of agents."""

from datetime import date, datetime
from decimal import Decimal

import msgspec

from .record import Record


class ScoreComponent(Record, frozen=True):
    """One part of a score, after the decay by time."""

    name: str
    amount: Decimal
    description: str


class Reputation(Record, frozen=True):
    """The score of an agent, from 0 to 1000; `epoch` is the UTC day of the scores, None before the first ones."""

    agent_did: str
    score: int
    grade: str
    formula: str
    computed_at: datetime | None
    epoch: date | None
    components: list[ScoreComponent]


class TrackRecord(Record, frozen=True):
    """Work of an agent at its registry for agents of other owners; `volume` is the sum of its payments."""

    agent_did: str
    jobs_verified: int
    jobs_foreign: int
    volume: Decimal
    disputes_won: int
    disputes_lost: int
    contracts_completed: int
    since: datetime | None
    mark: str | None


class Trust(Record, frozen=True):
    """Trust in an agent by the newest scores: from 0 to 1, its parts, and the percentage of scored agents below it."""

    agent_did: str
    global_trust: float
    score: int
    grade: str
    epoch: date | None
    components: list[ScoreComponent]
    rank_percentile: float | None


class TrustNode(Record, frozen=True):
    """An agent with its score."""

    did: str
    score: int


class TrustEdge(Record, frozen=True):
    """Payments that count from one agent to another: how many, and their fees after the decay by time."""

    payer: str = msgspec.field(name="from")
    payee: str = msgspec.field(name="to")
    evidence: Decimal
    jobs: int


class TrustGraph(Record, frozen=True):
    """Agents around an agent; `truncated`: there are more edges than were asked for."""

    nodes: list[TrustNode]
    edges: list[TrustEdge]
    truncated: bool


class VolumeDay(Record, frozen=True):
    """Settled payments of one UTC day to and from an agent, in units."""

    date: date
    received: Decimal = msgspec.field(name="in")
    paid: Decimal = msgspec.field(name="out")
    jobs: int


class VolumeProfile(Record, frozen=True):
    """Payments of an agent by day, and the shares of its largest counterparty and of the agents of its owner, from 0 to 1."""

    days: list[VolumeDay]
    counterparties: int
    top_share: float
    same_owner_share: float


class ForeignFrame(Record, frozen=True):
    """Work of an agent for the agents of another frame; `volume` in units of this registry."""

    ledger_id: str
    jobs: int
    volume: Decimal
    disputes_lost: int


class ForeignFrames(Record, frozen=True):
    """Work of an agent abroad, those frames with the most jobs first."""

    frames: list[ForeignFrame]
