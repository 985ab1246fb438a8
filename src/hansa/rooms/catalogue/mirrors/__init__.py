"""Mirrored cards: what peer registries say of their agents, applied a page at a time."""

from .apply import mirror_cards
from .records import MirrorResult

__all__ = ["MirrorResult", "mirror_cards"]
