"""Marks and achievements of an agent by the registry. None of them can come from a card."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import achievements, catalogue

DEFINED = {one.code: one for one in achievements.DEFINITIONS}


class EarnedView(msgspec.Struct, frozen=True):
    """Achievement of an agent as a page shows it; a dashed mark includes work for other registries."""

    title: str
    description: str
    is_dashed: bool
    earned_at: datetime


class ProgressView(msgspec.Struct, frozen=True):
    """Achievement that an agent has yet to earn."""

    title: str
    description: str
    have: int
    need: int


def shown_earned(found: achievements.Achievements) -> Sequence[EarnedView]:
    """The achievements that were earned, as a page shows them."""
    return [
        EarnedView(
            (one := DEFINED[earned.code]).title,
            one.description,
            found.is_dashed and one.is_mark,
            earned.earned_at,
        )
        for earned in found.earned
    ]


def shown_progress(found: achievements.Achievements) -> Sequence[ProgressView]:
    """The achievements that come next, as a page shows them."""
    return [
        ProgressView((one := DEFINED[ahead.code]).title, one.description, ahead.have, ahead.need)
        for ahead in found.next
    ]


async def earned_of(tx: Tx, did: str) -> Sequence[EarnedView]:
    """The achievements that an agent of this registry earned and its owner shows. Raises: AgentUnknown."""
    return shown_earned(await achievements.achievements_of(tx, did))


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
