"""Shapes of the pulls as an operator sees them."""

from datetime import datetime

from pydantic import ConfigDict, Field

from hansa.foundation.values.lazy_model import LazyModel
from hansa.rooms import journal

from .records import Cycle

SUCCESSES = ("updated", "unchanged")


class PullEventsQuery(LazyModel):
    """Which of the events."""

    limit: int = Field(default=100, ge=1, le=1000)
    offset: int = Field(default=0, ge=0, le=1_000_000)
    sort_order: journal.SortOrder = "asc"
    next: str | None = Field(default=None, max_length=64, description="The cursor of the previous page.")


class PullReasons(LazyModel):
    """Why stored cards differ from those that the agents serve: the number per reason."""

    no_interface_url: int = Field(description="The card names no web address.")
    internal_host: int = Field(description="The host is not public, so it is never called.")
    never_attempted: int
    attempted_failed: int


class PullCycle(LazyModel):
    """The pulls of the last interval, each card counted once."""

    attempted: int
    succeeded: int
    changed: int


class FailingPull(LazyModel):
    """A card whose pull fails, and the reason."""

    model_config = ConfigDict(from_attributes=True)

    card_id: int
    did: str
    place: str | None
    reason: str
    failures: int
    trouble: str | None
    attempted_at: datetime | None
    due_at: datetime


class Lives(LazyModel):
    """Results of the health checks: the number of agents per state."""

    alive: int
    unreachable: int
    unknown: int


class PullStatus(LazyModel):
    """The status of the pulls at one point in time."""

    as_of: datetime
    interval_seconds: int = Field(description="0: pulls are disabled.")
    cards: int
    pulled: int = Field(description="Cards whose last pull succeeded.")
    due: int
    under_way: int
    reasons: PullReasons
    last_cycle: PullCycle
    failing: list[FailingPull] = Field(description="The cards with the earliest next pull.")
    liveness_interval_seconds: int = Field(description="0: health checks are disabled.")
    liveness: Lives

    @classmethod
    def of(cls, cycle: Cycle, *, interval_seconds: int, liveness_interval_seconds: int) -> "PullStatus":
        count, lives = cycle.outcomes.get, cycle.liveness.get
        return cls(
            as_of=cycle.as_of,
            interval_seconds=interval_seconds,
            cards=cycle.cards,
            pulled=sum(count(outcome, 0) for outcome in SUCCESSES),
            due=cycle.due,
            under_way=cycle.under_way,
            reasons=PullReasons(
                no_interface_url=count("no_interface_url", 0),
                internal_host=count("internal_host", 0),
                never_attempted=count("", 0),
                attempted_failed=count("attempted_failed", 0),
            ),
            last_cycle=PullCycle(attempted=cycle.attempted, succeeded=cycle.succeeded, changed=cycle.changed),
            failing=[FailingPull.model_validate(one) for one in cycle.failing],
            liveness_interval_seconds=liveness_interval_seconds,
            liveness=Lives(
                alive=lives("alive", 0), unreachable=lives("unreachable", 0), unknown=lives("", 0)
            ),
        )
