"""Serving: one process, or several that share a socket, a database and nothing else."""

import asyncio
import contextlib
import gc
import resource
import shlex
import signal
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from email.utils import formatdate
from pathlib import Path
from time import time
from urllib.parse import urlsplit

import structlog
import uvicorn
from fastapi import FastAPI
from uvicorn.server import ServerState

import hansa
from hansa.doors.assembly import ASSEMBLY
from hansa.doors.http.app import build_app
from hansa.doors.http.connection.acceptor import ConnectionAcceptor, Placed
from hansa.doors.http.connection.http_connections import ConnectionProtocol
from hansa.doors.http.connection.per_address import ADDRESS_COUNTS
from hansa.doors.http.connection.websockets import SocketProtocol
from hansa.doors.mcp import loading_after_start
from hansa.doors.serving.agent_connections import AgentConnections
from hansa.doors.serving.federation_listener import FederationProtocol, mutual_tls
from hansa.doors.serving.listeners import Listeners, address_of, open_listeners, ready_line
from hansa.doors.serving.service_manager import report_ready, reported_alive
from hansa.doors.serving.stop_signals import (
    DRAIN_SECONDS,
    cancel_on_stop_signal,
    log_stop,
    on_stop_signal,
    stop_with_parent,
)
from hansa.doors.serving.trusted_domains import TrustedDomains
from hansa.doors.serving.worker_forks import WorkerForks
from hansa.doors.serving.worker_processes import serve_with_workers
from hansa.doors.shared_metrics import DIRECTORY, shared_metrics
from hansa.doors.startup import (
    dropped_settings,
    has_administrator,
    open_runtime,
    prepared_database,
    require_own_database,
    require_signing_key,
)
from hansa.foundation.plumbing.jobs import run_jobs
from hansa.foundation.plumbing.outgoing.workload_api import require_agent
from hansa.foundation.plumbing.process.data_directory import require_kind
from hansa.foundation.plumbing.process.periodic_tasks import run_periodic_tasks
from hansa.foundation.plumbing.process.process_files import ServingProcess, describe_this_process, recorded
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import (
    Settings,
    applied_settings_file,
    exposure,
    misspelt_settings,
    without_secrets,
)
from hansa.foundation.plumbing.storage.connection import log_lost_connections
from hansa.foundation.plumbing.storage.embedded import held
from hansa.foundation.plumbing.storage.poolers import remedy_for_dropped, sentence_on_dropped
from hansa.foundation.plumbing.telemetry.request_log import request_log
from hansa.foundation.plumbing.telemetry.tracing import tracing
from hansa.rooms import federation, journal

# Longer than most clients keep an idle connection: a request must not meet the moment in which it is closed.
KEEP_ALIVE_SECONDS = 75
CONNECTIONS_MAX = 65_536
SOCKET_MESSAGE_MAX_BYTES = 1 << 16
# So long a thread that computes, over a page of mirrored cards, say, keeps everybody else waiting at each turn.
SWITCH_SECONDS = 0.0005
GARBAGE_OBJECTS = 20_000
"""Objects made, less those freed, until unreachable ones are looked for: some MB."""

_log = structlog.get_logger()


def listening(settings: Settings) -> tuple[Settings, Listeners]:
    """The sockets of a registry to be served, and its settings with the port that it was given.

    Raises: CannotListen, BadSetting.
    """
    if settings.uses_workload_api:
        require_agent(settings.workload_socket)
    _allow_connections()
    listeners = open_listeners(settings)
    return settings.model_copy(update={"port": listeners.public.getsockname()[1]}), listeners


async def serve(settings: Settings, listeners: Listeners, forks: WorkerForks | None, workers: int) -> None:
    """Run the registry until SIGTERM or SIGINT, then drain: in this process, or in so many workers, which `forks` starts.

    Raises: BadSetting, and the errors of opening the registry.
    """
    try:
        cancel_on_stop_signal()
        async with (
            _held_directory(settings),
            prepared_database(settings) as dsn,
            reported_alive(settings),
        ):
            await require_signing_key(settings, dsn)
            await _log_start(settings, dsn, workers)
            with recorded(settings.data_dir, _process(settings, workers)):
                if forks is None:
                    await serve_here(settings, dsn, listeners, announce=True)
                else:
                    with shared_metrics() as directory:
                        shared = {"DATABASE_URL": dsn, DIRECTORY: directory}
                        await serve_with_workers(settings, shared, forks, workers)
    except asyncio.CancelledError:
        _log.info("stopped before it was ready")
    else:
        _log.info("stopped")
    finally:
        if forks is not None:
            await forks.close()


@asynccontextmanager
async def _held_directory(settings: Settings) -> AsyncIterator[None]:
    """Keep a second service out of the data directory; the embedded database does that itself."""
    require_kind(settings)
    if settings.database_url is None:
        yield
        return
    # A process that may not use the database leaves no directory behind.
    await require_own_database(settings, settings.database_url)
    with held(settings.data_dir):
        yield


async def _log_start(settings: Settings, dsn: str, workers: int) -> None:
    address = settings.base_url
    _log.info(
        "starting",
        version=hansa.__version__,
        data_dir=str(settings.data_dir),
        address=address,
        documentation=f"{address}/docs",
        workers=workers,
    )
    for name, meant in misspelt_settings().items():
        _log.warning("unknown environment variable, similar to a setting", variable=name, meant=meant)
    if exposed := exposure(applied_settings_file()):
        _log.warning("secrets are exposed", trouble=exposed, remedy=f"chmod 0640 {applied_settings_file()}")
    if dropped := await dropped_settings(dsn):
        _log.warning(sentence_on_dropped(dropped), remedy=remedy_for_dropped(dropped))
    if not await has_administrator(dsn):
        command = _command_for_an_administrator(settings)
        _log.info("no administrator exists; create one", command=command)


def _command_for_an_administrator(settings: Settings) -> str:
    """Command line with the path of the program that runs, which need not be on the PATH of its reader."""
    arguments = [
        "admin",
        "create",
        "--name",
        "NAME",
        "--email",
        "EMAIL",
        "--data-dir",
        str(settings.data_dir),
    ]
    return shlex.join([str(Path(sys.argv[0]).absolute()), *arguments])


def _process(settings: Settings, workers: int) -> ServingProcess:
    database = "embedded" if settings.database_url is None else "external"
    return describe_this_process(
        url=address_of(settings),
        version=hansa.__version__,
        workers=workers,
        database=database,
        settings=without_secrets(settings),
        settings_file=applied_settings_file(),
    )


def _allow_connections() -> None:
    """Raise the limit of open files to the account's maximum: each connection is one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = CONNECTIONS_MAX if hard == resource.RLIM_INFINITY else min(hard, CONNECTIONS_MAX)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, limit), hard))


async def serve_here(
    settings: Settings, dsn: str, listeners: Listeners, *, announce: bool, parent: int | None = None
) -> None:
    """Serve in this process; `parent` is a pipe whose other end closes with the parent's death."""
    log_lost_connections(asyncio.get_running_loop())
    share, service = float(settings.otel_traces_sampler_arg), settings.otel_service_name or "hansa"
    async with (
        # Connections that are opened before have no spans of their statements.
        tracing.exporting(settings.otel_exporter_otlp_endpoint, share=share, service=service),
        open_runtime(settings, dsn) as runtime,
        in_the_background(runtime),
        AsyncExitStack() as meanwhile,
    ):
        meanwhile.callback(request_log.flush)
        app = build_app(runtime)
        serving = [(server_of(app, ready_line(settings) if announce else None), listeners.public)]
        if listeners.federation is not None:
            federated = await meanwhile.enter_async_context(federation_server(app, runtime))
            serving.append((federated, listeners.federation))

        def stop() -> None:
            journal.LIVE_FEED.of(runtime).end_streams()
            for server, _ in serving:
                server.handle_exit(signal.SIGTERM, None)

        on_stop_signal(lambda: log_stop(stop, announced=announce))
        # A full collection walks every object that is left to it, for a quarter of a second while nothing is served.
        # What exists at the start stays; the few thousand unreachable objects among it do not pay for collecting them.
        gc.freeze()
        # A request holds hundreds of objects until it is answered: looked for as often as Python does, garbage costs a tenth of a transfer.
        gc.set_threshold(GARBAGE_OBJECTS)
        sys.setswitchinterval(SWITCH_SECONDS)
        if parent is not None:
            stop_with_parent(parent, stop)
        for background in ASSEMBLY.background:
            await meanwhile.enter_async_context(background(runtime))
        await meanwhile.enter_async_context(loading_after_start(runtime))
        async with asyncio.TaskGroup() as group:
            for server, listener in serving:
                group.create_task(server.serve(sockets=[listener]))


def server_of(app: FastAPI, ready_line: str | None = None) -> uvicorn.Server:
    """The public server of one process, not yet serving."""
    return _Server(_configured(app, ConnectionProtocol), ready_line)


@asynccontextmanager
async def federation_server(app: FastAPI, runtime: Runtime) -> AsyncIterator[uvicorn.Server]:
    """The server of mutual TLS of one process, not yet serving; whom it trusts is followed meanwhile."""
    settings, identity = runtime.settings, federation.LOCAL_IDENTITY.of(runtime)
    host = urlsplit(settings.federation_url).hostname
    assert host is not None
    trusted = TrustedDomains(settings.trust_domain, identity, host)
    connections = AgentConnections(app, runtime.database, trusted)
    async with (
        mutual_tls(trusted),
        trusted.watched(runtime.database),
        connections.watched(),
    ):
        yield _Server(_configured(connections, FederationProtocol), None, trusted)


def _configured(app: FastAPI | AgentConnections, protocol: type[ConnectionProtocol]) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        http=protocol,
        ws=SocketProtocol,
        ws_max_size=SOCKET_MESSAGE_MAX_BYTES,
        # Each event is framed once for all sockets; compression is done for each of them.
        ws_per_message_deflate=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=DRAIN_SECONDS,
    )


class _DatedState(ServerState):
    """The state of a server whose date is that of the second in which it is asked for: while nothing comes, no timer renews it."""

    def __init__(self) -> None:
        self._second = 0
        self._headers: list[tuple[bytes, bytes]] = []
        super().__init__()

    @property
    def default_headers(self) -> list[tuple[bytes, bytes]]:
        """The fields of every response."""
        second = int(time())
        if second != self._second:
            self._second = second
            self._headers = [(b"date", formatdate(second, usegmt=True).encode())]
        return self._headers

    @default_headers.setter
    def default_headers(self, value: list[tuple[bytes, bytes]]) -> None:
        """Ignore the headers that the server sets at its start: they have no date."""


class _Server(uvicorn.Server):
    """Says when it is ready, and leaves signals to us, so that a drained stop exits 0."""

    def __init__(
        self, config: uvicorn.Config, ready_line: str | None, trusted: TrustedDomains | None = None
    ) -> None:
        self._stopping = asyncio.Event()
        super().__init__(config)
        self._ready_line = ready_line
        self._trusted = trusted
        self.server_state = _DatedState()

    @property
    def should_exit(self) -> bool:
        """Return whether the server was asked to stop, after which it never serves again."""
        return self._stopping.is_set()

    @should_exit.setter
    def should_exit(self, is_asked: bool) -> None:
        if is_asked:
            self._stopping.set()

    async def main_loop(self) -> None:
        """Wait until asked to stop. The loop of uvicorn looks ten times a second."""
        await self._stopping.wait()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        # The sockets have a reception of ours in place of a server of the loop.
        await super().startup([])
        addresses = ADDRESS_COUNTS.of(self.config.loaded_app.state.runtime)
        self.servers = [
            ConnectionAcceptor(one, self._connection, self._trusted, addresses)  # type: ignore[misc]
            for one in sockets or ()
        ]
        if self._ready_line:
            report_ready(self._ready_line)

    def _connection(self) -> Placed:
        return self.config.http_protocol_class(  # type: ignore[call-arg,return-value]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def in_the_background(runtime: Runtime) -> AsyncIterator[None]:
    """Run the jobs meanwhile, and the reactors where they are enabled."""
    reacting = ASSEMBLY.reactors if runtime.settings.reactor_framework_enabled else ()
    kinds = (*ASSEMBLY.jobs, *journal.reactor_jobs(reacting))
    tasks = [asyncio.create_task(run_jobs(runtime, kinds, ASSEMBLY.wakes))]
    tasks.append(asyncio.create_task(run_periodic_tasks(runtime, ASSEMBLY.rounds)))
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
