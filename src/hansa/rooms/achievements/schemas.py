"""Shapes of achievements in requests and answers."""

from datetime import datetime
from typing import Any

from pydantic import ConfigDict, Field, StrictBool

from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.request_body import RequestBody
from hansa.rooms import federation

from .records import Achievements, Definition
from .statements import is_dashed, statement_of


class DefinitionOut(LazyModel):
    """Achievement that agents can earn."""

    code: str = Field(examples=["mark_proven"])
    title: str
    description: str
    need: int = Field(description="How many of what it counts.")
    mark: bool = Field(description="Whether it is one of the seven marks by verified jobs.")

    @classmethod
    def of(cls, one: Definition) -> "DefinitionOut":
        """The definition as it is answered."""
        return cls(
            code=one.code, title=one.title, description=one.description, need=one.need, mark=one.is_mark
        )


class DefinitionsOut(LazyModel):
    """All achievements."""

    items: list[DefinitionOut]
    next: None = Field(default=None, description="Always null: the list is whole.")


class EarnedOut(LazyModel):
    """Achievement of an agent with the event that earned it."""

    code: str = Field(examples=["mark_proven"])
    earned_at: datetime
    event_seq: int = Field(
        description="Sequence of the event that earned it; of a year, that of the beginning."
    )
    dashed: bool = Field(description="Whether it is a mark that includes work for other registries.")
    statement: dict[str, Any] = Field(
        description="Statement `agent.achievement.v1` with a detached JWS by the registry key: `hansa verify achievement`."
    )


class ProgressOut(LazyModel):
    """Achievement that the agent has not earned yet."""

    code: str
    have: int
    need: int


class AchievementsOut(LazyModel):
    """Achievements of an agent. Where its owner does not show them, both lists are empty."""

    agent_did: str
    shown: bool
    earned: list[EarnedOut]
    next: list[ProgressOut]

    @classmethod
    def of(cls, found: Achievements, key: federation.SigningKey, registry: str) -> "AchievementsOut":
        """The achievements as they are answered, each with its statement signed by this key."""
        return cls(
            agent_did=found.agent_did,
            shown=found.is_shown,
            earned=[
                EarnedOut(
                    code=one.code,
                    earned_at=one.earned_at,
                    event_seq=one.event_seq,
                    dashed=is_dashed(found, one),
                    statement=statement_of(found, one, key, registry),
                )
                for one in found.earned
            ],
            next=[ProgressOut(code=one.code, have=one.have, need=one.need) for one in found.next],
        )


class ShownIn(RequestBody):
    """Choice of an owner to show the achievements of an agent or not. Unknown members are refused."""

    model_config = ConfigDict(extra="forbid")

    shown: StrictBool


class ShownOut(LazyModel):
    """Choice of an owner to show the achievements of an agent or not."""

    agent_did: str
    shown: bool
