"""Shapes of account deletion."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field

from .request import Standing


class BlockerOut(BaseModel):
    """Something of an agent that would be lost with it."""

    kind: Literal["balance", "stake", "contracts"]
    agent_did: str
    amount: str = Field(description="Units, or how many contracts there are.")
    detail: str


class DeletionOut(BaseModel):
    """How the deletion of an account stands."""

    status: Literal["none", "requested", "cancelled", "processing", "deleted"]
    requested_at: datetime | None
    effective_at: datetime | None = Field(
        description="When the account is deleted, unless something is in the way."
    )
    blockers: list[BlockerOut] = Field(description="What is in the way now.")

    @classmethod
    def of(cls, standing: Standing) -> "DeletionOut":
        deletion = standing.deletion
        return cls.model_validate(
            {
                "status": deletion.status if deletion else "none",
                "requested_at": deletion.requested_at if deletion else None,
                "effective_at": deletion.effective_at if deletion else None,
                "blockers": [vars(blocker) for blocker in standing.blockers],
            }
        )
