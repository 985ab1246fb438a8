"""Shapes of account deletion."""

from datetime import datetime
from typing import Literal

from msgspec.structs import asdict
from pydantic import Field

from hansa.foundation.plumbing.room import BlockerKind
from hansa.foundation.values.lazy_model import LazyModel

from .acts import DeletionStatus


class BlockerOut(LazyModel):
    """Something that an agent holds and that would be lost."""

    kind: BlockerKind
    agent_did: str
    amount: str = Field(description="Units, or how many contracts there are.")
    detail: str


class DeletionOut(LazyModel):
    """The status of the deletion of an account."""

    status: Literal["none", "requested", "cancelled", "processing", "deleted"]
    requested_at: datetime | None
    effective_at: datetime | None = Field(
        description="When the account is deleted, unless something prevents it."
    )
    blockers: list[BlockerOut] = Field(description="What prevents the deletion now.")

    @classmethod
    def of(cls, current: DeletionStatus) -> "DeletionOut":
        deletion = current.deletion
        return cls.model_validate(
            {
                "status": deletion.status if deletion else "none",
                "requested_at": deletion.requested_at if deletion else None,
                "effective_at": deletion.effective_at if deletion else None,
                "blockers": [asdict(blocker) for blocker in current.blockers],
            }
        )
