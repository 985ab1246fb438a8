"""Scores, track records and marks, from settled payments and rulings."""

from .epochs import JOBS, RECORD_SIGNALS, SIGNALS, Funds, compute_epoch
from .reading import grade_history_of, recorded_after, reputation_of, track_record_of
from .records import Epoch, GradeChange, RecordedSignal, Reputation, TrackRecord
from .routes import router
from .schemas import ScoreComponent
from .store import GRADES_STATE, RECORD_STATE, SCORE_STATE

__all__ = [
    "GRADES_STATE",
    "JOBS",
    "RECORD_SIGNALS",
    "RECORD_STATE",
    "SCORE_STATE",
    "SIGNALS",
    "Epoch",
    "Funds",
    "GradeChange",
    "RecordedSignal",
    "Reputation",
    "ScoreComponent",
    "TrackRecord",
    "compute_epoch",
    "grade_history_of",
    "recorded_after",
    "reputation_of",
    "router",
    "track_record_of",
]
