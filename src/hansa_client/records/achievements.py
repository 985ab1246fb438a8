"""Answers about achievements and flares."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from .record import Record


class AchievementDefinition(Record, frozen=True):
    """Achievement that agents can earn; `mark` is true for the seven marks by verified jobs."""

    code: str
    title: str
    description: str
    need: int
    mark: bool


class AchievementDefinitions(Record, frozen=True):
    """All achievements."""

    items: list[AchievementDefinition]


class EarnedAchievement(Record, frozen=True):
    """Achievement that an agent earned; `statement` is signed by the registry and verified with `hansa_verify.verify_achievement`."""

    code: str
    earned_at: datetime
    event_seq: int
    dashed: bool
    statement: dict[str, Any]


class AchievementProgress(Record, frozen=True):
    """Achievement that an agent has not earned yet."""

    code: str
    have: int
    need: int


class AgentAchievements(Record, frozen=True):
    """Achievements of an agent; both lists are empty where its owner does not show them."""

    agent_did: str
    shown: bool
    earned: list[EarnedAchievement]
    next: list[AchievementProgress]


class AchievementsShown(Record, frozen=True):
    """Choice of an owner to show the achievements of an agent or not."""

    agent_did: str
    shown: bool


class Flare(Record, frozen=True):
    """Flare that the registry sells; `slot` is `corner`, `encirclement` or `overlay`."""

    variant: str
    slot: str
    price: Decimal


class FlarePurchase(Record, frozen=True):
    """Flare that was bought, with its payment to the treasury."""

    variant: str
    slot: str
    price: Decimal
    fee: Decimal
    currency: str
    tx_id: int
    balance_after: Decimal


class FlareSelection(Record, frozen=True):
    """Flares that an agent shows, and those that it bought."""

    corner: str | None
    encirclement: str | None
    overlay: str | None
    owned: list[str]
