"""Achievements of agents recomputed from events, their flares, and their badges."""

from .descriptor import ROOM
from .earning import DEFINITIONS
from .flares import flares_of, of_slot, prices_of
from .reading import achievements_of, show_or_hide
from .records import Achievements
from .store import ACHIEVEMENTS_STATE

__all__ = [
    "ACHIEVEMENTS_STATE",
    "DEFINITIONS",
    "ROOM",
    "Achievements",
    "achievements_of",
    "flares_of",
    "of_slot",
    "prices_of",
    "show_or_hide",
]
