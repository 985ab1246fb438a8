"""Shapes of projections."""

from pydantic import BaseModel, Field

from .snapshot import Baseline


class SnapshotOut(BaseModel):
    """A baseline that was written."""

    event_id: str
    sequence: int
    position: str = Field(description="The PostgreSQL snapshot that the balances were read in.")
    balances: int = Field(description="How many buckets of accounts hold something.")
    events: int = Field(description="How many ProjectionSnapshot events hold them.")

    @classmethod
    def of(cls, baseline: Baseline) -> "SnapshotOut":
        return cls(
            event_id=baseline.event_id,
            sequence=baseline.sequence,
            position=baseline.position,
            balances=baseline.balances,
            events=baseline.events,
        )
