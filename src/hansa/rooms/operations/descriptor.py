"""Descriptor of the operations room for the process."""

from hansa.foundation.plumbing.room import Room, Routes

from .logs import LOG_DAYS, LOG_SIZES, REGISTRY_ENTRIES, router

ROOM = Room(
    name="operations",
    routes=(Routes(1490, router),),
    reactors=(REGISTRY_ENTRIES,),
    jobs=(LOG_DAYS, LOG_SIZES),
    settings=frozenset({"agent_log_days"}),
)
