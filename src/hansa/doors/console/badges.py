"""One-word marks of an agent by the registry. None of them can come from a card."""

from typing import Protocol

from hansa.rooms import catalogue


class Observed(Protocol):
    """A card with the platform's knowledge of its agent."""

    @property
    def source_registry(self) -> str | None: ...
    @property
    def verified_jobs(self) -> int: ...
    @property
    def encircled(self) -> bool: ...
    @property
    def bonded(self) -> bool: ...


def marks_of(card: Observed, *, is_verified: bool) -> list[str]:
    """Return the marks of an agent: the grade it earned here, then verification, bond and encirclement flare."""
    earned = catalogue.grade_of(card.verified_jobs).mark if card.source_registry is None else None
    declared = {"Verified": is_verified, "With a bond": card.bonded, "Encirclement flare": card.encircled}
    return [*([earned] if earned else []), *(word for word, is_so in declared.items() if is_so)]
