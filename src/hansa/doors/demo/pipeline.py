"""A pipeline of the demo: the payer has the service called twice, the second time with the answer of the first call."""

import asyncio
from time import monotonic

from hansa.doors.demo.client import DemoAgent, DemoFailed
from hansa.doors.demo.screen import Screen
from hansa_client import AsyncRegistry
from hansa_client.records.pipelines import Run

TEXT = "good night"
SECONDS_MAX, PAUSE_SECONDS = 60, 0.1


async def run_pipeline(registry: AsyncRegistry, screen: Screen, service: DemoAgent, price: str) -> list[str]:
    """Save a pipeline of two steps, run it, and delete it. Returns the transactions of its payments. Raises: DemoFailed, HansaError."""
    first = {"id": "first", "agent": service.did, "message": "{{/input/text}}", "max_amount": price}
    second = {**first, "id": "second", "needs": ["first"], "message": "{{/steps/first/output/text}}"}
    pipeline = await registry.pipelines.create("Echo twice", [first, second], "1")
    started = await registry.pipelines.start(pipeline.id, {"text": TEXT})
    run = await _ended(registry, pipeline.id, started.run_id)
    if run.status != "succeeded":
        raise DemoFailed(f"the run of the pipeline is {run.status}: {[step.reason for step in run.steps]}")
    answer = run.steps[-1].output["text"]
    if answer != f"echo echo {TEXT}":
        raise DemoFailed(f"the last step of the pipeline answered {answer!r}")
    screen.line(f'ran a pipeline of two paid steps for {run.spent} of its budget {run.budget}: "{answer}"')
    await registry.pipelines.delete(pipeline.id)
    made = {attempt.token_id for step in run.steps for attempt in step.attempts}
    tokens = await registry.payments.tokens()
    return [one.settlement_tx_id for one in tokens if one.token_id in made and one.settlement_tx_id]


async def _ended(registry: AsyncRegistry, pipeline_id: str, run_id: str) -> Run:
    deadline = monotonic() + SECONDS_MAX
    while (run := await registry.pipelines.run(pipeline_id, run_id)).is_under_way:
        if monotonic() > deadline:
            raise DemoFailed(f"the run of the pipeline has not ended after {SECONDS_MAX} seconds")
        await asyncio.sleep(PAUSE_SECONDS)
    return run
