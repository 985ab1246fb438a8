"""Shapes of admissions."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from msgspec.structs import asdict
from pydantic import AfterValidator, Field, StrictInt

from hansa.foundation.values.did import RESERVED_NAMESPACES
from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.paging import Page, Pagination

from .records import IssuedLicence, Licence, Status

TERM_MAX_DAYS = 3650
NOTE_MAX_CHARACTERS = 500
REASON_MAX_CHARACTERS = 2000


def _not_reserved(trust_domain: str) -> str:
    if trust_domain in RESERVED_NAMESPACES:
        raise ValueError("is a reserved word and no trust domain")
    return trust_domain


TrustDomain = Annotated[
    str,
    Field(min_length=3, max_length=253, pattern=r"^[a-z0-9][a-z0-9.-]*[a-z0-9]$"),
    AfterValidator(_not_reserved),
]


class LicenceIn(LazyModel):
    """A registry to admit."""

    trust_domain: TrustDomain
    note: Annotated[str, Field(min_length=1, max_length=NOTE_MAX_CHARACTERS)] | None = Field(
        default=None, description="Shown only to administrators."
    )
    expires_in_days: Annotated[StrictInt, Field(ge=1, le=TERM_MAX_DAYS)] | None = Field(
        default=None, description="Null: the key does not expire."
    )


class LicenceChange(LazyModel):
    """Why a licence is suspended, reinstated or revoked; kept in the audit log."""

    reason: Annotated[str, Field(min_length=1, max_length=REASON_MAX_CHARACTERS)]


class LicenceOut(LazyModel):
    """An admission as administrators see it."""

    id: UUID
    trust_domain: str
    note: str | None
    status: Status = Field(description="`expired`: active, but its validity has ended.")
    issued_by: int = Field(description="The developer who issued it.")
    issued_at: datetime
    expires_at: datetime | None
    changed_at: datetime = Field(
        description="Time of the last change: issued, suspended, reinstated or revoked."
    )
    last_used_at: datetime | None = Field(description="Accurate to one minute.")

    @classmethod
    def of(cls, licence: Licence) -> "LicenceOut":
        return cls(**asdict(licence))


class IssuedLicenceOut(LicenceOut):
    """A new admission. The key is shown only once."""

    licence_key: str = Field(description="`hfl_v1_` and 64 hex digits, to be sent as X-Federation-License.")

    @classmethod
    def issued(cls, issued: IssuedLicence) -> "IssuedLicenceOut":
        return cls(**asdict(issued.licence), licence_key=issued.key)


class LicencesQuery(LazyModel):
    """A page of admissions."""

    limit: int = Field(default=50, ge=1, le=1000)
    offset: int = Field(default=0, ge=0, le=10**9)


class LicencesPage(Page[LicenceOut]):
    """Admissions, newest first."""

    @classmethod
    def of(cls, licences: list[Licence], total: int, query: LicencesQuery) -> "LicencesPage":
        return cls(
            items=[LicenceOut.of(licence) for licence in licences],
            pagination=Pagination.of(total=total, limit=query.limit, offset=query.offset),
        )
