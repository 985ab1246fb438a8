"""Spawn: agents with a purse of their own that agents make for a while, and the end that returns the rest to the parent."""

from hansa.rooms.spawn.descriptor import ROOM
from hansa.rooms.spawn.ending import LET_BOND_GO, Ended, end_child
from hansa.rooms.spawn.reading import Purse, purses_of
from hansa.rooms.spawn.spawning import Spawned, SpawnOrder, cost_of, spawn

__all__ = [
    "LET_BOND_GO",
    "ROOM",
    "Ended",
    "Purse",
    "SpawnOrder",
    "Spawned",
    "cost_of",
    "end_child",
    "purses_of",
    "spawn",
]
