"""Descriptor of the operations room for the process."""

from hansa.foundation.plumbing.room import Room, Routes

from .bundles import NO_PIPELINES, PIPELINES_OF_BUNDLE
from .logs import LOG_DAYS, LOG_SIZES, REGISTRY_ENTRIES, router

ROOM = Room(
    name="operations",
    routes=(Routes(1490, router),),
    reactors=(REGISTRY_ENTRIES,),
    jobs=(LOG_DAYS, LOG_SIZES),
    settings=frozenset({"agent_log_days"}),
    offers=(PIPELINES_OF_BUNDLE,),
    # A room of pipelines above fills the slot in place of this line.
    fills=(PIPELINES_OF_BUNDLE.filled_with(NO_PIPELINES),),
)
