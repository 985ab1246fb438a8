"""Reactors: what is done because something happened, after the commit that told of it."""

from .reactor import React, Reactor
from .readings import read_reactors
from .routes import router
from .runner import run_reactors, settle_reactors

__all__ = ["React", "Reactor", "read_reactors", "router", "run_reactors", "settle_reactors"]
