"""Shapes of projections."""

from pydantic import Field

from hansa.foundation.values.lazy_model import LazyModel

from .snapshot import Baseline


class SnapshotOut(LazyModel):
    """A baseline that was written."""

    event_id: str
    sequence: int
    position: str = Field(description="The PostgreSQL snapshot in which the balances were read.")
    balances: int = Field(description="The number of account buckets with a balance.")
    events: int = Field(description="The number of ProjectionSnapshot events.")

    @classmethod
    def of(cls, baseline: Baseline) -> "SnapshotOut":
        return cls(
            event_id=baseline.event_id,
            sequence=baseline.sequence,
            position=baseline.position,
            balances=baseline.balances,
            events=baseline.events,
        )
