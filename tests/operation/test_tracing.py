"""Traces: off, nothing of the exporter is imported; on, spans reach a collector by OTLP over HTTP."""

import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx2
import pytest
from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from hansa.foundation.plumbing.outgoing import NamedBy, Outgoing
from hansa.foundation.plumbing.telemetry.tracing import tracing
from tests.operation.conftest import Launch
from tests.operation.registry_process import until
from tests.registry import StartRegistry, at_once

TRACE_ID, PARENT_ID = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
TRACEPARENT = f"00-{TRACE_ID}-{PARENT_ID}-01"
TRANSFER = "POST /api/v1/teg/transfer"
LOADED_WHILE_OFF = """
import asyncio, sys
from hansa.doors.http.app import service_routes
import hansa.doors.serving.serve
from hansa.foundation.plumbing.telemetry.tracing import tracing
service_routes()
async def serve():
    async with tracing.exporting(None, share=1.0, service="tests"):
        assert tracing.begin_request(b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01") is None
asyncio.run(serve())
print(sorted(name for name in sys.modules if name.startswith(("opentelemetry.sdk", "opentelemetry.exporter"))))
"""


@dataclass
class Collector:
    """A receiver of OTLP over HTTP."""

    url: str = ""
    spans: list[Span] = field(default_factory=list)
    services: set[str] = field(default_factory=set)
    headers: list[str] = field(default_factory=list)

    async def receive(self, request: web.Request) -> web.Response:
        export = ExportTraceServiceRequest()
        export.ParseFromString(await request.read())
        for resource in export.resource_spans:
            members = {one.key: one.value.string_value for one in resource.resource.attributes}
            self.services.add(members["service.name"])
            self.spans += [span for scope in resource.scope_spans for span in scope.spans]
        return web.Response(body=b"", content_type="application/x-protobuf")

    async def echo(self, request: web.Request) -> web.Response:
        self.headers.append(request.headers.get("traceparent", ""))
        return web.Response(text="ok")

    def named(self, name: str) -> list[Span]:
        return [span for span in self.spans if span.name == name]

    def children_of(self, span: Span) -> list[Span]:
        return [one for one in self.spans if one.parent_span_id == span.span_id]


@asynccontextmanager
async def collecting() -> AsyncIterator[Collector]:
    collector = Collector()
    app = web.Application()
    app.router.add_post("/v1/traces", collector.receive)
    app.router.add_get("/echo", collector.echo)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    collector.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield collector
    finally:
        await runner.cleanup()


@pytest.fixture
async def collector() -> AsyncIterator[Collector]:
    async with collecting() as made:
        yield made


def attributes(span: Span) -> dict[str, object]:
    return {one.key: one.value.string_value or one.value.int_value for one in span.attributes}


def test_nothing_of_the_exporter_is_imported_while_traces_are_off():
    loaded = subprocess.run(
        [sys.executable, "-c", LOADED_WHILE_OFF], capture_output=True, text=True, check=True, timeout=240
    )
    assert loaded.stdout == "[]\n"


async def test_a_served_request_has_a_span_with_its_statements_and_a_trace_id_in_the_log(
    operated: Launch, collector: Collector
):
    registry = operated(
        OTEL_EXPORTER_OTLP_ENDPOINT=collector.url,
        OTEL_TRACES_SAMPLER_ARG="1",
        OTEL_SERVICE_NAME="registry of tests",
        LOG_FORMAT="json",
    )
    await registry.start()
    async with httpx2.AsyncClient(base_url=registry.url, trust_env=False, timeout=60) as http:
        answer = await http.get("/health", headers={"traceparent": TRACEPARENT, "X-Request-ID": "traced-1"})
        assert answer.status_code == 200
    await registry.stop()
    [span] = [one for one in collector.named("GET /health") if one.trace_id.hex() == TRACE_ID]
    assert span.parent_span_id.hex() == PARENT_ID
    assert attributes(span)["http.response.status_code"] == 200
    statements = collector.children_of(span)
    assert {attributes(one)["db.system.name"] for one in statements} == {"postgresql"}
    assert any("attestation" in str(attributes(one)["db.query.text"]) for one in statements)
    assert collector.services == {"registry of tests"}
    lines = [json.loads(line) for line in registry.log.read_text().splitlines() if "traced-1" in line]
    assert [line["trace_id"] for line in lines] == [TRACE_ID]


async def test_a_batch_of_transfers_links_to_its_requests_and_has_its_statement(
    start_registry: StartRegistry, collector: Collector
):
    async with tracing.exporting(collector.url, share=1.0, service="tests"):
        registry = await start_registry()
        # A copy of a founded registry may have been opened ahead.
        registry.database._replace_connections()
        developer = await registry.developer()
        payer, payee = await developer.agent(), await developer.agent()
        answers = await at_once(
            *(payer.transfer(payee, "0.5", key=f"traced-{number}") for number in range(100))
        )
        assert {answer.status_code for answer in answers} == {200}
    transfers = {span.span_id for span in collector.named(TRANSFER)}
    batches = collector.named("ledger batch")
    linked = [link.span_id for batch in batches for link in batch.links]
    assert len(transfers) == 100
    assert transfers <= set(linked)
    assert len(linked) == len(set(linked))
    assert all(
        "ledger_" in str(attributes(collector.children_of(batch)[0])["db.query.text"]) for batch in batches
    )
    assert all("0.5" not in str(attributes(span)) for span in collector.spans)


async def test_the_share_decides_and_not_the_flag_of_the_caller(
    start_registry: StartRegistry, collector: Collector
):
    async with tracing.exporting(collector.url, share=0.0, service="tests"):
        registry = await start_registry()
        assert (await registry.http.get("/health", headers={"traceparent": TRACEPARENT})).status_code == 200
    assert collector.spans == []


@pytest.mark.parametrize(
    "traceparent",
    [
        "",
        "00-short-00f067aa0ba902b7-01",
        f"00-{'0' * 32}-{PARENT_ID}-01",
        f"00-{TRACE_ID}-{'0' * 16}-01",
        "\xe9" * 55,
    ],
)
async def test_a_traceparent_that_is_none_begins_a_trace_of_its_own(
    start_registry: StartRegistry, collector: Collector, traceparent: str
):
    async with tracing.exporting(collector.url, share=1.0, service="tests"):
        registry = await start_registry()
        sent = {"traceparent": traceparent.encode("latin-1")}
        assert (await registry.http.get("/livez", headers=sent)).status_code == 200
    [span] = collector.named("GET /livez")
    assert span.parent_span_id == b""
    assert span.trace_id.hex() != TRACE_ID


async def test_a_call_to_another_host_bears_the_traceparent_of_its_request(collector: Collector):
    place = collector.url.removeprefix("http://")
    outgoing = Outgoing([place], [])
    async with tracing.exporting(collector.url, share=1.0, service="tests"):
        token = tracing.begin_request(TRACEPARENT.encode())
        assert token is not None
        await outgoing.get(f"{collector.url}/echo", named_by=NamedBy.OPERATOR)
        tracing.end_request(token, "GET", "/tests", 200)
    await outgoing.get(f"{collector.url}/echo", named_by=NamedBy.OPERATOR)
    [span] = collector.named("GET /tests")
    assert collector.headers == [f"00-{TRACE_ID}-{span.span_id.hex()}-01", ""]


async def test_a_collector_that_is_away_stops_nothing(operated: Launch):
    registry = operated(OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9", OTEL_TRACES_SAMPLER_ARG="1")
    await registry.start()
    async with httpx2.AsyncClient(base_url=registry.url, trust_env=False, timeout=60) as http:
        assert (await http.get("/health")).status_code == 200
    await until(lambda: registry.running)
    assert (await registry.stop()).code == 0
