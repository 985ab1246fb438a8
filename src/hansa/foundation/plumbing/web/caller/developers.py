"""Developers as callers: by developer token or API key, with scopes and areas, and a person who sets a new password."""

from typing import Annotated, Any

from fastapi import Depends, Request

from hansa.foundation.plumbing.process.runtime import runtime_of
from hansa.foundation.plumbing.web.early_authentication import evaluated_once
from hansa.foundation.plumbing.web.problem_docs import refuses_with
from hansa.foundation.values.areas import ADMIN_AREAS
from hansa.foundation.values.errors import DeveloperSuspended, Forbidden, Unauthorized
from hansa.foundation.values.scopes import EVERY_SCOPE, SCOPES

from .callers import Developer, PasswordSetter
from .checks import DEVELOPER_CHECK, PASSWORD_SETTER_CHECK
from .credentials import CALLER, DEVELOPER_SCHEME, GIVEN, LACKING_SCOPE, PASSWORD_SCHEME, bearer_token
from .errors import AdminNeeds2fa, AreaMissing, AreasWithheld, ScopeMissing

# A security requirement that nothing meets beside those of the signature: the description then says "or none".
CREDENTIAL_OPTIONAL: dict[str, Any] = {"security": [{}]}


@refuses_with(Unauthorized)
@evaluated_once
async def any_developer(request: Request, _: Annotated[Any, Depends(DEVELOPER_SCHEME)]) -> Developer:
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
    request: Request, _: Annotated[Any, Depends(DEVELOPER_SCHEME)]
) -> Developer | None:
    """The person asking, however narrow the API key; None without an Authorization header. Raises: Unauthorized."""
    if "authorization" not in request.headers and GIVEN not in request.scope:
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


@refuses_with(Unauthorized)
@evaluated_once
async def password_setter_caller(
    request: Request, _: Annotated[Any, Depends(PASSWORD_SCHEME)]
) -> PasswordSetter:
    """Return the person who may set a new password. Raises: Unauthorized."""
    runtime = runtime_of(request)
    return await PASSWORD_SETTER_CHECK.of(runtime)(runtime, bearer_token(request))


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
        request: Request, _: Annotated[Any, Depends(DEVELOPER_SCHEME)]
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


async def _developer_of(request: Request) -> Developer:
    given = request.scope.get(GIVEN)
    if isinstance(given, Developer):
        request.scope[CALLER] = given
        return given
    if given is not None:
        raise Unauthorized
    runtime = runtime_of(request)
    developer = await DEVELOPER_CHECK.of(runtime)(runtime, bearer_token(request))
    request.scope[CALLER] = developer
    return developer


CurrentDeveloper = Annotated[Developer, Depends(developer_caller)]
ActingDeveloper = Annotated[Developer, Depends(acting_developer_caller)]
MaybeDeveloper = Annotated[Developer | None, Depends(developer_caller_if_any)]
"""With it goes `openapi_extra=CREDENTIAL_OPTIONAL` on the route."""
CurrentPasswordSetter = Annotated[PasswordSetter, Depends(password_setter_caller)]
