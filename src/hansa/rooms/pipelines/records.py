"""Pipelines, runs and attempts as they are stored."""

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from hansa.foundation.values.money import Minor
from hansa.rooms import commerce

from .definition import Definition
from .machine import ENDED, RunState


class Pipeline(msgspec.Struct, frozen=True):
    """A pipeline with its present revision."""

    id: UUID
    agent_did: str
    revision: int
    definition: Definition
    created_at: datetime
    updated_at: datetime


class RunPlace(msgspec.Struct, frozen=True):
    """Place of a run: the agent, its pipeline, and the run."""

    did: str
    pipeline_id: UUID
    run_id: UUID


class RunRow(msgspec.Struct, frozen=True):
    """Row of a run. `is_past`: its deadline has passed, by the database's clock when the row was read.

    A run that a connected client started bears its grant, the name of the client, and the person who granted.
    """

    id: UUID
    pipeline_id: UUID
    revision: int
    agent_did: str
    status: str
    leaving: str | None
    grant_id: UUID | None
    client: str | None
    developer_id: int | None
    is_cancel_asked: bool
    deadline_at: datetime
    created_at: datetime
    ended_at: datetime | None
    is_past: bool

    @property
    def has_ended(self) -> bool:
        """Return whether nothing of the run is under way."""
        return self.status in ENDED


class AttemptRow(msgspec.Struct, frozen=True):
    """An attempt; one that was refused has no token. `output` is sealed."""

    id: UUID
    step: str
    n: int
    payee: str
    token_id: UUID | None
    amount: Minor | None
    reason: str | None
    is_answered: bool
    output: bytes | None
    at: datetime


class NewAttempt(msgspec.Struct, frozen=True):
    """An attempt to be written."""

    step: str
    n: int
    payee: str
    token_id: UUID | None = None
    amount: Minor | None = None
    reason: str | None = None


class Run(msgspec.Struct, frozen=True):
    """A run with its definition and the state of its steps."""

    row: RunRow
    definition: Definition
    state: RunState


class ShownAttempt(msgspec.Struct, frozen=True):
    """An attempt with the status of its token; `refused` where there is none."""

    row: AttemptRow
    status: str
    reason: str | None


class ShownRun(msgspec.Struct, frozen=True):
    """A run as it is shown: its budget, its attempts by step, and the outputs of its steps.

    `are_outputs_stored` is false once inputs and outputs were deleted.
    """

    run: Run
    budget: commerce.PurchaseBudget
    attempts: dict[str, list[ShownAttempt]]
    outputs: dict[str, Any]
    input: Any
