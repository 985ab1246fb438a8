"""Refusals of tools, as results that are errors."""

from functools import cache
from typing import Any

from pydantic import ValidationError

from hansa.foundation.plumbing.web.in_process import InnerAnswer
from hansa.foundation.plumbing.web.problem_docs import every_refusal
from hansa.foundation.values.errors import Crashed, MemberInvalid, NotFound, Refused, TooManyRequests

from .answers import Shaped

ACCEPTED = 202
DETAIL_MAX = 2000
APPROVAL_CODES = frozenset({"SPEND_APPROVAL_REQUIRED", "APPROVAL_REQUIRED"})


class ToolUnknown(NotFound):
    """No tool of this address has this name."""

    code = "TOOL_UNKNOWN"
    sentence = "No tool of this address has this name."
    remedy = "List the tools, or search them with search_tools."


class TooManyCalls(TooManyRequests):
    """The caller has called tools too often within a minute."""

    code = "RATE_LIMITED"
    sentence = "Too many calls of tools; retry later."
    remedy = "Wait for the seconds in `context.retry_after`, then repeat the call."


def too_many(error: TooManyRequests) -> TooManyCalls:
    """The refusal of a call that a limit refuses."""
    return TooManyCalls(error.detail, context={"retry_after": int(error.headers["Retry-After"])})


def refusal(error: Refused) -> Shaped:
    """The result of a call that is refused here."""
    return _error(error.code, error.detail, error.status, error.context, error.remedy)


def invalid(error: ValidationError) -> Shaped:
    """The result of a call whose arguments are not those of its tool."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    detail = f"{place}: {first['msg']}" if place else first["msg"]
    return _error(MemberInvalid.code, detail, MemberInvalid.status, None, MemberInvalid.remedy)


def of_answer(answer: InnerAnswer) -> Shaped:
    """The result of a call that the route refused."""
    problem = answer.content if isinstance(answer.content, dict) else {}
    error = problem.get("error") or {}
    code, context = error.get("code") or Crashed.code, error.get("context")
    retry_after = answer.headers.get("retry-after")
    if retry_after is not None:
        context = {**(context or {}), "retry_after": int(retry_after)}
    detail = problem.get("detail") or Crashed.sentence
    return _error(code, detail, answer.status, context, _remedy_of(code))


def approval_required(base: str, answer: InnerAnswer) -> dict[str, Any] | None:
    """The approval that a payment waits for, with the page where its owner decides; None for another answer."""
    content = answer.content if isinstance(answer.content, dict) else {}
    # A run that is started is accepted as well, and waits for nobody.
    if answer.status == ACCEPTED and "approval_id" in content:
        approval_id, expires_at = content["approval_id"], content["expires_at"]
    elif (error := content.get("error")) and error["code"] in APPROVAL_CODES:
        context = error.get("context") or {}
        approval_id, expires_at = context.get("approval_id"), context.get("expires_at")
    else:
        return None
    return {
        "status": "approval_required",
        "approval_id": approval_id,
        "approve_url": f"{base}/account/approvals/{approval_id}",
        "expires_at": expires_at,
    }


def _error(code: str, detail: str, status: int, context: Any, remedy: str | None) -> Shaped:
    members = {
        "code": code,
        "detail": detail[:DETAIL_MAX],
        "status": status,
        "context": context,
        "remedy": remedy,
    }
    return Shaped(members, is_error=True, status=status)


@cache
def _remedy_of(code: str) -> str | None:
    known = every_refusal().get(code)
    return known[0].remedy if known else None
