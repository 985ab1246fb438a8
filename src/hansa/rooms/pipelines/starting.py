"""Start a run: the row, its steps, its budget, its event and the job that works on it are one commit."""

import json
from typing import Any
from uuid import UUID, uuid4

from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent
from hansa.foundation.values.errors import Invalid
from hansa.foundation.values.money import Minor
from hansa.rooms import agents, commerce

from . import machine, run_store, sealing, store
from .advancing import note_start, wake
from .errors import PipelineQuota, PipelineUnknown
from .records import Run
from .saving import found

INPUT_MAX_BYTES = 256 * 1024
RUNS_AT_ONCE = 10
RUNS_A_DAY = 200


async def start(
    tx: Tx, agent: Agent, did: str, pipeline_id: UUID, seal: Seal, *, given: Any, budget: Minor | None
) -> Run:
    """Start a run of an own pipeline with this input; under a grant the run bears it.

    Raises: AgentUnknown, PipelineUnknown, Invalid, PipelineQuota.
    """
    if agent.did != did:
        raise agents.AgentUnknown
    if (size := len(json.dumps(given).encode())) > INPUT_MAX_BYTES:
        raise Invalid(f"input has at most {INPUT_MAX_BYTES} bytes as JSON, got {size}.", field="input")
    await _count(tx, did)
    if await store.lock(tx, did, pipeline_id) is None:
        raise PipelineUnknown
    pipeline = await found(tx, did, pipeline_id)
    run_id = uuid4()
    new = run_store.NewRun(
        run_id,
        pipeline_id,
        pipeline.revision,
        did,
        sealing.seal_input(seal, run_id, given),
        pipeline.definition.deadline_seconds,
        agent.grant_id,
        agent.grant.client if agent.grant else None,
        agent.developer_id if agent.grant else None,
    )
    await run_store.insert(tx, new, machine.begun(pipeline.definition))
    await commerce.open_budget(tx, run_id, pipeline.definition.budget if budget is None else budget)
    run = await run_store.find(tx, run_id)
    assert run is not None
    await note_start(tx, run, is_resumed=False)
    await wake(tx, run_id)
    return run


async def _count(tx: Tx, did: str) -> None:
    """Count a run of the agent. Raises: PipelineQuota."""
    if await store.lock_agent(tx, did) >= RUNS_A_DAY:
        raise PipelineQuota(f"An agent starts at most {RUNS_A_DAY} runs a day (UTC).")
    await require_place(tx, did)
    await store.count_run(tx, did)


async def require_place(tx: Tx, did: str) -> None:
    """One more run of the agent, which is locked, may live. Raises: PipelineQuota."""
    if await store.count_live_runs(tx, did) >= RUNS_AT_ONCE:
        raise PipelineQuota(f"{RUNS_AT_ONCE} runs of the agent have not ended; wait for one, or cancel one.")
