"""Structured logs on standard error: one event per line, with the request's id, never a secret."""

import json
import logging
import os
import sys
from collections.abc import MutableMapping
from contextvars import ContextVar
from datetime import UTC, datetime
from types import TracebackType
from typing import Any

from hansa.foundation.plumbing.telemetry.log_noise import NoiseFilter
from hansa.foundation.plumbing.telemetry.request_log import request_log
from hansa.foundation.plumbing.telemetry.tracing import TRACE

# The logging library imports rich where it finds it, for tracebacks that are never printed here. That is a twentieth of
# a start.
if is_rich_unloaded := "rich" not in sys.modules:
    sys.modules["rich"] = None  # type: ignore[assignment]
import structlog

if is_rich_unloaded:
    del sys.modules["rich"]

SECRET_WORDS = ("password", "secret", "token", "authorization", "private_key", "recovery", "api_key")
HIDDEN = "[hidden]"

REQUEST_ID: ContextVar[bytes | None] = ContextVar(
    "the id of the request that is being answered", default=None
)


def configure_logs(level: str, form: str) -> None:
    """Set up the process's logging; `form` is `console` or `json`."""
    render: Any = (
        structlog.processors.JSONRenderer()
        if form == "json"
        else structlog.dev.ConsoleRenderer(
            colors=False,
            # The default prints the local variables of each frame, passwords included.
            exception_formatter=structlog.dev.plain_traceback,
        )
    )
    shared: list[Any] = [
        add_request_id,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        hide_secrets,
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(NoiseFilter())
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                render,
            ]
            if form == "json"
            else [structlog.stdlib.ProcessorFormatter.remove_processors_meta, render],
        )
    )
    request_log.configure(level, form)
    logging.captureWarnings(capture=True)
    if form == "json":
        sys.excepthook = _log_uncaught
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    # uvicorn would log the whole target of a WebSocket handshake, the ticket in its query included; httpx2 that of
    # every call to others.
    for noisy in ("uvicorn.access", "uvicorn.error", "asyncio", "alembic", "httpx2", "httpcore2"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


def print_failure(sentence: str) -> None:
    """One line on standard error about a start that failed, in the form of the log."""
    if is_json_asked_for():
        instant = datetime.now(UTC).isoformat()
        line = json.dumps({"event": sentence, "level": "error", "timestamp": instant.replace("+00:00", "Z")})
    else:
        line = f"hansa: {sentence}"
    print(line, file=sys.stderr, flush=True)  # noqa: T201


def is_json_asked_for() -> bool:
    """Return whether LOG_FORMAT asks for JSON, before any setting has been judged."""
    return any(name.upper() == "LOG_FORMAT" and value == "json" for name, value in os.environ.items())


def _log_uncaught(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    structlog.get_logger().critical("uncaught exception", exc_info=(kind, error, traceback))


def add_request_id(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Name the request and the trace that an event belongs to, where there are any."""
    request_id = REQUEST_ID.get()
    if request_id is not None:
        event.setdefault("request_id", request_id.decode())
    if (trace := TRACE.get()) is not None:
        event.setdefault("trace_id", trace.trace_id)
    return event


def hide_secrets(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Drop the value of any member whose name speaks of a secret."""
    for name in event:
        if any(word in name.lower() for word in SECRET_WORDS):
            event[name] = HIDDEN
    return event
