"""Agents as callers: by agent token, with the permissions of their roles or of a capability."""

from typing import Annotated, Any

import structlog
from fastapi import Depends, Request

from hansa.foundation.plumbing.process.runtime import runtime_of
from hansa.foundation.plumbing.settings import CAUTIOUS_MODE
from hansa.foundation.plumbing.telemetry.metrics import begin, shadow_refusals_total
from hansa.foundation.plumbing.web.early_authentication import evaluated_once
from hansa.foundation.plumbing.web.problem_docs import refuses_with
from hansa.foundation.values.errors import DeveloperSuspended, Unauthorized
from hansa.foundation.values.scopes import EVERY_SCOPE, SCOPES

from .callers import Agent, AgentToJudge, Developer
from .checks import AGENT_CHECK, LAST_READ_AGENT, check_developer_or_agent
from .credentials import (
    AGENT_SCHEME,
    CALLER,
    CAPABILITY_HEADER,
    CONFIRMED,
    DEVELOPER_SCHEME,
    GIVEN,
    bearer_token,
)
from .errors import PermissionMissing, ScopeMissing

_log = structlog.get_logger()
begin(shadow_refusals_total, ("roles",), (PermissionMissing.code,))


@refuses_with(Unauthorized, asking=AGENT_CHECK)
@evaluated_once
async def agent_caller(request: Request, _: Annotated[Any, Depends(AGENT_SCHEME)]) -> Agent:
    """The agent asking. Raises: Unauthorized, and the refusals of the check of an agent."""
    agent = given_agent(request)
    if agent is None:
        runtime = runtime_of(request)
        agent = await AGENT_CHECK.of(runtime)(runtime, bearer_token(request))
    request.scope[CALLER] = agent
    return agent


@refuses_with(Unauthorized, asking=AGENT_CHECK)
@evaluated_once
async def compared_agent_caller(request: Request, _: Annotated[Any, Depends(AGENT_SCHEME)]) -> Agent:
    """The agent asking, as this process read it last: its `version` is for the transaction to compare.

    Raises: Unauthorized, and the refusals of the check of an agent.
    """
    if (confirmed := request.scope.get(CONFIRMED)) is not None:
        return confirmed  # type: ignore[no-any-return]
    if (given := given_agent(request)) is not None:
        request.scope[CALLER] = given
        return given
    runtime = runtime_of(request)
    token = bearer_token(request)
    agent = LAST_READ_AGENT.of(runtime)(runtime, token) or await AGENT_CHECK.of(runtime)(runtime, token)
    request.scope[CALLER] = agent
    return agent


@refuses_with(Unauthorized, ScopeMissing, asking=AGENT_CHECK)
@evaluated_once
async def developer_or_agent_caller(
    request: Request,
    _: Annotated[Any, Depends(DEVELOPER_SCHEME)],
    __: Annotated[Any, Depends(AGENT_SCHEME)],
) -> Developer | Agent:
    """Return the caller, a person or an agent. Raises: Unauthorized, ScopeMissing, and the refusals of the check of an agent."""
    return await _developer_or_agent(request, EVERY_SCOPE)


def developer_or_agent_holding(scope: str, *, is_act: bool = False) -> Any:
    """A dependency: an agent, or a person with a credential that has `scope`; for an act a person who is not suspended."""
    assert scope in SCOPES, scope
    refusals = (Unauthorized, ScopeMissing, *((DeveloperSuspended,) if is_act else ()))

    @refuses_with(*refusals, asking=AGENT_CHECK)
    @evaluated_once
    async def developer_with_scope_or_agent(
        request: Request,
        _: Annotated[Any, Depends(DEVELOPER_SCHEME)],
        __: Annotated[Any, Depends(AGENT_SCHEME)],
    ) -> Developer | Agent:
        caller = await _developer_or_agent(request, scope)
        if is_act and isinstance(caller, Developer):
            caller.require_not_suspended()
        return caller

    developer_with_scope_or_agent.scope_or_agent = scope  # type: ignore[attr-defined]
    return Depends(developer_with_scope_or_agent)


def developer_or_agent_permitted(scope: str, permission: str) -> Any:
    """A dependency: an agent that holds `permission`, or a person who is not suspended, with a credential that has `scope`."""

    @refuses_with(PermissionMissing)
    @evaluated_once
    async def developer_with_scope_or_permitted_agent(
        request: Request,
        caller: Annotated[Developer | Agent, developer_or_agent_holding(scope, is_act=True)],
    ) -> Developer | Agent:
        if isinstance(caller, Agent):
            require_permission(caller, permission, runtime_of(request).settings.agent_rbac_mode)
        return caller

    developer_with_scope_or_permitted_agent.scope_or_agent = scope  # type: ignore[attr-defined]
    return Depends(developer_with_scope_or_permitted_agent)


def agent_holding(
    permission: str,
    *,
    or_permission: str | None = None,
    or_capability: bool = False,
    is_compared: bool = False,
) -> Any:
    """A dependency: the agent asking, which holds `permission`, or the other one that is named, where roles are enforced.

    With `or_capability` an agent that shows a capability passes: the payment's own check judges both. With `is_compared` it is
    a `ComparedAgent`.
    """

    @refuses_with(PermissionMissing)
    @evaluated_once
    async def agent_with_permission(
        request: Request,
        agent: Annotated[Agent, Depends(compared_agent_caller if is_compared else agent_caller)],
    ) -> Agent:
        held = or_permission if or_permission in agent.permissions else permission
        return _permitted(request, agent, held, or_capability=or_capability)

    agent_with_permission.permission = permission  # type: ignore[attr-defined]
    return Depends(agent_with_permission)


def agent_to_judge(permission: str) -> Any:
    """A dependency: a `ComparedAgent`, whose permission the handler judges, after the checks that come before it.

    An agent that shows a capability passes, as with `or_capability` of `agent_holding`.
    """

    @refuses_with(PermissionMissing)
    async def agent_without_judgement(
        request: Request, agent: Annotated[Agent, Depends(compared_agent_caller)]
    ) -> AgentToJudge:
        return AgentToJudge(agent.did, lambda: _permitted(request, agent, permission, or_capability=True))

    agent_without_judgement.permission = permission  # type: ignore[attr-defined]
    return Depends(agent_without_judgement)


def given_caller(request: Request) -> Developer | Agent | None:
    """The caller of a request that a door makes within the process; None where the request brings a credential of its own."""
    given: Developer | Agent | None = request.scope.get(GIVEN)
    return given


def given_agent(request: Request) -> Agent | None:
    """The agent that a door has accepted, or None as `given_caller`. Raises: Unauthorized, where the caller is a person."""
    given = given_caller(request)
    if isinstance(given, Developer):
        raise Unauthorized
    return given


async def _developer_or_agent(request: Request, scope: str) -> Developer | Agent:
    caller = given_caller(request)
    if caller is None:
        caller = await check_developer_or_agent(runtime_of(request), bearer_token(request), scope)
    elif isinstance(caller, Developer):
        caller.require(scope)
    request.scope[CALLER] = caller
    return caller


def _permitted(request: Request, agent: Agent, permission: str, *, or_capability: bool) -> Agent:
    settings = runtime_of(request).settings
    shows_capability = or_capability and CAPABILITY_HEADER in request.headers
    if not shows_capability or settings.agent_delegation_mode != "enforce":
        require_permission(agent, permission, settings.agent_rbac_mode)
    return agent


def require_permission(
    agent: Agent, permission: str, mode: CAUTIOUS_MODE, *, lent: frozenset[str] = frozenset()
) -> None:
    """The agent's roles give the permission, or it is delegated to it; shadow mode only records. Raises: PermissionMissing."""
    if mode == "off" or permission in agent.permissions | lent:
        return
    if mode == "enforce":
        raise PermissionMissing(context={"permission": permission})
    shadow_refusals_total.labels("roles", PermissionMissing.code).inc()
    _log.warning(
        "shadow mode: would have been refused",
        control="roles",
        code=PermissionMissing.code,
        permission=permission,
        agent=agent.did,
    )


CurrentAgent = Annotated[Agent, Depends(agent_caller)]
ComparedAgent = Annotated[Agent, Depends(compared_agent_caller)]
"""Only for a `DirectRoute`: its transaction compares the version, and `confirm_caller` comes before any other answer."""
DeveloperOrAgent = Annotated[Developer | Agent, Depends(developer_or_agent_caller)]
