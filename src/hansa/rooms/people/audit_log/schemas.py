"""Shapes of the audit log."""

from datetime import datetime
from typing import Annotated

from msgspec.structs import asdict
from pydantic import Field

from hansa.foundation.plumbing.web.admin_acts import AdminAct, AdminActFilter
from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.paging import Page, Pagination

BIGINT_MAX = 2**63 - 1


class AuditLogQuery(LazyModel):
    """Which acts of administrators."""

    developer_id: int | None = Field(
        default=None, ge=1, le=BIGINT_MAX, description="Actions of this administrator."
    )
    act: Annotated[str, Field(max_length=80)] | None = Field(
        default=None, description="Actions of this kind."
    )
    subject: Annotated[str, Field(max_length=512)] | None = Field(
        default=None, description="Actions on this DID or id."
    )
    limit: int = Field(default=50, ge=1, le=1000)
    offset: int = Field(default=0, ge=0, le=10**9)

    def criteria(self) -> AdminActFilter:
        """The page that this query asks for."""
        return AdminActFilter(**self.model_dump())


class AdminActOut(LazyModel):
    """One action of an administrator."""

    id: int
    developer_id: int | None = Field(description="The administrator; null: the operator at the command line.")
    developer_name: str | None = Field(
        description="The current display name; null after the account is deleted."
    )
    credential: str = Field(description="The credential used: a session id or `api-key:<id>`.")
    act: str
    subject: str = Field(description="The DID or id of the subject.")
    reason: str | None
    done_at: datetime


class AuditLogPage(Page[AdminActOut]):
    """Actions of administrators, newest first."""

    @classmethod
    def of(
        cls, acts: list[AdminAct], names: dict[int, str], total: int, criteria: AdminActFilter
    ) -> "AuditLogPage":
        return cls(
            items=[
                AdminActOut(**asdict(act), developer_name=names.get(act.developer_id or 0)) for act in acts
            ],
            pagination=Pagination.of(total=total, limit=criteria.limit, offset=criteria.offset),
        )
