"""Shapes of invitations."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.request_body import RequestBody
from hansa.rooms.organizations.records import Invitation, OwnInvitation
from hansa.rooms.people import Email

TEAMS_AT_ONCE = 20
TOKEN_MAX = 128


class OrganizationInvitationIn(RequestBody):
    """Address to invite, and the place that it is offered."""

    email: Email
    role: Literal["viewer", "member", "admin"] = "member"
    team_ids: Annotated[list[UUID], Field(max_length=TEAMS_AT_ONCE)] = Field(default=[])


class InvitationTokenIn(RequestBody):
    """Token of an invitation."""

    token: Annotated[str, Field(min_length=1, max_length=TOKEN_MAX)]


class InvitedOut(LazyModel):
    """An invitation that was sent."""

    invitation_id: UUID
    expires_at: datetime

    @classmethod
    def of(cls, invitation: Invitation) -> "InvitedOut":
        return cls(invitation_id=invitation.id, expires_at=invitation.expires_at)


class OrganizationInvitationOut(LazyModel):
    """A pending invitation as the admins of the organization read it."""

    invitation_id: UUID
    email: str
    role: Literal["viewer", "member", "admin"]
    team_ids: list[UUID]
    invited_by: int = Field(description="The developer who sent it.")
    created_at: datetime
    expires_at: datetime

    @classmethod
    def of(cls, invitation: Invitation) -> "OrganizationInvitationOut":
        return cls.model_validate(
            {
                "invitation_id": invitation.id,
                "email": invitation.email,
                "role": invitation.role.word,
                "team_ids": list(invitation.team_ids),
                "invited_by": invitation.invited_by,
                "created_at": invitation.created_at,
                "expires_at": invitation.expires_at,
            }
        )


class InvitingOrganizationOut(LazyModel):
    """Organization of an invitation."""

    slug: str
    name: str


class OwnInvitationOut(LazyModel):
    """A pending invitation as its receiver reads it."""

    invitation_id: UUID
    organization: InvitingOrganizationOut
    role: Literal["viewer", "member", "admin"]
    created_at: datetime
    expires_at: datetime

    @classmethod
    def of(cls, invitation: OwnInvitation) -> "OwnInvitationOut":
        return cls.model_validate(
            {
                "invitation_id": invitation.id,
                "organization": {"slug": invitation.slug, "name": invitation.name},
                "role": invitation.role.word,
                "created_at": invitation.created_at,
                "expires_at": invitation.expires_at,
            }
        )
