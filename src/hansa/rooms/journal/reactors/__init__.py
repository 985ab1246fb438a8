"""Reactors: what is done because something happened, after the commit that told of it."""

from .reactor import React, Reactor
from .routes import router
from .runner import run_reactors, settle_reactors

__all__ = ["React", "Reactor", "router", "run_reactors", "settle_reactors"]
