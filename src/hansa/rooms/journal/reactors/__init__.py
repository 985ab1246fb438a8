"""Reactors: work done in response to an event, after the commit of the event."""

from .administering import reactors_before, read_reactors, resume_events
from .routes import router
from .runner import reactor_jobs, settle_reactors
from .store import count_set_aside, pass_over

__all__ = [
    "count_set_aside",
    "pass_over",
    "reactor_jobs",
    "reactors_before",
    "read_reactors",
    "resume_events",
    "router",
    "settle_reactors",
]
