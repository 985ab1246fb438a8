"""Every refusal becomes one body: RFC 7807 members with the legacy envelope beside them. Nothing internal leaks."""

from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse, Response
from fastapi.routing import iter_route_contexts
from starlette.exceptions import HTTPException

from hansa.doors.console.access import Diverted
from hansa.doors.console.rendering import error_page, wants_page
from hansa.foundation.plumbing.process.runtime import runtime_of
from hansa.foundation.plumbing.web.invalid_member import InvalidMember
from hansa.foundation.plumbing.web.problem_docs import STATUS_TAGS
from hansa.foundation.values.errors import Crashed, MemberInvalid, MethodNotAllowed, NotFound, Refused

CODES = {404: NotFound.code, 405: MethodNotAllowed.code}
SENTENCES = {404: "No route matches this path.", 405: MethodNotAllowed.sentence}
MEDIA_TYPE = "application/problem+json"
# Links in a mail, since programs that look at links before a person does send HEAD; and a stream, which has no end.
WITHOUT_HEAD = frozenset({"/api/v1/auth/verify-email", "/verify-email", "/events/stream"})

_log = structlog.get_logger()


class ProblemResponse(JSONResponse):
    """A refusal on the wire."""

    media_type = MEDIA_TYPE


def problem(
    request: Request,
    status: int,
    code: str,
    detail: str,
    *,
    field: str | None = None,
    context: Mapping[str, Any] | None = None,
    members: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """The response to a refused request: a problem document, or a page where a browser asks for one.

    A 401 names the scheme of its credential (RFC 9110, 11.6.1).
    """
    sent = dict(headers or {})
    if status == HTTPStatus.UNAUTHORIZED:
        sent.setdefault("WWW-Authenticate", "Bearer")
    if wants_page(request):
        return error_page(request, status=status, code=code, detail=detail, headers=sent)
    tag = STATUS_TAGS.get(status, "error")
    body = {
        **(members or {}),
        "type": f"{runtime_of(request).settings.base_url}/docs/problems/{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "instance": request.url.path,
        "error": {"detail": detail, "type": tag, "code": code, "field": field, "context": context},
    }
    return ProblemResponse(body, status_code=status, headers=sent)


def install(app: FastAPI) -> None:
    """Answer every trouble of the app with a problem document."""
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(Diverted, _diverted)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _crashed)


async def answered(handler: Callable[[Request], Awaitable[Response]], request: Request) -> Response:
    """Return the answer of `handler`, its errors in the form of the app."""
    try:
        return await handler(request)
    except Refused as error:
        return await _refused(request, error)
    except RequestValidationError as error:
        return await _invalid(request, error)
    except Exception as error:  # noqa: BLE001
        return await _crashed(request, error)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    return problem(
        request,
        error.status,
        error.code,
        error.detail,
        field=error.field,
        context=error.context,
        members=error.members,
        headers=error.headers,
    )


async def _diverted(_: Request, error: Exception) -> Response:
    assert isinstance(error, Diverted)
    return error.answer


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    invalid = InvalidMember.of(error)
    return problem(request, 422, MemberInvalid.code, invalid.message, field=invalid.field)


async def _http(request: Request, failure: Exception) -> Response:
    assert isinstance(failure, HTTPException)
    status = failure.status_code
    code = CODES.get(status, STATUS_TAGS.get(status, "error").upper())
    if status == NotFound.status and (target := without_trailing_slash(request)) is not None:
        return RedirectResponse(target, status_code=308)
    is_known = status == MethodNotAllowed.status and (allowed := _allow(request))
    headers = {"Allow": allowed} if is_known else failure.headers
    return problem(request, status, code, SENTENCES.get(status, str(failure.detail)), headers=headers)


def _allow(request: Request) -> str:
    """Every method that the path takes; the framework names those of the first route alone. Empty for the files of the pages.

    A path that is declared as it stands is not asked about templates that fit it too.
    """
    path = request.url.path
    fitting = [
        route
        for route in iter_route_contexts(request.app.routes)
        if route.methods and route.path_regex.match(path)
    ]
    as_it_stands = [route for route in fitting if route.path == path]
    methods = {method for route in as_it_stands or fitting for method in route.methods or ()}
    if "GET" in methods and path not in WITHOUT_HEAD:
        methods.add("HEAD")
    return ", ".join(sorted(methods))


def without_trailing_slash(request: Request) -> str | None:
    """The address of the page that was meant, where there is one; the API has one path for each route."""
    path, query = request.url.path, request.url.query
    meant = path.rstrip("/")
    if (
        meant == path
        or not meant
        or meant.startswith(("//", "/api/"))
        or request.scope.get("method") != "GET"
    ):
        return None
    is_there = any(
        "GET" in (route.methods or ()) and route.path_regex.match(meant)
        for route in iter_route_contexts(request.app.routes)
    )
    if not is_there:
        return None
    return f"{meant}?{query}" if query else meant


async def _crashed(request: Request, failure: Exception) -> Response:
    _log.error("request crashed", path=request.url.path, exc_info=failure)
    return problem(request, Crashed.status, Crashed.code, Crashed.sentence)
