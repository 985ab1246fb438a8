"""Reputation: what the settled money and the bonds of agents say about them."""

from .descriptor import ROOM

__all__ = ["ROOM"]
