"""Replay of a period of the journal with other parameters, by the engine of the ledger: `hansa replay`."""

from .parameters import ReplayRefused, changes_of
from .replaying import NotReplayable, ReplayRequest, replay, replay_on
from .report import Report
from .scratch import prepare

__all__ = [
    "NotReplayable",
    "ReplayRefused",
    "ReplayRequest",
    "Report",
    "changes_of",
    "prepare",
    "replay",
    "replay_on",
]
