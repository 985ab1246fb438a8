"""Answers about the reputation of agents."""

from datetime import date, datetime
from decimal import Decimal

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
