"""Who is asking. The parameter type in a route's signature is the policy.

- `Public`: anyone. `CurrentDeveloper`: a person, by developer token or by an API key with every scope;
  `developer_holding(scope)`: the same, or an API key with that scope. `ActingDeveloper` and `developer_acting(scope)`: the
  same, unless suspended; every route that changes more than the person's own access and account. `admin_holding(area)`: one who administers that
  area. `CurrentAgent` or `agent_holding(permission)`: one agent, by agent token. The wrong kind of credential is a 401, a
  missing right a 403, before the body is read; with `agent_to_judge(permission)` the handler judges the permission.
- A permission that an agent's roles do not give may come from a capability, where the route says so. `AGENT_RBAC_MODE`
  decides whether a missing one is refused, or only logged.
- `CurrentPasswordSetter`: a person who recovered an account, by the token that sets its password and does nothing else.
- `InternalCaller`: a service of the operator's own, by the internal key or by its certificate, or an admitted registry,
  by its licence key.
- `ComparedAgent` or `agent_holding(permission, is_compared=True)`: as `CurrentAgent` and `agent_holding`, with what this
  process read of the agent before (optimistic): the transaction of the route compares its version.
- The rooms that own developers, agents and federation fill the slots of the checks.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime
from hmac import compare_digest
from typing import Annotated, Any
from uuid import UUID

import msgspec
import structlog
from cryptography.x509 import Certificate
from fastapi import Depends, Request
from fastapi.security import APIKeyHeader, HTTPBearer

from hansa.foundation.plumbing.client_certificate import shown_certificate
from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.declared_refusals import refuses_with
from hansa.foundation.plumbing.early_authentication import evaluated_once
from hansa.foundation.plumbing.metrics import shadow_refusals_total
from hansa.foundation.plumbing.runtime import Runtime, Slot, runtime_of
from hansa.foundation.plumbing.settings import CAUTIOUS_MODE
from hansa.foundation.values.areas import ADMIN_AREAS
from hansa.foundation.values.errors import DeveloperSuspended, Forbidden, Unauthorized
from hansa.foundation.values.scopes import EVERY_SCOPE, SCOPES, allows

# What the session of a developer is called that shows an API key: followed by the key's id.
API_KEY_SESSION = "api-key:"

_log = structlog.get_logger()


class Developer(msgspec.Struct, frozen=True):
    """A person. `areas` are those administered now, none while `are_areas_withheld`: the person is suspended.

    `is_admin`: the operator made this person an administrator.
    `session` is a login, or `api-key:<id>`. `scopes` narrow what a credential may do; a developer token is never narrow.
    `has_second_factor`: two-factor login is on for the account. `second_factor_at`: moment of the code that the login gave, or the login that made the API key; None without a code, and
    once the app of that code is turned off.
    """

    id: int
    email: str
    session: str
    is_verified: bool
    areas: frozenset[str]
    is_admin: bool
    scopes: frozenset[str] = frozenset({EVERY_SCOPE})
    has_second_factor: bool = False
    second_factor_at: datetime | None = None
    are_areas_withheld: bool = False
    is_suspended: bool = False

    @property
    def areas_in_reach(self) -> frozenset[str]:
        """The areas that this credential opens."""
        return frozenset(area for area in self.areas if allows(self.scopes, f"admin:{area}"))

    def require(self, scope: str) -> None:
        """Raises: ScopeMissing."""
        if not allows(self.scopes, scope):
            raise ScopeMissing(context={"scope": scope})

    def require_not_suspended(self) -> None:
        """Raises: DeveloperSuspended."""
        if self.is_suspended:
            raise DeveloperSuspended

    def require_area(self, area: str, detail: str | None = None) -> None:
        """The person administers the area now. Raises: AreasWithheld, AreaMissing with this detail."""
        if self.are_areas_withheld:
            raise AreasWithheld
        if area not in self.areas:
            raise AreaMissing(detail, context={"area": area})


class Agent(msgspec.Struct, frozen=True):
    """One agent, by agent token; active at the moment it was asked."""

    did: str
    developer_id: int
    roles: tuple[str, ...]
    permissions: frozenset[str]
    is_governed: bool
    """Whether its owner bounds what it pays."""
    version: int | None = None
    """What the transaction has to compare, as the agent was not read for this request; None where it was."""


class AgentToJudge(msgspec.Struct, frozen=True):
    """One agent, by agent token; its permission is not judged yet."""

    did: str
    permitted: Callable[[], Agent]
    """The agent, if it holds the permission of the route. Raises: PermissionMissing."""


class PasswordSetter(msgspec.Struct, frozen=True):
    """Somebody who may set a new password without the old one; `grant` is that right, good once."""

    developer_id: int
    grant: UUID


DEVELOPER_CHECK: Slot[Callable[[Runtime, str], Awaitable[Developer]]] = Slot("callers: check of a developer")
AGENT_CHECK: Slot[Callable[[Runtime, str], Awaitable[Agent]]] = Slot("callers: check of an agent")
LAST_READ_AGENT: Slot[Callable[[Runtime, str], Agent | None]] = Slot("callers: agent as last read")
"""The agent of a token as this process read it last, with its version; None where it has to be read."""
PASSWORD_SETTER_CHECK: Slot[Callable[[Runtime, str], Awaitable[PasswordSetter]]] = Slot(
    "callers: check of a password setter"
)
LICENCE_CHECK: Slot[Callable[[Runtime, str], Awaitable[None]]] = Slot("callers: check of a licence")
SERVICE_CHECK: Slot[Callable[[Runtime, Certificate], Awaitable[None]]] = Slot("callers: check of a service")
"""Each check raises Unauthorized or Forbidden."""

IS_DEVELOPER_SUSPENDED: Slot[Callable[[Tx, int], Awaitable[bool]]] = Slot("callers: is a developer suspended")
"""Whether a developer is suspended, or the account closed; neither begins before the transaction ends."""


async def check_developer_or_agent(runtime: Runtime, token: str) -> Developer | Agent:
    """The agent of a token, or the developer of one that is not narrow. Raises: Unauthorized, ScopeMissing, as the check of an agent."""
    try:
        return await AGENT_CHECK.of(runtime)(runtime, token)
    except Unauthorized:
        developer = await DEVELOPER_CHECK.of(runtime)(runtime, token)
    developer.require(EVERY_SCOPE)
    return developer


class PermissionMissing(Forbidden):
    """The agent has no role with the permission that this route requires."""

    code = "PERMISSION_MISSING"
    sentence = "The agent's roles do not include the permission that this route requires."


class AreaMissing(Forbidden):
    """The developer is not an administrator of the area of this route."""

    code = "AREA_MISSING"
    sentence = "This route requires an administrator of another area."


class AreasWithheld(DeveloperSuspended):
    """The administrator is suspended."""

    sentence = "Your account is suspended: it administers nothing until another administrator reinstates it."


class AdminNeeds2fa(Forbidden):
    """The registry requires two-factor login (2FA) for administrators, and this credential comes from a login without a code."""

    code = "ADMIN_2FA_REQUIRED"
    sentence = "This registry requires two-factor login (2FA) for administrators: log in with a code."
    remedy = (
        "Turn on two-factor login at POST /auth/2fa/setup, then log in with a code and make API keys anew."
    )


class ScopeMissing(Forbidden):
    """The API key lacks the scope that this route requires."""

    code = "SCOPE_MISSING"
    sentence = "The API key does not have the scope that this route requires."


class LicenceSuspended(Forbidden):
    """The federation licence key is suspended."""

    code = "FEDERATION_LICENCE_SUSPENDED"
    sentence = "This federation licence is suspended."
    remedy = "Contact the administrators of the registry that issued the licence."


# A security requirement that nothing meets beside those of the signature: the description then says "or none".
CREDENTIAL_OPTIONAL: dict[str, Any] = {"security": [{}]}

# Where the scope of a request holds the developer or the agent whose credential was accepted.
CALLER = "hansa.caller"
# Where it holds the refusal of an API key without the scope that a public route looks for.
LACKING_SCOPE = "hansa.caller.lacking_scope"
# Where it holds the agent of an optimistic check once that was read for this request.
CONFIRMED = "hansa.caller.confirmed"

INTERNAL_KEY_HEADER = "X-Internal-Key"
LICENCE_HEADER = "X-Federation-License"
CAPABILITY_HEADER = "X-Capability-Token"

_DEVELOPER_SCHEME = HTTPBearer(scheme_name="DeveloperToken", auto_error=False)
_AGENT_SCHEME = HTTPBearer(scheme_name="AgentToken", auto_error=False)
_PASSWORD_SCHEME = HTTPBearer(scheme_name="PasswordToken", auto_error=False)
_INTERNAL_SCHEME = APIKeyHeader(name=INTERNAL_KEY_HEADER, scheme_name="InternalKey", auto_error=False)
_LICENCE_SCHEME = APIKeyHeader(name=LICENCE_HEADER, scheme_name="FederationLicence", auto_error=False)


async def anyone() -> None:
    """The route is public."""


@refuses_with(Unauthorized)
@evaluated_once
async def any_developer(request: Request, _: Annotated[Any, Depends(_DEVELOPER_SCHEME)]) -> Developer:
    """The person asking, however narrow the API key. Raises: Unauthorized."""
    return await _developer_of(request)


@refuses_with(Unauthorized, ScopeMissing)
async def developer_caller(developer: Annotated[Developer, Depends(any_developer)]) -> Developer:
    """The person asking, with a credential that is not narrow. Raises: Unauthorized, ScopeMissing."""
    developer.require(EVERY_SCOPE)
    return developer


@refuses_with(DeveloperSuspended)
async def acting_developer_caller(
    developer: Annotated[Developer, Depends(developer_caller)],
) -> Developer:
    """The person asking, with a credential that is not narrow, who is not suspended. Raises: DeveloperSuspended."""
    developer.require_not_suspended()
    return developer


@refuses_with(Unauthorized)
@evaluated_once
async def any_developer_if_any(
    request: Request, _: Annotated[Any, Depends(_DEVELOPER_SCHEME)]
) -> Developer | None:
    """The person asking, however narrow the API key; None without an Authorization header. Raises: Unauthorized."""
    if "authorization" not in request.headers:
        return None
    return await _developer_of(request)


@refuses_with(ScopeMissing)
async def developer_caller_if_any(
    developer: Annotated[Developer | None, Depends(any_developer_if_any)],
) -> Developer | None:
    """The person asking, or None without an Authorization header; a wrong credential is refused all the same."""
    if developer is not None:
        developer.require(EVERY_SCOPE)
    return developer


@refuses_with(Unauthorized, asking=AGENT_CHECK)
@evaluated_once
async def agent_caller(request: Request, _: Annotated[Any, Depends(_AGENT_SCHEME)]) -> Agent:
    """The agent asking. Raises: Unauthorized, and what the check of an agent refuses with."""
    runtime = runtime_of(request)
    agent = await AGENT_CHECK.of(runtime)(runtime, bearer_token(request))
    request.scope[CALLER] = agent
    return agent


@refuses_with(Unauthorized, asking=AGENT_CHECK)
@evaluated_once
async def compared_agent_caller(request: Request, _: Annotated[Any, Depends(_AGENT_SCHEME)]) -> Agent:
    """The agent asking, as this process read it last: its `version` is for the transaction to compare.

    Raises: Unauthorized, and what the check of an agent refuses with.
    """
    if (confirmed := request.scope.get(CONFIRMED)) is not None:
        return confirmed  # type: ignore[no-any-return]
    runtime = runtime_of(request)
    token = bearer_token(request)
    agent = LAST_READ_AGENT.of(runtime)(runtime, token) or await AGENT_CHECK.of(runtime)(runtime, token)
    request.scope[CALLER] = agent
    return agent


@refuses_with(Unauthorized, ScopeMissing, asking=AGENT_CHECK)
@evaluated_once
async def developer_or_agent_caller(
    request: Request,
    _: Annotated[Any, Depends(_DEVELOPER_SCHEME)],
    __: Annotated[Any, Depends(_AGENT_SCHEME)],
) -> Developer | Agent:
    """Who is asking, a person or an agent. Raises: Unauthorized, ScopeMissing, and what the check of an agent refuses with."""
    caller = await check_developer_or_agent(runtime_of(request), bearer_token(request))
    request.scope[CALLER] = caller
    return caller


@refuses_with(Unauthorized)
@evaluated_once
async def password_setter_caller(
    request: Request, _: Annotated[Any, Depends(_PASSWORD_SCHEME)]
) -> PasswordSetter:
    """Who may set a new password. Raises: Unauthorized."""
    runtime = runtime_of(request)
    return await PASSWORD_SETTER_CHECK.of(runtime)(runtime, bearer_token(request))


@refuses_with(Unauthorized, LicenceSuspended)
@evaluated_once
async def internal_caller(
    request: Request,
    _: Annotated[Any, Depends(_INTERNAL_SCHEME)],
    __: Annotated[Any, Depends(_LICENCE_SCHEME)],
) -> None:
    """A service or an admitted registry; no token of a person or an agent passes.

    Whoever shows several credentials is judged by the key before the licence, and by the licence before the certificate.

    Raises: Unauthorized, LicenceSuspended.
    """
    runtime = runtime_of(request)
    if keys := request.headers.getlist(INTERNAL_KEY_HEADER):
        if len(keys) != 1 or not compare_digest(keys[0].encode("latin-1"), runtime.internal_key.encode()):
            raise Unauthorized(f"This {INTERNAL_KEY_HEADER} is wrong.")
    elif licences := request.headers.getlist(LICENCE_HEADER):
        if len(licences) != 1:
            raise Unauthorized(f"Exactly one {LICENCE_HEADER} header is accepted.")
        await LICENCE_CHECK.of(runtime)(runtime, licences[0])
    elif certificate := shown_certificate(request):
        await SERVICE_CHECK.of(runtime)(runtime, certificate)
    else:
        raise Unauthorized(
            f"A valid {INTERNAL_KEY_HEADER}, {LICENCE_HEADER} or client certificate of a service is required."
        )


def admin_holding(area: str) -> Any:
    """A dependency: the developer asking, who administers `area`; an API key needs the scope `admin:<area>`.

    Under REQUIRE_ADMIN_2FA the credential must come from a login with a code.
    """
    assert area in ADMIN_AREAS, area

    @refuses_with(AreasWithheld, AreaMissing, ScopeMissing, AdminNeeds2fa)
    async def administrator(
        request: Request, developer: Annotated[Developer, Depends(any_developer)]
    ) -> Developer:
        developer.require_area(area)
        developer.require(f"admin:{area}")
        if runtime_of(request).settings.require_admin_2fa and developer.second_factor_at is None:
            raise AdminNeeds2fa
        return developer

    administrator.area = area  # type: ignore[attr-defined]
    return Depends(administrator)


def developer_holding(scope: str) -> Any:
    """A dependency: the developer asking, with a credential that has `scope`."""
    assert scope in SCOPES, scope

    @refuses_with(ScopeMissing)
    async def developer_with_scope(developer: Annotated[Developer, Depends(any_developer)]) -> Developer:
        developer.require(scope)
        return developer

    developer_with_scope.scope = scope  # type: ignore[attr-defined]
    return Depends(developer_with_scope)


def developer_acting(scope: str) -> Any:
    """A dependency: as `developer_holding`, by a person who is not suspended."""
    assert scope in SCOPES, scope

    @refuses_with(ScopeMissing, DeveloperSuspended)
    async def acting_developer_with_scope(
        developer: Annotated[Developer, Depends(any_developer)],
    ) -> Developer:
        developer.require(scope)
        developer.require_not_suspended()
        return developer

    acting_developer_with_scope.scope = scope  # type: ignore[attr-defined]
    return Depends(acting_developer_with_scope)


def maybe_developer_holding(scope: str) -> Any:
    """A dependency: the developer asking, with a credential that has `scope`; None for every other request.

    The route is public: a credential that is missing, malformed, expired, of another kind or without the scope is not
    refused, the request is anonymous. With it goes `openapi_extra=CREDENTIAL_OPTIONAL` on the route.
    """
    assert scope in SCOPES, scope

    async def developer_with_scope_if_any(
        request: Request, _: Annotated[Any, Depends(_DEVELOPER_SCHEME)]
    ) -> Developer | None:
        try:
            developer = await _developer_of(request)
            developer.require(scope)
        except ScopeMissing as missing:
            request.scope[LACKING_SCOPE] = missing
            return None
        except (Unauthorized, Forbidden):
            return None
        return developer

    developer_with_scope_if_any.optional_scope = scope  # type: ignore[attr-defined]
    return Depends(developer_with_scope_if_any)


def require_scope_if_lacking(request: Request) -> None:
    """For a part of a public route that needs the developer. Raises: ScopeMissing, where the API key is good but narrow."""
    if (missing := request.scope.get(LACKING_SCOPE)) is not None:
        raise missing


def agent_holding(permission: str, *, or_capability: bool = False, is_compared: bool = False) -> Any:
    """A dependency: the agent asking, which holds `permission` where roles are enforced.

    With `or_capability` an agent that shows a capability passes: the payment's own check judges both. With `is_compared` it is
    a `ComparedAgent`.
    """

    @refuses_with(PermissionMissing)
    @evaluated_once
    async def agent_with_permission(
        request: Request,
        agent: Annotated[Agent, Depends(compared_agent_caller if is_compared else agent_caller)],
    ) -> Agent:
        return _permitted(request, agent, permission, or_capability=or_capability)

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


async def _developer_of(request: Request) -> Developer:
    runtime = runtime_of(request)
    developer = await DEVELOPER_CHECK.of(runtime)(runtime, bearer_token(request))
    request.scope[CALLER] = developer
    return developer


def bearer_token(request: Request) -> str:
    """The token of `Authorization: Bearer <token>`. Raises: Unauthorized."""
    values = request.headers.getlist("authorization")
    scheme, _, token = values[0].partition(" ") if len(values) == 1 else ("", "", "")
    if scheme.lower() != "bearer" or not token.strip():
        raise Unauthorized
    return token.strip()


Public = Annotated[None, Depends(anyone)]
CurrentDeveloper = Annotated[Developer, Depends(developer_caller)]
ActingDeveloper = Annotated[Developer, Depends(acting_developer_caller)]
MaybeDeveloper = Annotated[Developer | None, Depends(developer_caller_if_any)]
"""With it goes `openapi_extra=CREDENTIAL_OPTIONAL` on the route."""
CurrentAgent = Annotated[Agent, Depends(agent_caller)]
ComparedAgent = Annotated[Agent, Depends(compared_agent_caller)]
"""Only for a `DirectRoute`: its transaction compares the version, and `confirm_caller` comes before any other answer."""
CurrentPasswordSetter = Annotated[PasswordSetter, Depends(password_setter_caller)]
InternalCaller = Annotated[None, Depends(internal_caller)]
DeveloperOrAgent = Annotated[Developer | Agent, Depends(developer_or_agent_caller)]
