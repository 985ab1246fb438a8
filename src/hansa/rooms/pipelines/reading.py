"""Read runs: the state, the costs, the attempts with the statuses of their tokens, and what steps brought."""

from collections.abc import Sequence
from uuid import UUID

from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.foundation.plumbing.web.caller import Agent, Developer
from hansa.foundation.values.rights import Right
from hansa.rooms import agents, commerce

from . import run_store as store
from . import sealing
from .errors import RunUnknown
from .records import AttemptRow, Run, RunPlace, ShownAttempt, ShownRun
from .saving import found


async def read_run(tx: Tx, caller: Developer | Agent, place: RunPlace, seal: Seal) -> ShownRun:
    """A run of the agent. Raises: AgentUnknown, PipelineUnknown, RunUnknown."""
    await agents.require_caller(tx, caller, place.did, Right.READ)
    _, run = await read_together(
        tx,
        lambda tx: found(tx, place.did, place.pipeline_id),
        lambda tx: store.find(tx, place.run_id),
    )
    if run is None or run.row.pipeline_id != place.pipeline_id:
        raise RunUnknown
    return await shown(tx, run, seal)


async def page_of_runs(
    tx: Tx, caller: Developer | Agent, did: str, pipeline_id: UUID, *, limit: int, offset: int
) -> tuple[Sequence[tuple[Run, commerce.PurchaseBudget]], int]:
    """A page of the runs of a pipeline, newest first, each with its budget, and how many there are.

    Raises: AgentUnknown, PipelineUnknown.
    """
    await agents.require_caller(tx, caller, did, Right.READ)
    await found(tx, did, pipeline_id)
    runs, total = await store.page(tx, pipeline_id, limit, offset)
    budgets = await commerce.find_budgets(tx, [run.row.id for run in runs])
    return [(run, budgets[run.row.id]) for run in runs], total


async def shown(tx: Tx, run: Run, seal: Seal) -> ShownRun:
    """The run as it is shown to those who may read it. Raises: OutputsUnreadable."""
    run_id = run.row.id
    made, budgets, sealed, sealed_outputs = await read_together(
        tx,
        lambda tx: store.attempts(tx, run_id),
        lambda tx: commerce.find_budgets(tx, [run_id]),
        lambda tx: store.input_of(tx, run_id),
        lambda tx: store.outputs(tx, run_id, None),
    )
    tokens = await commerce.tokens_of_ids(tx, [one.token_id for one in made if one.token_id is not None])
    attempts: dict[str, list[ShownAttempt]] = {}
    for one in made:
        token = tokens.get(one.token_id) if one.token_id else None
        attempts.setdefault(one.step, []).append(_shown(one, token))
    outputs = {
        step: sealing.open_output(seal, attempt_id, output)
        for step, (attempt_id, output) in sealed_outputs.items()
    }
    given = None if sealed is None else sealing.open_input(seal, run_id, sealed)
    return ShownRun(run, budgets[run_id], attempts, outputs, given)


def _shown(attempt: AttemptRow, token: commerce.Token | None) -> ShownAttempt:
    if token is None:
        return ShownAttempt(attempt, "refused", attempt.reason)
    return ShownAttempt(attempt, token.status, attempt.reason or token.reason)
