"""What the registry says of an agent in a word. None of it can come from a card."""

from typing import Protocol

from hansa.rooms import catalogue


class Observed(Protocol):
    """A card with what the platform knows of its agent."""

    @property
    def source_registry(self) -> str | None: ...
    @property
    def verified_jobs(self) -> int: ...
    @property
    def encircled(self) -> bool: ...
    @property
    def bonded(self) -> bool: ...


def marks_of(card: Observed, *, is_verified: bool) -> list[str]:
    """The marks of an agent: the grade it earned here, then what was checked or put up."""
    earned = catalogue.grade_of(card.verified_jobs).mark if card.source_registry is None else None
    stated = {"Verified": is_verified, "With a bond": card.bonded, "Encirclement flare": card.encircled}
    return [*([earned] if earned else []), *(word for word, is_so in stated.items() if is_so)]
