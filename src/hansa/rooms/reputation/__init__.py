"""Reputation: what the settled payments and the bonds of agents say about them."""

from hansa.rooms.agents import AgentUnknown

from .descriptor import ROOM
from .scores import (
    GradeChange,
    Reputation,
    TrackRecord,
    grade_history_of,
    reputation_of,
    track_record_of,
)

__all__ = [
    "ROOM",
    "AgentUnknown",
    "GradeChange",
    "Reputation",
    "TrackRecord",
    "grade_history_of",
    "reputation_of",
    "track_record_of",
]
