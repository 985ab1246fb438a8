"""Shapes of invitations."""

from datetime import datetime
from typing import Annotated, Literal

from msgspec.structs import asdict
from pydantic import AfterValidator, Field, StrictBool, StrictInt, model_validator

from hansa.foundation.values.areas import ADMIN_AREAS
from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.paging import Page, Pagination
from hansa.foundation.values.request_body import RequestBody

from .invite import invite_name
from .records import Invite, MadeInvite


def _known(area: str) -> str:
    if area not in ADMIN_AREAS:
        raise ValueError(f"must be one of {', '.join(ADMIN_AREAS)}")
    return area


Area = Annotated[str, AfterValidator(_known), Field(json_schema_extra={"enum": list(ADMIN_AREAS)})]

INVITES_AT_ONCE = 100
MAX_USES = 10_000
LIFETIME_MAX_DAYS = 3650
NOTE_MAX_CHARACTERS = 500


class InvitesIn(RequestBody):
    """Invitations to create."""

    count: StrictInt = Field(default=1, ge=1, le=INVITES_AT_ONCE)
    max_uses: StrictInt = Field(default=1, ge=1, le=MAX_USES, description="Number of registrations per code.")
    expires_days: Annotated[StrictInt, Field(ge=1, le=LIFETIME_MAX_DAYS)] | None = Field(
        default=30, description="Null: the codes do not expire."
    )
    note: Annotated[str, Field(max_length=NOTE_MAX_CHARACTERS)] | None = None
    grants_admin: StrictBool = Field(
        default=False,
        description="Whether developers who register with the codes become administrators of the areas in `admin_flags`.",
    )
    admin_flags: Annotated[list[Area], Field(max_length=len(ADMIN_AREAS))] | None = Field(
        default=None, description="Absent: all five."
    )

    @model_validator(mode="after")
    def _flags_are_granted(self) -> "InvitesIn":
        if self.admin_flags and not self.grants_admin:
            raise ValueError("admin_flags require grants_admin")
        return self


class InviteInfo(LazyModel):
    """An invitation as administrators see it."""

    id: str = Field(description="Identifies the code for revocation.")
    code_prefix: str = Field(description="The first characters of the code.")
    state: Literal["active", "used_up", "expired", "revoked"]
    max_uses: int
    uses: int
    note: str | None
    grants_admin: bool
    admin_flags: list[str]
    created_by: int = Field(description="The developer who created it.")
    created_by_name: str | None
    created_at: datetime
    expires_at: datetime | None

    @classmethod
    def members_of(cls, invite: Invite) -> dict[str, object]:
        """The members that describe the invitation."""
        return {
            **asdict(invite),
            "id": invite_name(invite.id),
            "grants_admin": bool(invite.areas),
            "admin_flags": invite.areas,
            "created_by": invite.author_id,
            "created_by_name": invite.author_name,
        }

    @classmethod
    def of(cls, invite: Invite) -> "InviteInfo":
        return cls.model_validate(cls.members_of(invite))


class MadeInviteOut(InviteInfo):
    """A new invitation. The code is shown only once."""

    code: str
    invite_url: str = Field(
        description="The sign-up page, with the code in the fragment, which fills the form in."
    )

    @classmethod
    def made(cls, made: MadeInvite, base_url: str) -> "MadeInviteOut":
        members = cls.members_of(made.invite)
        # What follows the hash stays in the browser: no log of a server or proxy holds the code.
        url = f"{base_url}/sign-up#invite_code={made.code}"
        return cls.model_validate({**members, "code": made.code, "invite_url": url})


class InvitesQuery(LazyModel):
    """A page of invitations."""

    limit: int = Field(default=50, ge=1, le=1000)
    offset: int = Field(default=0, ge=0, le=10**9)


class InvitesPage(Page[InviteInfo]):
    """Invitations, newest first."""

    @classmethod
    def of(cls, invites: list[Invite], total: int, query: InvitesQuery) -> "InvitesPage":
        return cls(
            items=[InviteInfo.of(invite) for invite in invites],
            pagination=Pagination.of(total=total, limit=query.limit, offset=query.offset),
        )
