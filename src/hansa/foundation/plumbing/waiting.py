"""How much work waits in a queue, and for how long.

Each owner of a queue returns it for its own table; `hansa status` and `hansa doctor` show it.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Waiting:
    """How many entries wait; `oldest_seconds` is None when nothing does."""

    count: int
    oldest_seconds: float | None
