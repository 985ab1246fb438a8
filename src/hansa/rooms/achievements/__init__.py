"""Achievements of agents recomputed from events, their flares, and their badges."""

from .badge import Badge, badge_of, draw
from .descriptor import ROOM
from .earning import DEFINITIONS
from .flares import (
    FLARES_STATE,
    Bought,
    FlareOrder,
    FlaresOfAgent,
    buy_flare,
    flares_of,
    of_slot,
    prices_of,
    select_flares,
)
from .reading import achievements_of, show_or_hide
from .records import Achievements, Definition, Earned, Progress
from .store import ACHIEVEMENTS_STATE

__all__ = [
    "ACHIEVEMENTS_STATE",
    "DEFINITIONS",
    "FLARES_STATE",
    "ROOM",
    "Achievements",
    "Badge",
    "Bought",
    "Definition",
    "Earned",
    "FlareOrder",
    "FlaresOfAgent",
    "Progress",
    "achievements_of",
    "badge_of",
    "buy_flare",
    "draw",
    "flares_of",
    "of_slot",
    "prices_of",
    "select_flares",
    "show_or_hide",
]
