"""Commerce: paid calls by payment tokens; contracts and disputes stand beside them."""

from .descriptor import ROOM

__all__ = ["ROOM"]
