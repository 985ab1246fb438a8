"""Pipelines and runs of the staged agent, and the bodies of requests to them."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any
from uuid import UUID

from hansa.foundation.plumbing.web.caller import Agent
from hansa.rooms.pipelines.saving import add
from hansa.rooms.pipelines.schemas import PipelineIn
from hansa.rooms.pipelines.starting import start

if TYPE_CHECKING:
    from tests.hostile.well_formed import Stage


def _definition(stage: "Stage") -> dict[str, Any]:
    step = {"id": "only", "agent": stage.payee.did, "message": "x", "max_amount": "1", "approval": True}
    return {"name": "Staged", "steps": [step], "budget": "1"}


async def _make_room(stage: "Stage") -> None:
    """End the runs and delete the pipelines of before: each agent has some at most."""
    await stage.registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE pipelines_run SET status = 'cancelled', ended_at = now() WHERE agent_did = $1 AND ended_at IS NULL",
            stage.agent.did,
        )
    )
    await stage.registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE pipelines_pipeline SET deleted_at = now() WHERE agent_did = $1 AND deleted_at IS NULL",
            stage.agent.did,
        )
    )
    await stage.registry.database.transaction(
        lambda tx: tx.execute("UPDATE pipelines_agent SET runs = 0 WHERE agent_did = $1", stage.agent.did)
    )


async def pipeline(stage: "Stage") -> str:
    """The id of a pipeline, also where the agent is suspended by now."""
    await _make_room(stage)
    definition = PipelineIn.model_validate(_definition(stage)).definition()
    made = await stage.registry.database.transaction(lambda tx: add(tx, stage.agent.did, definition))
    return str(made.id)


async def run(stage: "Stage") -> str:
    """`<pipeline>/runs/<run>` of a run that lives."""
    made, agent = await pipeline(stage), Agent(stage.agent.did, 0, (), frozenset(), is_governed=False)
    seal = stage.registry.runtime.seal
    started = await stage.registry.database.transaction(
        lambda tx: start(tx, agent, agent.did, UUID(made), seal, given={}, budget=None)
    )
    return f"{made}/runs/{started.row.id}"


def _run_as(step: str, status: str, act: str) -> Callable[["Stage"], Awaitable[str]]:
    """`<pipeline>/runs/<run>/<act>` of a run with this status and a step with that one."""

    async def made(stage: "Stage") -> str:
        path = await run(stage)
        run_id = path.rsplit("/", 1)[1]
        await stage.registry.database.transaction(
            lambda tx: tx.execute(
                "UPDATE pipelines_step SET status = $2 WHERE run_id = $1::text::uuid", run_id, step
            )
        )
        await stage.registry.database.transaction(
            lambda tx: tx.execute(
                "UPDATE pipelines_run SET status = $2, ended_at = CASE $2 WHEN 'failed' THEN now() END"
                " WHERE id = $1::text::uuid",
                run_id,
                status,
            )
        )
        return f"{path}/{act}"

    return made


async def _body_of_pipeline(stage: "Stage") -> dict[str, Any]:
    return _definition(stage)


async def _body_of_new_pipeline(stage: "Stage") -> dict[str, Any]:
    await _make_room(stage)
    return _definition(stage)


async def _body_of_run(_: "Stage") -> dict[str, Any]:
    return {"input": {}}


async def _body_of_resumption(_: "Stage") -> dict[str, Any]:
    return {"budget": "2"}


async def _body_of_instance(stage: "Stage") -> dict[str, Any]:
    await _make_room(stage)
    payee = stage.payee.did
    parameters = {"translator": payee, "reviewer": payee, "max_amount": "1"}
    return {"agent_did": stage.agent.did, "parameters": parameters}


_DECIDED = _run_as("waiting_approval", "waiting_approval", "steps/only")


async def _approved(stage: "Stage") -> str:
    return f"{await _DECIDED(stage)}/approve"


async def _denied(stage: "Stage") -> str:
    return f"{await _DECIDED(stage)}/deny"


MADE_ANEW: dict[str, Callable[["Stage"], Awaitable[str]]] = {
    "{pipeline_id}/runs/{run_id}/steps/{step_id}/approve": _approved,
    "{pipeline_id}/runs/{run_id}/steps/{step_id}/deny": _denied,
    "{pipeline_id}/runs/{run_id}/resume": _run_as("failed", "failed", "resume"),
    "{pipeline_id}/runs/{run_id}": run,
    "{pipeline_id}": pipeline,
}
"""Objects named by a path, the longest first."""

ROOT = "/api/v1/agents/{did}/pipelines"
BODIES: dict[str, Callable[["Stage"], Awaitable[dict[str, Any]]]] = {
    f"POST {ROOT}": _body_of_new_pipeline,
    f"PUT {ROOT}/{{pipeline_id}}": _body_of_pipeline,
    f"POST {ROOT}/{{pipeline_id}}/runs": _body_of_run,
    f"POST {ROOT}/{{pipeline_id}}/runs/{{run_id}}/resume": _body_of_resumption,
    "POST /api/v1/pipeline-templates/{template_id}/instantiate": _body_of_instance,
}


async def _form_of_template(stage: "Stage") -> dict[str, str]:
    await _make_room(stage)
    return {"translator": stage.payee.did, "reviewer": stage.payee.did, "max_amount": "1"}


async def _form_of_pipeline(stage: "Stage") -> dict[str, str]:
    return {
        "name": "Staged",
        "budget": "1",
        "deadline_seconds": "60",
        "step_1_id": "only",
        "step_1_agent": stage.payee.did,
        "step_1_content": "x",
        "step_1_max_amount": "1",
    }


async def _form_of_new_pipeline(stage: "Stage") -> dict[str, str]:
    await _make_room(stage)
    return await _form_of_pipeline(stage)


async def _form_of_run(_: "Stage") -> dict[str, str]:
    return {"budget": "1"}


async def _form_of_resumption(_: "Stage") -> dict[str, str]:
    return {"budget": "2"}


async def _form_of_nothing(_: "Stage") -> dict[str, str]:
    return {}


PAGE = "POST /account/agents/{did}/pipelines"
FORMS: dict[str, Callable[["Stage"], Awaitable[dict[str, str]]]] = {
    f"{PAGE}/new": _form_of_new_pipeline,
    f"{PAGE}/{{pipeline_id}}/edit": _form_of_pipeline,
    f"{PAGE}/templates/{{template_id}}": _form_of_template,
    f"{PAGE}/{{pipeline_id}}/start": _form_of_run,
    f"{PAGE}/{{pipeline_id}}/delete": _form_of_nothing,
    f"{PAGE}/{{pipeline_id}}/runs/{{run_id}}/cancel": _form_of_nothing,
    f"{PAGE}/{{pipeline_id}}/runs/{{run_id}}/resume": _form_of_resumption,
    f"{PAGE}/{{pipeline_id}}/runs/{{run_id}}/steps/{{step_id}}/approve": _form_of_nothing,
    f"{PAGE}/{{pipeline_id}}/runs/{{run_id}}/steps/{{step_id}}/deny": _form_of_nothing,
}
