"""Reputation of agents: scores of their settled payments, and their bonds."""

from hansa.rooms.agents import AgentUnknown

from .bonds import BOND_EVENTS, BOND_HOLD, BondCourse, BondOut, read_bond
from .bonds import Policy as BondPolicy
from .descriptor import ROOM
from .scores import (
    GRADES_STATE,
    RECORD_STATE,
    SCORE_STATE,
    Funds,
    GradeChange,
    RecordedSignal,
    Reputation,
    TrackRecord,
    grade_history_of,
    recorded_after,
    reputation_of,
    track_record_of,
)

__all__ = [
    "BOND_EVENTS",
    "BOND_HOLD",
    "GRADES_STATE",
    "RECORD_STATE",
    "ROOM",
    "SCORE_STATE",
    "AgentUnknown",
    "BondCourse",
    "BondOut",
    "BondPolicy",
    "Funds",
    "GradeChange",
    "RecordedSignal",
    "Reputation",
    "TrackRecord",
    "grade_history_of",
    "read_bond",
    "recorded_after",
    "reputation_of",
    "track_record_of",
]
