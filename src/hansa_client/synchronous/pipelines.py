# Generated from hansa_client/asynchronous/pipelines.py by `python -m tests.house.synchronous`.
"""Pipelines of an agent, their runs, and templates.

Without a DID the agent of this client is meant, with one an agent of the developer. Each act is one intent: all its attempts carry one
Idempotency-Key.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from hansa_client.amounts import Amount, amount_text
from hansa_client.calls import Call, new_key
from hansa_client.records.agents import AgentSelf
from hansa_client.records.pipelines import (
    Pipeline,
    PipelineDeleted,
    PipelineTemplate,
    PipelineTemplates,
    Run,
    RunStarted,
    RunSummary,
)
from hansa_client.records.record import Page

from .session import Session
from .transport import Transport

TEMPLATES = "/api/v1/pipeline-templates"


class Pipelines:
    """Chains of paid calls with a budget."""

    def __init__(self, transport: Transport, owner: Session, agent: Session) -> None:
        self._transport = transport
        self._owner = owner
        self._agent = agent

    def create(
        self,
        name: str,
        steps: Sequence[Mapping[str, Any]],
        budget: Amount,
        *,
        description: str = "",
        deadline_seconds: int = 3600,
        did: str | None = None,
        key: str | None = None,
    ) -> Pipeline:
        """Create a pipeline. Raises: Invalid, NotFound, TooManyRequests, OutcomeUnknown."""
        place, session = self._place(did)
        body = _definition(name, steps, budget, description, deadline_seconds)
        return self._transport.answer(_post(place, body, key), Pipeline, session)

    def list(self, did: str | None = None, *, limit: int = 20, offset: int = 0) -> Page[Pipeline]:
        """The pipelines of an agent, newest first. Raises: NotFound."""
        place, session = self._place(did)
        call = Call("GET", place, query={"limit": limit, "offset": offset})
        return self._transport.answer(call, Page[Pipeline], session)

    def read(self, pipeline_id: str, did: str | None = None) -> Pipeline:
        """A pipeline. Raises: NotFound."""
        place, session = self._place(did, pipeline_id)
        return self._transport.answer(Call("GET", place), Pipeline, session)

    def replace(
        self,
        pipeline_id: str,
        name: str,
        steps: Sequence[Mapping[str, Any]],
        budget: Amount,
        *,
        description: str = "",
        deadline_seconds: int = 3600,
        did: str | None = None,
        key: str | None = None,
    ) -> Pipeline:
        """Write a new revision; runs keep theirs. Raises: Invalid, NotFound, OutcomeUnknown."""
        place, session = self._place(did, pipeline_id)
        body = _definition(name, steps, budget, description, deadline_seconds)
        call = Call("PUT", place, json=body, key=new_key() if key is None else key)
        return self._transport.answer(call, Pipeline, session)

    def delete(self, pipeline_id: str, did: str | None = None) -> PipelineDeleted:
        """Delete a pipeline of which every run has ended. Raises: Conflict, NotFound."""
        place, session = self._place(did, pipeline_id)
        return self._transport.answer(Call("DELETE", place), PipelineDeleted, session)

    def start(
        self,
        pipeline_id: str,
        input: Mapping[str, Any] | None = None,  # noqa: A002
        *,
        budget: Amount | None = None,
        key: str | None = None,
    ) -> RunStarted:
        """Start a run, as the agent. Raises: Forbidden, Invalid, NotFound, TooManyRequests, OutcomeUnknown."""
        place, session = self._place(None, pipeline_id, "runs")
        body = {"input": dict(input or {}), **_budget(budget)}
        return self._transport.answer(_post(place, body, key), RunStarted, session)

    def runs(
        self, pipeline_id: str, did: str | None = None, *, limit: int = 20, offset: int = 0
    ) -> Page[RunSummary]:
        """The runs of a pipeline, newest first. Raises: NotFound."""
        place, session = self._place(did, pipeline_id, "runs")
        call = Call("GET", place, query={"limit": limit, "offset": offset})
        return self._transport.answer(call, Page[RunSummary], session)

    def run(self, pipeline_id: str, run_id: str, did: str | None = None) -> Run:
        """A run with its steps, their attempts and outputs. Raises: NotFound."""
        place, session = self._place(did, pipeline_id, "runs", run_id)
        return self._transport.answer(Call("GET", place), Run, session)

    def cancel(self, pipeline_id: str, run_id: str, did: str | None = None) -> Run:
        """Cancel a run; it ends once its open payments have ended. Raises: Conflict, NotFound, OutcomeUnknown."""
        place, session = self._place(did, pipeline_id, "runs", run_id, "cancel")
        return self._transport.answer(_post(place, None, None), Run, session)

    def resume(
        self,
        pipeline_id: str,
        run_id: str,
        did: str | None = None,
        *,
        budget: Amount | None = None,
        key: str | None = None,
    ) -> Run:
        """Let a run go on that failed, spent its budget or lacked units. Raises: Conflict, NotFound, OutcomeUnknown."""
        place, session = self._place(did, pipeline_id, "runs", run_id, "resume")
        return self._transport.answer(_post(place, _budget(budget), key), Run, session)

    def approve(self, pipeline_id: str, run_id: str, step_id: str, did: str) -> Run:
        """Let a step go on, as the owner; an unknown one may pay again. Raises: Conflict, Forbidden, NotFound."""
        return self._decide(did, pipeline_id, run_id, step_id, "approve")

    def deny(self, pipeline_id: str, run_id: str, step_id: str, did: str) -> Run:
        """Let a step fail, as the owner. Raises: Conflict, Forbidden, NotFound."""
        return self._decide(did, pipeline_id, run_id, step_id, "deny")

    def templates(self) -> PipelineTemplates:
        """The templates, for anyone."""
        return self._transport.answer(Call("GET", TEMPLATES), PipelineTemplates)

    def template(self, template_id: str) -> PipelineTemplate:
        """A template, for anyone. Raises: NotFound."""
        call = Call("GET", f"{TEMPLATES}/{quote(template_id, safe='')}")
        return self._transport.answer(call, PipelineTemplate)

    def instantiate(
        self, template_id: str, did: str, parameters: Mapping[str, Any], *, key: str | None = None
    ) -> Pipeline:
        """Create a pipeline of an agent of the developer from a template. Raises: Invalid, NotFound, OutcomeUnknown."""
        body = {"agent_did": did, "parameters": dict(parameters)}
        call = _post(f"{TEMPLATES}/{quote(template_id, safe='')}/instantiate", body, key)
        return self._transport.answer(call, Pipeline, self._owner)

    def _decide(self, did: str, pipeline_id: str, run_id: str, step_id: str, act: str) -> Run:
        place, session = self._place(did, pipeline_id, "runs", run_id, "steps", step_id, act)
        return self._transport.answer(_post(place, None, None), Run, session)

    def _place(self, did: str | None, *below: str) -> tuple[str, Session]:
        """The path below the pipelines of the agent, and the session that reads it."""
        session = self._owner
        if did is None:
            session = self._agent
            did = (self._transport.answer(Call("GET", "/api/v1/agents/me"), AgentSelf, session)).did
        parts = ["/api/v1/agents", quote(did, safe=""), "pipelines", *(quote(one, safe="") for one in below)]
        return "/".join(parts), session


def _definition(
    name: str, steps: Sequence[Mapping[str, Any]], budget: Amount, description: str, deadline_seconds: int
) -> dict[str, Any]:
    return {
        "name": name,
        "description": description,
        "steps": [dict(step) for step in steps],
        "budget": amount_text(budget),
        "deadline_seconds": deadline_seconds,
    }


def _budget(budget: Amount | None) -> dict[str, Any]:
    return {} if budget is None else {"budget": amount_text(budget)}


def _post(path: str, body: dict[str, Any] | None, key: str | None) -> Call:
    return Call("POST", path, json=body, key=new_key() if key is None else key)
