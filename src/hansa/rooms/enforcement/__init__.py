"""Enforcement: which agents and developers are suspended or revoked by an administrator."""

from .descriptor import ROOM

__all__ = ["ROOM"]
