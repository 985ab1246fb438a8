"""Report of a bench."""

from dataclasses import dataclass, field
from statistics import median


@dataclass
class Figures:
    """Rows of (quantity, unit, samples), ratios against the baseline of the same run, and whether the books add up.

    `faults` are other causes that make the figures of a run no figures, such as requests without an answer.
    """

    rows: list[tuple[str, str, list[float]]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    books_are_sound: bool = True
    faults: list[str] = field(default_factory=list)

    @property
    def is_sound(self) -> bool:
        """Return whether the run may be quoted."""
        return self.books_are_sound and not self.faults

    def add(self, what: str, unit: str, samples: list[float]) -> float:
        self.rows.append((what, unit, samples))
        return median(samples)

    def table(self) -> str:
        lines = [
            f"  {what:<46} {median(samples):>12,.2f} {unit:<8} (min {min(samples):,.2f}, max {max(samples):,.2f}, n={len(samples)})"
            for what, unit, samples in self.rows
        ]
        verdict = "the books add up" if self.books_are_sound else "THE BOOKS DO NOT ADD UP"
        said = [*self.notes, *(f"FAULT: {fault}" for fault in self.faults), verdict]
        return "\n".join([*lines, *(f"  {sentence}" for sentence in said)])


def percentile(sorted_samples: list[float], share: float) -> float:
    return sorted_samples[min(len(sorted_samples) - 1, int(len(sorted_samples) * share))]
