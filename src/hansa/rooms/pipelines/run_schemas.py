"""Shapes of runs. Amounts are decimal strings, without fees."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import ConfigDict, Field

from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import PositiveAmount, format_amount
from hansa.foundation.values.request_body import RequestBody
from hansa.rooms import commerce

from .machine import RunStatus, StepState, StepStatus
from .records import Run, ShownAttempt, ShownRun


class RunIn(RequestBody):
    """A run of a pipeline."""

    model_config = ConfigDict(extra="forbid")

    input: dict[str, Any] = Field(
        default={}, description="Named by references as `/input/…`; at most 256 KiB as JSON."
    )
    budget: PositiveAmount | None = Field(default=None, description="In place of the pipeline's budget.")


class RunResumeIn(RequestBody):
    """A run that goes on."""

    model_config = ConfigDict(extra="forbid")

    budget: PositiveAmount | None = Field(
        default=None, description="The new budget in all, not below the present one."
    )


class RunStartedOut(LazyModel):
    """A run that was started."""

    run_id: UUID
    status: RunStatus


class RunAttemptOut(LazyModel):
    """An attempt; its status is that of its payment token, `refused` where none was authorized."""

    n: Annotated[int, Field(examples=[1])]
    payee: str
    token_id: UUID | None
    amount: str | None
    status: str
    reason: str | None
    at: datetime

    @classmethod
    def of(cls, attempt: ShownAttempt) -> "RunAttemptOut":
        """The shape of an attempt."""
        row = attempt.row
        return cls(
            n=row.n,
            payee=row.payee,
            token_id=row.token_id,
            amount=None if row.amount is None else format_amount(row.amount),
            status=attempt.status,
            reason=attempt.reason,
            at=row.at,
        )


class RunStepOut(LazyModel):
    """A step of a run. `output` is {result, text}; null until it succeeded, and 30 days after the end of the run."""

    id: str
    status: StepStatus
    payee: str
    reason: str | None
    approval_id: UUID | None = Field(description="Spend approval that the step waits for.")
    output: Any
    attempts: list[RunAttemptOut]

    @classmethod
    def of(cls, step: StepState, shown: ShownRun) -> "RunStepOut":
        """The shape of a step with its attempts."""
        attempts = shown.attempts.get(step.id, [])
        return cls(
            id=step.id,
            status=step.status,
            payee=attempts[-1].row.payee if attempts else shown.run.definition.step(step.id).agent,
            reason=step.reason,
            approval_id=UUID(step.approval_id) if step.approval_id else None,
            output=shown.outputs.get(step.id),
            attempts=[RunAttemptOut.of(one) for one in attempts],
        )


class RunSummaryOut(LazyModel):
    """A run of a pipeline. `open` is the amount of payments that have not ended."""

    run_id: UUID
    pipeline_id: UUID
    agent_did: str
    revision: int
    status: RunStatus
    budget: str
    spent: str
    open: str
    client: str | None = Field(description="The connected client that started it; null for the agent itself.")
    deadline_at: datetime
    created_at: datetime
    ended_at: datetime | None

    @classmethod
    def of(cls, run: Run, budget: commerce.PurchaseBudget) -> "RunSummaryOut":
        """The shape of a run without its steps."""
        return cls(**summary_of(run, budget))


class RunOut(RunSummaryOut):
    """A run with its steps."""

    input: Any = Field(description="Null 30 days after the end of the run.")
    steps: list[RunStepOut]

    @classmethod
    def shown(cls, shown: ShownRun) -> "RunOut":
        """The shape of a run with its steps."""
        return cls(
            **summary_of(shown.run, shown.budget),
            input=shown.input,
            steps=[RunStepOut.of(step, shown) for step in shown.run.state.steps],
        )


def summary_of(run: Run, budget: commerce.PurchaseBudget) -> dict[str, Any]:
    """The members of a run without its steps."""
    row = run.row
    return {
        "run_id": row.id,
        "pipeline_id": row.pipeline_id,
        "agent_did": row.agent_did,
        "revision": row.revision,
        "status": run.state.status,
        "budget": format_amount(budget.budget),
        "spent": format_amount(budget.spent),
        "open": format_amount(budget.open),
        "client": row.client,
        "deadline_at": row.deadline_at,
        "created_at": row.created_at,
        "ended_at": row.ended_at,
    }
