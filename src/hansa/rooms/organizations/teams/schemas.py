"""Shapes of teams."""

from datetime import datetime
from typing import Annotated, Literal, TypeAlias
from uuid import UUID

from pydantic import Field

from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.request_body import RequestBody
from hansa.foundation.values.rights import Right
from hansa.rooms.organizations import rules
from hansa.rooms.organizations.records import Team

GrantWord: TypeAlias = Literal["read", "operate", "manage"]
Slug = Annotated[str, Field(min_length=rules.SLUG_MIN, max_length=rules.SLUG_MAX, pattern=f"^{rules.SLUG}$")]


class TeamIn(RequestBody):
    """A new team."""

    slug: Slug
    grant: GrantWord = Field(description="Right of its members at its agents.")


class TeamGrantIn(RequestBody):
    """New right of a team."""

    grant: GrantWord


class TeamOut(LazyModel):
    """A team of an organization."""

    id: UUID
    slug: str
    grant: GrantWord = Field(description="Right of its members at its agents.")
    members: list[int] = Field(description="Ids of developers.")
    agents: list[str] = Field(description="DIDs.")
    created_at: datetime

    @classmethod
    def of(cls, team: Team) -> "TeamOut":
        return cls.model_validate(
            {
                "id": team.id,
                "slug": team.slug,
                "grant": Right(team.held_right).name.lower(),
                "members": list(team.members),
                "agents": list(team.agents),
                "created_at": team.created_at,
            }
        )
