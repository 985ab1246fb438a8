"""Form that every refusal must have."""

import httpx2

TAGS = {
    400: "bad_request",
    401: "unauthorized",
    402: "payment_required",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    409: "conflict",
    412: "precondition_failed",
    413: "payload_too_large",
    415: "unsupported_media_type",
    422: "validation_error",
    429: "rate_limit_exceeded",
}
INTERNALS = ("Traceback", "asyncpg", "pydantic", 'File "', "site-packages", "SELECT ", "INSERT ")


def fault_of(answer: httpx2.Response) -> str | None:
    """Return the fault of a refusal, in its status, its two envelopes or its one sentence; None without a fault."""
    is_oauth = answer.status_code in TAGS and answer.request.url.path.startswith("/oauth/")
    return _fault_of_oauth(answer) if is_oauth else _fault_of_problem(answer)


def _fault_of_problem(answer: httpx2.Response) -> str | None:
    if answer.status_code not in TAGS:
        return f"status {answer.status_code}"
    if answer.headers["content-type"] != "application/problem+json":
        return f"media type {answer.headers['content-type']}"
    body = answer.json()
    error, detail = body.get("error"), body.get("detail")
    if not isinstance(error, dict) or error.get("type") != TAGS[answer.status_code] or not error.get("code"):
        return f"legacy envelope {error}"
    if body.get("status") != answer.status_code or not {"type", "title", "instance"} <= body.keys():
        return f"problem members {sorted(body)}"
    if (
        not isinstance(detail, str)
        or detail != error.get("detail")
        or not 0 < len(detail) <= 1000
        or "\n" in detail
    ):
        return f"detail {detail!r}"
    return next((f"internals in {detail!r}" for word in INTERNALS if word in answer.text), None)


def _fault_of_oauth(answer: httpx2.Response) -> str | None:
    """The fault of a refusal in the form of RFC 6749, 5.2, for the clients that know no other."""
    body = answer.json()
    problem = answer.headers["content-type"] == "application/problem+json"
    named = body.get("detail") if problem else body.get("error_description")
    if not isinstance(named, str) or not 0 < len(named) <= 1000 or "\n" in named:
        return f"description {named!r}"
    if not problem and set(body) != {"error", "error_description"}:
        return f"members {sorted(body)}"
    return next((f"internals in {named!r}" for word in INTERNALS if word in answer.text), None)
