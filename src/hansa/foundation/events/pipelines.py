"""Facts of pipelines, private to the agent."""

from typing import ClassVar

from hansa.foundation.events.base import AgentEvent


class _PipelineRunEvent(AgentEvent, frozen=True):
    is_private: ClassVar[bool] = True

    pipeline_id: str
    run_id: str


class PipelineRunStarted(_PipelineRunEvent, frozen=True):
    """A run of a pipeline started, or went on after it had stopped: `is_resumed`. `budget` is without fees."""

    revision: int
    budget: str
    is_resumed: bool


class PipelineRunEnded(_PipelineRunEvent, frozen=True):
    """A run ended as `succeeded`, `failed`, `cancelled`, `expired` or `budget_exceeded`; `spent` is without fees."""

    status: str
    spent: str
