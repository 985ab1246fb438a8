"""Admission: the licence keys by which other registries may read what is not public."""

from .check import check_licence
from .routes import router

__all__ = ["check_licence", "router"]
