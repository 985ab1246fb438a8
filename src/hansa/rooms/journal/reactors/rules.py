"""How long a reaction that failed is left alone, when it is given up, and what is kept of its trouble."""

from dataclasses import dataclass

TROUBLE_MAX_CHARACTERS = 300


@dataclass(frozen=True)
class RetryPolicy:
    """Pauses double from the first to the longest; after `tries` failures the event is set aside."""

    first_seconds: float = 0.5
    longest_seconds: float = 60.0
    tries: int = 8

    def pause_after(self, failures: int) -> float | None:
        """Seconds until the next try, or None when there is to be none."""
        if failures >= self.tries:
            return None
        return min(self.first_seconds * 2.0 ** (failures - 1), self.longest_seconds)


def error_text(trouble: Exception) -> str:
    """What is kept of a trouble: its kind and the first line, which names no values of a row."""
    line = str(trouble).partition("\n")[0]
    return f"{type(trouble).__name__}: {line}"[:TROUBLE_MAX_CHARACTERS]
