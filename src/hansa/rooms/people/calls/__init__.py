"""The last API calls of each developer, and of the developer's agents: for the page that shows them."""

from .batch import CALLS, Call
from .store import calls_of, forget_older
from .writing import WRITE_CALLS, write_calls, writing_the_rest

__all__ = [
    "CALLS",
    "WRITE_CALLS",
    "Call",
    "calls_of",
    "forget_older",
    "write_calls",
    "writing_the_rest",
]
