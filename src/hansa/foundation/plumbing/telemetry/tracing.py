"""Traces of a sampled part of the requests, sent to an OpenTelemetry collector (OTLP over HTTP).

- Nothing of OpenTelemetry is imported, and no request does more than read one attribute, unless an endpoint is given.
- A request span is the parent of the statements of its request. A batch of transfers has a span of its own that links to the spans of
  its requests, and is the parent of its statement.
- A `traceparent` of the caller (W3C Trace Context) gives the trace its id. The share alone decides whether it is sampled: a flag
  that any caller may set decides nothing.
"""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from contextvars import ContextVar, Token
from random import Random
from typing import Any

import msgspec
import structlog

FLUSH_MILLISECONDS = 3000
EXPORT_SECONDS = 5
STATEMENT_MAX_CHARACTERS = 2000
SERVER_ERROR = 500

_TRACEPARENT = re.compile(rb"00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}", re.ASCII)
_LOW_BITS = (1 << 64) - 1

_log = structlog.get_logger()
# Seeded anew in each process. Samples only have to be fair.
_samples = Random()  # noqa: S311


class Trace(msgspec.Struct, frozen=True):
    """The trace of a request or a batch; `span` is None where it is not sampled."""

    trace_id: str
    traceparent: str
    """Value of the header for calls to other hosts."""
    span: Any = None


TRACE: ContextVar[Trace | None] = ContextVar("the trace of the work that is being done", default=None)


class Tracing:
    """The spans of one process. Each method is cheap and does nothing while nothing is exported."""

    def __init__(self) -> None:
        self._spans: _Spans | None = None

    @property
    def is_on(self) -> bool:
        """Return whether spans are exported."""
        return self._spans is not None

    @asynccontextmanager
    async def exporting(self, endpoint: str | None, *, share: float, service: str) -> AsyncIterator[None]:
        """Export meanwhile, where there is an endpoint; spans that are left are sent at the end."""
        if endpoint is None:
            yield
            return
        try:
            self._spans = _Spans(endpoint, share, service)
        except ImportError:
            _log.warning(
                "no traces: OTEL_EXPORTER_OTLP_ENDPOINT is set, and hansa[otel] is not installed",
                remedy="pip install 'opentelemetry-sdk<2,>=1.45' 'opentelemetry-exporter-otlp-proto-http<2,>=1.45'",
            )
            yield
            return
        spans = self._spans
        try:
            yield
        finally:
            self._spans = None
            await asyncio.to_thread(spans.close)

    def begin_request(self, traceparent: bytes | None) -> Token[Trace | None] | None:
        """Begin the span of a request, inside the current one where there is one; the token goes to `end_request`."""
        if self._spans is None:
            return None
        return TRACE.set(self._spans.request(TRACE.get(), traceparent))

    def end_request(self, token: Token[Trace | None], method: str, route: str, status: int) -> None:
        """End the span of a request."""
        trace = TRACE.get()
        TRACE.reset(token)
        if trace is None or trace.span is None:
            return
        trace.span.update_name(f"{method} {route}")
        trace.span.set_attributes(
            {"http.request.method": method, "http.route": route, "http.response.status_code": status}
        )
        if status >= SERVER_ERROR and self._spans is not None:
            self._spans.fail(trace.span, str(status))
        trace.span.end()

    def begin_batch(self, traces: Iterable[Trace | None]) -> Trace | None:
        """Begin the span of a batch that does the work of several requests; None where none of them is sampled."""
        if self._spans is None:
            return None
        sampled = [trace for trace in traces if trace is not None and trace.span is not None]
        return self._spans.batch(sampled) if sampled else None

    def end_batch(self, trace: Trace | None, size: int) -> None:
        """End the span of a batch of so many requests."""
        if trace is not None:
            trace.span.set_attribute("hansa.batch.size", size)
            trace.span.end()

    def statement(self, record: Any) -> None:
        """Record a statement that has ended: a logger of queries of asyncpg."""
        trace = TRACE.get()
        if self._spans is not None and trace is not None and trace.span is not None:
            self._spans.statement(trace, record.query, record.elapsed, record.exception)


class _Spans:
    """The part that uses OpenTelemetry."""

    def __init__(self, endpoint: str, share: float, service: str) -> None:
        """Raises: ImportError."""
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.sdk.trace.sampling import ALWAYS_ON

        exporter = OTLPSpanExporter(endpoint=f"{endpoint}/v1/traces", timeout=EXPORT_SECONDS)
        # The decision to sample is made before the library is called.
        self._provider = TracerProvider(
            sampler=ALWAYS_ON,
            resource=Resource.create({"service.name": service}),
            shutdown_on_exit=False,
        )
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("hansa")
        self._api = trace
        self._share = share
        self._highest = int(share * (_LOW_BITS + 1))

    def close(self) -> None:
        self._provider.force_flush(FLUSH_MILLISECONDS)
        self._provider.shutdown()

    def request(self, outer: Trace | None, traceparent: bytes | None) -> Trace | None:
        if outer is not None:
            return outer if outer.span is None else self._begun(self._within(outer.span))
        found = _TRACEPARENT.fullmatch(traceparent) if traceparent is not None else None
        if found is None or not int(found[1], 16) or not int(found[2], 16):
            return self._begun(self._root()) if _samples.random() < self._share else None
        trace_id, parent_id = int(found[1], 16), int(found[2], 16)
        if trace_id & _LOW_BITS >= self._highest:
            return Trace(found[1].decode(), f"00-{found[1].decode()}-{found[2].decode()}-00")
        remote = self._api.SpanContext(trace_id, parent_id, is_remote=True, trace_flags=self._sampled)
        return self._begun(self._within(self._api.NonRecordingSpan(remote)))

    def batch(self, requests: list[Trace]) -> Trace:
        links = [self._api.Link(trace.span.get_span_context()) for trace in requests]
        return self._of(self._tracer.start_span("ledger batch", context=self._root(), links=links))

    def statement(self, trace: Trace, query: str, seconds: float, error: BaseException | None) -> None:
        end = time.time_ns()
        name = query.split(None, 1)[0].upper()
        span = self._tracer.start_span(
            name,
            context=self._within(trace.span),
            kind=self._api.SpanKind.CLIENT,
            start_time=end - int(seconds * 1e9),
            attributes={
                "db.system.name": "postgresql",
                "db.operation.name": name,
                "db.query.text": query[:STATEMENT_MAX_CHARACTERS],
            },
        )
        if error is not None:
            self.fail(span, type(error).__name__)
        span.end(end)

    def fail(self, span: Any, reason: str) -> None:
        span.set_attribute("error.type", reason)
        span.set_status(self._api.Status(self._api.StatusCode.ERROR))

    @property
    def _sampled(self) -> Any:
        return self._api.TraceFlags(self._api.TraceFlags.SAMPLED)

    def _begun(self, context: Any) -> Trace:
        return self._of(self._tracer.start_span("request", context=context, kind=self._api.SpanKind.SERVER))

    @staticmethod
    def _of(span: Any) -> Trace:
        own = span.get_span_context()
        trace_id = f"{own.trace_id:032x}"
        return Trace(trace_id, f"00-{trace_id}-{own.span_id:016x}-01", span)

    @staticmethod
    def _root() -> Any:
        from opentelemetry.context import Context

        return Context()

    def _within(self, span: Any) -> Any:
        return self._api.set_span_in_context(span, self._root())


tracing = Tracing()
"""Tracing of this process."""
