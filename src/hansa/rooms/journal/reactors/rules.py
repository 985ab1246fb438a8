"""How long a reaction that failed is left alone, and when it is given up."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Patience:
    """Pauses double from the first to the longest; after `tries` failures the event is set aside."""

    first_seconds: float = 0.5
    longest_seconds: float = 60.0
    tries: int = 8

    def pause_after(self, failures: int) -> float | None:
        """Seconds until the next try, or None when there is to be none."""
        if failures >= self.tries:
            return None
        return min(self.first_seconds * 2.0 ** (failures - 1), self.longest_seconds)
