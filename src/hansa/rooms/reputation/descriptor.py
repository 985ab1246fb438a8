"""What the process needs to know of reputation."""

from hansa.foundation.plumbing.room import Room, Routes

from . import scores

ROOM = Room(
    name="reputation",
    routes=(Routes(2030, scores.router),),
    reactors=(scores.SIGNALS,),
    jobs=(scores.RECORD_SIGNALS, *scores.JOBS),
    settings=frozenset({"mark_min_fee"}),
)
