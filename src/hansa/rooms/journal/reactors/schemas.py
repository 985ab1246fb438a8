"""Shapes of answers about reactors."""

from datetime import datetime

from msgspec.structs import asdict
from pydantic import Field

from hansa.foundation.values.lazy_model import LazyModel

from .administering import ReactorReading, Resumed


class SetAsideOut(LazyModel):
    """An event that a reactor set aside after its last retry."""

    sequence: int
    event_type: str
    failures: int
    trouble: str = Field(description="The error of the last attempt.")
    set_aside_at: datetime


class ReactorOut(LazyModel):
    """A reactor and its progress."""

    name: str
    event_types: list[str]
    events_waiting: int = Field(description="Counted up to 1000.")
    failures: int = Field(description="Failed attempts for the next event.")
    retry_at: datetime | None = Field(description="When it is retried.")
    set_aside_count: int
    set_aside: list[SetAsideOut] = Field(description="The newest events that it set aside.")

    @classmethod
    def of(cls, reading: ReactorReading) -> "ReactorOut":
        return cls(
            name=reading.reactor.name,
            event_types=list(reading.reactor.type_names),
            events_waiting=reading.events_waiting,
            failures=reading.failures,
            retry_at=reading.retry_at,
            set_aside_count=reading.set_aside_count,
            set_aside=[
                SetAsideOut(
                    sequence=event.sequence,
                    event_type=event.event_type,
                    failures=event.failures,
                    trouble=event.error,
                    set_aside_at=event.set_aside_at,
                )
                for event in reading.set_aside
            ],
        )


class ReactorsOut(LazyModel):
    """Every reactor."""

    items: list[ReactorOut]
    enabled: bool = Field(description="REACTOR_FRAMEWORK_ENABLED in this process.")


class ResumedOut(LazyModel):
    """The result for the oldest events that were set aside; at most 100 are retried at a time."""

    reacted: int
    failed: int

    @classmethod
    def of(cls, taken: Resumed) -> "ResumedOut":
        return cls(**asdict(taken))
