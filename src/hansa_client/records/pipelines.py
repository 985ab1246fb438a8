"""Pipelines, runs and templates. Amounts are decimal strings, without fees."""

from datetime import datetime
from typing import Any

from .record import Record


class Pipeline(Record, frozen=True):
    """A pipeline with its present revision; `steps` are as they were sent, with every member."""

    id: str
    agent_did: str
    name: str
    description: str
    steps: list[dict[str, Any]]
    budget: str
    deadline_seconds: int
    revision: int
    created_at: datetime
    updated_at: datetime


class PipelineDeleted(Record, frozen=True):
    """A pipeline that was deleted."""

    id: str


class RunStarted(Record, frozen=True):
    """A run that was started."""

    run_id: str
    status: str


class RunAttempt(Record, frozen=True):
    """An attempt of a step; `status` is that of its payment token, `refused` without one."""

    n: int
    payee: str
    token_id: str | None
    amount: str | None
    status: str
    reason: str | None
    at: datetime


class RunStep(Record, frozen=True):
    """A step of a run; `output` is {result, text} once it succeeded."""

    id: str
    status: str
    payee: str
    reason: str | None
    approval_id: str | None
    output: Any
    attempts: list[RunAttempt]


class RunSummary(Record, frozen=True):
    """A run; `open` is the amount of payments that have not ended."""

    run_id: str
    pipeline_id: str
    agent_did: str
    revision: int
    status: str
    budget: str
    spent: str
    open: str
    client: str | None
    deadline_at: datetime
    created_at: datetime
    ended_at: datetime | None


class Run(RunSummary, frozen=True):
    """A run with its steps."""

    input: Any
    steps: list[RunStep]

    @property
    def is_under_way(self) -> bool:
        """Return whether the run goes on without an act of anybody."""
        return self.status in {"queued", "running"}


class TemplateParameter(Record, frozen=True):
    """Parameter of a template: `agent`, `agents` or `amount`."""

    name: str
    kind: str
    title: str
    min_items: int | None
    max_items: int | None


class PipelineTemplate(Record, frozen=True):
    """A template; `input` is an example of what its runs take."""

    id: str
    title: str
    description: str
    parameters: list[TemplateParameter]
    input: dict[str, str]


class PipelineTemplates(Record, frozen=True):
    """The templates of the registry."""

    items: list[PipelineTemplate]
