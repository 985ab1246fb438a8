"""Shapes of members."""

from datetime import datetime
from typing import Literal, TypeAlias

from pydantic import Field

from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.request_body import RequestBody
from hansa.rooms.organizations.records import Changed, Member

RoleWord: TypeAlias = Literal["viewer", "member", "admin", "owner"]


class RoleOfMemberIn(RequestBody):
    """New role of a member."""

    role: RoleWord


class OrganizationMemberOut(LazyModel):
    """A member of an organization."""

    developer_id: int
    name: str | None = Field(description="Null for a closed account.")
    role: RoleWord
    teams: list[str] = Field(description="Slugs of the teams.")
    joined_at: datetime

    @classmethod
    def of(cls, member: Member) -> "OrganizationMemberOut":
        return cls.model_validate(
            {
                "developer_id": member.developer_id,
                "name": member.name,
                "role": member.role.word,
                "teams": list(member.teams),
                "joined_at": member.joined_at,
            }
        )


class ChangedMemberOut(LazyModel):
    """Role of a member after the change; null: the membership has ended."""

    developer_id: int
    role: RoleWord | None
    secrets_to_rotate: list[str] = Field(
        description="DIDs of the agents whose present secret the developer has read."
    )

    @classmethod
    def of(cls, changed: Changed) -> "ChangedMemberOut":
        return cls.model_validate(
            {
                "developer_id": changed.developer_id,
                "role": changed.role.word if changed.role else None,
                "secrets_to_rotate": list(changed.secrets_to_rotate),
            }
        )
