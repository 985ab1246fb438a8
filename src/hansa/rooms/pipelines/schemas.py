"""Shapes of pipelines. Amounts are decimal strings, without fees."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, ConfigDict, Field, StrictBool, model_validator

from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import PositiveAmount, format_amount, parse_positive
from hansa.foundation.values.request_body import RequestBody
from hansa.foundation.values.secret_forms import without_secrets
from hansa.foundation.values.visible_text import plain, plain_and_visible

from .definition import (
    ATTEMPTS_MAX,
    DEADLINE_SECONDS_MAX,
    SLUG,
    STEPS_MAX,
    TIMEOUT_SECONDS_MAX,
    Call,
    Definition,
    Step,
    When,
)
from .records import Pipeline

NAME_MAX, DESCRIPTION_MAX = 100, 2000
MESSAGE_MAX_CHARACTERS = 100_000
METHOD_MAX_CHARACTERS = 256
REF_MAX_CHARACTERS = 1024
TIMEOUT_SECONDS_DEFAULT = 30
DEADLINE_SECONDS_DEFAULT = 3600

Did = Annotated[str, Field(min_length=1, max_length=DID_MAX_CHARACTERS)]
Slug = Annotated[str, Field(pattern=SLUG)]


def _clean(text: str) -> str:
    return without_secrets(plain(text))


def _visible(text: str) -> str:
    return without_secrets(plain_and_visible(text))


class StepCallIn(RequestBody):
    """JSON-RPC request to the service; references in `params` are expanded."""

    model_config = ConfigDict(extra="forbid")

    method: Annotated[str, Field(min_length=1, max_length=METHOD_MAX_CHARACTERS)]
    params: dict[str, Any] = Field(default={})


class StepFallbackIn(RequestBody):
    """Another agent, which is paid in place of the first one."""

    model_config = ConfigDict(extra="forbid")

    fallback: Did


class StepWhenIn(RequestBody):
    """Condition of the step; without it, or where nothing stands at `ref`, the step is skipped."""

    model_config = ConfigDict(extra="forbid")

    ref: Annotated[str, Field(min_length=1, max_length=REF_MAX_CHARACTERS)] = Field(
        description="JSON Pointer below `/input` or `/steps/<id>/output`."
    )
    equals: Any = Field(description="The value that has to stand there.")


class PipelineStepIn(RequestBody):
    """Step: one paid call, after the steps that it needs."""

    model_config = ConfigDict(extra="forbid")

    id: Slug
    agent: Annotated[Did, Field(description="The payee.")]
    message: str | dict[str, Any] | None = Field(
        default=None,
        description="A text, or a message of A2A. `{{/input/…}}` and `{{/steps/<id>/output/…}}` in texts, and"
        ' {"$ref": pointer} in place of a value, are replaced by what stands there, once.',
    )
    request: StepCallIn | None = Field(default=None, description="A JSON-RPC request in place of a message.")
    needs: list[Slug] = Field(default=[], max_length=STEPS_MAX, description="Steps that come before.")
    max_amount: PositiveAmount = Field(description="The highest price of one attempt.")
    timeout_seconds: Annotated[int, Field(strict=True, ge=1, le=TIMEOUT_SECONDS_MAX)] = (
        TIMEOUT_SECONDS_DEFAULT
    )
    attempts: Annotated[int, Field(strict=True, ge=1, le=ATTEMPTS_MAX)] = Field(
        default=1, description="Attempts while nothing is paid."
    )
    on_failure: Literal["stop", "skip"] | StepFallbackIn = Field(
        default="stop",
        description="`stop` ends the run, `skip` goes on without the step, a fallback gets as many attempts.",
    )
    when: StepWhenIn | None = None
    approval: StrictBool = Field(default=False, description="The owner lets the step begin.")

    @model_validator(mode="after")
    def _one_request(self) -> "PipelineStepIn":
        if (self.request is None) == (self.message is None):
            raise ValueError("send either request or message")
        if isinstance(self.message, str) and not 0 < len(self.message) <= MESSAGE_MAX_CHARACTERS:
            raise ValueError(f"message must have 1 to {MESSAGE_MAX_CHARACTERS} characters")
        return self

    def step(self) -> Step:
        """The step that this describes."""
        other = self.on_failure
        return Step(
            id=self.id,
            agent=self.agent,
            max_amount=parse_positive(self.max_amount),
            message=self.message,
            request=Call(self.request.method, self.request.params) if self.request else None,
            needs=tuple(dict.fromkeys(self.needs)),
            timeout_seconds=self.timeout_seconds,
            attempts=self.attempts,
            on_failure="fallback" if isinstance(other, StepFallbackIn) else other,
            fallback=other.fallback if isinstance(other, StepFallbackIn) else None,
            when=When(self.when.ref, self.when.equals) if self.when else None,
            approval=self.approval,
        )


class PipelineIn(RequestBody):
    """A chain of paid calls with a budget."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(min_length=1, max_length=NAME_MAX), AfterValidator(_visible)]
    description: Annotated[str, Field(max_length=DESCRIPTION_MAX), AfterValidator(_clean)] = ""
    steps: Annotated[list[PipelineStepIn], Field(min_length=1, max_length=STEPS_MAX)]
    budget: PositiveAmount = Field(description="The most that a run spends, without fees.")
    deadline_seconds: Annotated[int, Field(strict=True, ge=1, le=DEADLINE_SECONDS_MAX)] = Field(
        default=DEADLINE_SECONDS_DEFAULT, description="Time of a run; after it nothing more begins."
    )

    def definition(self) -> Definition:
        """The definition that this describes."""
        return Definition(
            name=self.name,
            steps=tuple(step.step() for step in self.steps),
            budget=parse_positive(self.budget),
            deadline_seconds=self.deadline_seconds,
            description=self.description,
        )


class StepCallOut(LazyModel):
    """JSON-RPC request to the service."""

    method: str
    params: dict[str, Any]


class StepFallbackOut(LazyModel):
    """Another agent, which is paid in place of the first one."""

    fallback: str


class StepWhenOut(LazyModel):
    """Condition of the step."""

    ref: str
    equals: Any


class PipelineStepOut(LazyModel):
    """Step: one paid call, after the steps that it needs."""

    id: str
    agent: str
    message: str | dict[str, Any] | None
    request: StepCallOut | None
    needs: list[str]
    max_amount: str
    timeout_seconds: int
    attempts: int
    on_failure: Literal["stop", "skip"] | StepFallbackOut
    when: StepWhenOut | None
    approval: bool

    @classmethod
    def of(cls, step: Step) -> "PipelineStepOut":
        """The shape of a step."""
        fallback = None if step.fallback is None else {"fallback": step.fallback}
        return cls.model_validate(
            {
                "id": step.id,
                "agent": step.agent,
                "message": step.message,
                "request": {"method": step.request.method, "params": step.request.params}
                if step.request
                else None,
                "needs": list(step.needs),
                "max_amount": format_amount(step.max_amount),
                "timeout_seconds": step.timeout_seconds,
                "attempts": step.attempts,
                "on_failure": fallback or step.on_failure,
                "when": {"ref": step.when.ref, "equals": step.when.equals} if step.when else None,
                "approval": step.approval,
            }
        )


class PipelineOut(LazyModel):
    """A pipeline with its present revision."""

    id: UUID
    agent_did: str
    name: str
    description: str
    steps: list[PipelineStepOut]
    budget: str
    deadline_seconds: int
    revision: int
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, pipeline: Pipeline) -> "PipelineOut":
        """The shape of a pipeline."""
        return cls(
            id=pipeline.id,
            agent_did=pipeline.agent_did,
            revision=pipeline.revision,
            created_at=pipeline.created_at,
            updated_at=pipeline.updated_at,
            **plain_definition(pipeline.definition),
        )


def plain_definition(definition: Definition) -> dict[str, Any]:
    """The definition as a request sends it, with every member."""
    return {
        "name": definition.name,
        "description": definition.description,
        "steps": [PipelineStepOut.of(step) for step in definition.steps],
        "budget": format_amount(definition.budget),
        "deadline_seconds": definition.deadline_seconds,
    }


class PipelineDeletedOut(LazyModel):
    """A pipeline that was deleted."""

    id: UUID
    deleted: Literal[True]
