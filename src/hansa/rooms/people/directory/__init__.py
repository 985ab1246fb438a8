"""Developers as administrators find them."""

from .reading import find_developers, read_developer
from .records import FoundDeveloper

__all__ = ["FoundDeveloper", "find_developers", "read_developer"]
