"""Changes of a run, each under the lock of its row: the state that is written, and the events of its beginning and its end."""

from collections.abc import Callable
from datetime import datetime
from uuid import UUID

from hansa.foundation.events import PipelineRunEnded, PipelineRunStarted
from hansa.foundation.plumbing.jobs import enqueue
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import format_amount
from hansa.rooms import commerce, journal

from . import run_store as store
from .definition import Definition
from .machine import ENDED, OutOfPlace, RunState
from .records import NewAttempt, Run

RUNS = "pipelines: runs"
"""Kind of the jobs that work on runs; the key is the id of the run."""


async def wake(tx: Tx, run_id: UUID, due_at: datetime | None = None) -> None:
    """Let a process work on the run, whose row is locked or new."""
    await enqueue(tx, RUNS, str(run_id), due_at=due_at)


async def write(tx: Tx, run: Run, state: RunState) -> None:
    """Write the new state of a locked run, with the event of its end."""
    await store.write(tx, run, state)
    if state.status in ENDED and run.state.status not in ENDED:
        budget = (await commerce.find_budgets(tx, [run.row.id]))[run.row.id]
        await journal.append(
            tx,
            PipelineRunEnded(
                did=run.row.agent_did,
                pipeline_id=str(run.row.pipeline_id),
                run_id=str(run.row.id),
                status=state.status,
                spent=format_amount(budget.spent),
            ),
        )


async def note_start(tx: Tx, run: Run, *, is_resumed: bool) -> None:
    """Append the event of a run that starts, or goes on after it had stopped."""
    budget = (await commerce.find_budgets(tx, [run.row.id]))[run.row.id]
    await journal.append(
        tx,
        PipelineRunStarted(
            did=run.row.agent_did,
            pipeline_id=str(run.row.pipeline_id),
            run_id=str(run.row.id),
            revision=run.row.revision,
            budget=format_amount(budget.budget),
            is_resumed=is_resumed,
        ),
    )


async def note(
    tx: Tx, run_id: UUID, fact: Callable[[Definition, RunState], RunState], refused: NewAttempt | None = None
) -> bool:
    """Apply a fact to a run, with the attempt that was refused; False where the run has moved on without it."""
    run = await store.lock(tx, run_id)
    if run is None:
        return False
    try:
        state = fact(run.definition, run.state)
    except OutOfPlace:
        return False
    if refused is not None:
        await store.add_attempt(tx, run_id, refused)
    await write(tx, run, state)
    return True
