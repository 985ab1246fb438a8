"""The OpenAPI document: one problem shape for every refusal, declared on every operation."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from hansa.foundation.plumbing.problem_docs import Problem, every_refusal, problem_response

COMMON = {
    "429": "A rate limit is used up; Retry-After says when to come back.",
    "503": "The registry cannot answer just now. Retry-After says when to come back, with the same Idempotency-Key.",
}
BODY = {
    "413": "The body is too large.",
    "415": "The body is not of the media type that this route takes.",
    "422": "The request is not of the required form.",
}
NARROW_KEY = "The credential does not give the right to do that, or the API key is too narrow for this route."
HOSTILE_TARGET = "The path or query holds NUL or is not UTF-8, or the path ends with a line feed."

MUTUAL_TLS = {
    "type": "mutualTLS",
    "description": "The certificate of a service of the operator's own, shown to the federation listener.",
}


def install(app: FastAPI) -> None:
    """Publish the description of `app` with its refusals."""

    def describe() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = get_openapi(
                title=app.title,
                version=app.version,
                summary=app.summary,
                routes=app.routes,
                tags=app.openapi_tags,
            )
            _declare_problems(document)
            _declare_mutual_tls(document)
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = describe  # type: ignore[method-assign]


def _declare_problems(document: dict[str, Any]) -> None:
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    model = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas.update(model.pop("$defs", {}))
    schemas["Problem"] = model
    schemas["ProblemError"]["properties"]["code"]["examples"] = [refusal.code for refusal in every_refusal()]
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    for operations in document["paths"].values():
        for operation in operations.values():
            _complete(operation)


def _declare_mutual_tls(document: dict[str, Any]) -> None:
    """The framework knows no such scheme. It opens what the internal key does."""
    document["components"]["securitySchemes"]["MutualTLS"] = MUTUAL_TLS
    for operations in document["paths"].values():
        for operation in operations.values():
            if {"InternalKey": []} in (ways := operation.get("security", [])):
                ways.append({"MutualTLS": []})


def _complete(operation: dict[str, Any]) -> None:
    responses: dict[str, Any] = operation["responses"]
    if "HTTPValidationError" in str(responses.get("422")):
        responses["422"] = problem_response(BODY["422"])
    wanted = {**COMMON, **(BODY if "requestBody" in operation else {})}
    for status, description in wanted.items():
        responses.setdefault(status, problem_response(description))
    if any("DeveloperToken" in way for way in operation.get("security", [])):
        responses.setdefault("403", problem_response(NARROW_KEY))
    responses.setdefault("400", problem_response(HOSTILE_TARGET))
