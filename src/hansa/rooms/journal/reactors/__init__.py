"""Reactors: what is done because something happened, after the commit that told of it."""

from .reactor import React, Reactor
from .routes import router
from .runner import run_reactors, settle_reactors
from .store import pass_over

__all__ = ["React", "Reactor", "pass_over", "router", "run_reactors", "settle_reactors"]
