"""Serving: one process, or several that share a socket, a database and nothing else."""

import asyncio
import contextlib
import gc
import os
import resource
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from email.utils import formatdate
from functools import partial
from time import time
from urllib.parse import urlsplit

import structlog
import uvicorn
from fastapi import FastAPI
from uvicorn.server import ServerState

import hansa
from hansa.doors.agent_connections import AgentConnections
from hansa.doors.assembly import ASSEMBLY
from hansa.doors.federation_listener import FederationProtocol, mutual_tls
from hansa.doors.http.acceptor import ConnectionAcceptor, Placed
from hansa.doors.http.app import build_app
from hansa.doors.http.connections import ConnectionProtocol
from hansa.doors.http.per_address import ADDRESS_COUNTS
from hansa.doors.http.sockets import SocketProtocol
from hansa.doors.listeners import Listeners, open_listeners
from hansa.doors.shared_metrics import DIRECTORY, forget_process, shared_metrics
from hansa.doors.startup import has_administrator, open_runtime, prepared_database, require_signing_key
from hansa.doors.trusted_domains import TrustedDomains
from hansa.foundation.plumbing.jobs import run_jobs
from hansa.foundation.plumbing.periodic_tasks import run_periodic_tasks
from hansa.foundation.plumbing.process_files import ServingProcess, describe_this_process, recorded
from hansa.foundation.plumbing.request_log import request_log
from hansa.foundation.plumbing.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings, misspelt_settings
from hansa.foundation.plumbing.workload_api import require_agent
from hansa.rooms import federation, journal

DRAIN_SECONDS = 10
# Longer than most clients keep an idle connection: a request must not meet the moment in which it is closed.
KEEP_ALIVE_SECONDS = 75
WORKER_STOP_SECONDS = DRAIN_SECONDS + 10
WORKER_PAUSE_SECONDS = 0.2
CONNECTIONS_MAX = 65_536
SOCKET_MESSAGE_MAX_BYTES = 1 << 16
# So long a thread that computes, over a page of mirrored cards, say, keeps everybody else waiting at each turn.
SWITCH_SECONDS = 0.0005
GARBAGE_OBJECTS = 20_000
"""Objects made, less those freed, until unreachable ones are looked for: some MB."""
STOPPING_SIGNALS = (signal.SIGTERM, signal.SIGINT)

_log = structlog.get_logger()


async def serve(settings: Settings, workers: int) -> None:
    """Run the registry until SIGTERM or SIGINT, then drain.

    Raises: CannotListen, BadSetting, and what opening the registry raises.
    """
    if settings.uses_workload_api:
        require_agent(settings.workload_socket)
    _allow_connections()
    listeners = open_listeners(settings)
    settings = settings.model_copy(update={"port": listeners.public.getsockname()[1]})
    try:
        _cancel_on_stop_signal()
        async with prepared_database(settings) as dsn:
            await require_signing_key(settings, dsn)
            await _log_start(settings, dsn, workers)
            with recorded(settings.data_dir, _process(settings, workers)):
                if workers == 1:
                    await serve_here(settings, dsn, listeners, announce=True)
                else:
                    with shared_metrics() as directory:
                        shared = {"DATABASE_URL": dsn, DIRECTORY: directory}
                        await _serve_with_workers(settings, shared, listeners, workers)
    except asyncio.CancelledError:
        _log.info("stopped before it was ready")
    else:
        _log.info("stopped")


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
    if not await has_administrator(dsn):
        command = f"hansa admin create --name NAME --email EMAIL --data-dir {settings.data_dir}"
        _log.info("no administrator exists; create one", command=command)


def _process(settings: Settings, workers: int) -> ServingProcess:
    database = "embedded" if settings.database_url is None else "external"
    return describe_this_process(
        url=address_of(settings), version=hansa.__version__, workers=workers, database=database
    )


def _allow_connections() -> None:
    """As many open files as this account may have: each connection is one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = CONNECTIONS_MAX if hard == resource.RLIM_INFINITY else min(hard, CONNECTIONS_MAX)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, limit), hard))


async def serve_here(
    settings: Settings, dsn: str, listeners: Listeners, *, announce: bool, parent: int | None = None
) -> None:
    """Serve in this process; `parent` is a pipe whose other end closes with the parent's death."""
    async with (
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

        _on_stop_signal(lambda: _log_stop(stop))
        # A full collection walks every object that is left to it, for a quarter of a second while nothing is served.
        # What exists at the start stays; the few thousand unreachable objects among it do not pay for collecting them.
        gc.freeze()
        # A request holds hundreds of objects until it is answered: looked for as often as Python does, garbage costs a tenth of a transfer.
        gc.set_threshold(GARBAGE_OBJECTS)
        sys.setswitchinterval(SWITCH_SECONDS)
        if parent is not None:
            _when_closed(parent, partial(_stop_as_orphan, stop))
        for background in ASSEMBLY.background:
            await meanwhile.enter_async_context(background(runtime))
        async with asyncio.TaskGroup() as group:
            for server, listener in serving:
                group.create_task(server.serve(sockets=[listener]))


def server_of(app: FastAPI, ready_line: str | None = None) -> uvicorn.Server:
    """The public server of one process, not yet serving."""
    return _Server(_configured(app, ConnectionProtocol), ready_line)


@asynccontextmanager
async def federation_server(app: FastAPI, runtime: Runtime) -> AsyncIterator[uvicorn.Server]:
    """The server of mutual TLS of one process, not yet serving; whom it trusts is followed meanwhile."""
    settings, identity = runtime.settings, federation.OWN_IDENTITY.of(runtime)
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


def ready_line(settings: Settings) -> str:
    """What is printed once requests are accepted."""
    return f"ready {address_of(settings)}"


def address_of(settings: Settings) -> str:
    """Where the registry listens."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{settings.port}"


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
        """What the server sets at its start has no date."""


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
        """Whether the server was asked to stop, after which it never serves again."""
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
            print(self._ready_line, flush=True)  # noqa: T201

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


def _log_stop(stop: Callable[[], object]) -> None:
    _log.info("stopping: finishing open requests")
    stop()


def _on_stop_signal(act: Callable[[], object]) -> None:
    for number in STOPPING_SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, act)


def _cancel_on_stop_signal() -> None:
    """Until something is served, a signal cancels the start; what was started already is stopped in order."""
    starting = asyncio.current_task()
    assert starting is not None

    def cancel() -> None:
        # Once: a second signal would break off the shutdown of the database.
        _on_stop_signal(lambda: None)
        starting.cancel()

    _on_stop_signal(cancel)


def _stop_as_orphan(stop: Callable[[], object]) -> None:
    """Stop, within the time that a parent would have waited before it kills.

    The database may have died with the parent, or not reply any more, and whatever waits for it would wait on.
    """
    stop()
    # A thread, because waiting also happens where the event loop has ended: for threads of a library, say.
    deadline = threading.Timer(WORKER_STOP_SECONDS, _end_orphan)
    deadline.daemon = True
    deadline.start()


def _end_orphan() -> None:
    _log.warning("the worker did not stop in time after its parent died; ending it", pid=os.getpid())
    os._exit(1)


def _when_closed(pipe: int, act: Callable[[], object]) -> None:
    loop = asyncio.get_running_loop()

    def closed() -> None:
        loop.remove_reader(pipe)
        act()

    loop.add_reader(pipe, closed)


async def _serve_with_workers(
    settings: Settings, shared: Mapping[str, str], listeners: Listeners, count: int
) -> None:
    """`shared`: variables that every worker gets."""
    stopping = asyncio.Event()
    _on_stop_signal(lambda: _log_stop(stopping.set))
    # Workers hold the reading end. Nobody writes: the kernel closes our end when we die, however that happens.
    reading, writing = os.pipe()
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(count):
                group.create_task(_keep_worker(settings, shared, listeners, reading, stopping))
            announcing = group.create_task(_announce(settings))
            await stopping.wait()
            announcing.cancel()
    finally:
        os.close(reading)
        os.close(writing)


async def _keep_worker(
    settings: Settings, shared: Mapping[str, str], listeners: Listeners, parent: int, stopping: asyncio.Event
) -> None:
    """Run one worker, and another one when it dies."""
    while not stopping.is_set():
        worker = await asyncio.create_subprocess_exec(
            *_worker_command(settings, listeners, parent),
            pass_fds=[*listeners.descriptors(), parent],
            env={**os.environ, **shared},
        )
        ended, stop_requested = asyncio.create_task(worker.wait()), asyncio.create_task(stopping.wait())
        await asyncio.wait({ended, stop_requested}, return_when=asyncio.FIRST_COMPLETED)
        stop_requested.cancel()
        if stopping.is_set():
            await _stop_worker(worker)
        else:
            _log.warning("worker died; starting another", exit_code=worker.returncode)
            forget_process(shared[DIRECTORY], worker.pid)
            await asyncio.sleep(WORKER_PAUSE_SECONDS)


async def _stop_worker(worker: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        worker.terminate()
    try:
        async with asyncio.timeout(WORKER_STOP_SECONDS):
            await worker.wait()
    except TimeoutError:
        _log.warning("worker did not stop in time; killing it", pid=worker.pid)
        worker.kill()
        await worker.wait()


def _worker_command(settings: Settings, listeners: Listeners, parent: int) -> Sequence[str]:
    mutual = listeners.federation
    return [
        sys.executable,
        "-m",
        "hansa.doors.operate",
        "serve-worker",
        f"--listener={listeners.public.fileno()}",
        *([] if mutual is None else [f"--federation-listener={mutual.fileno()}"]),
        f"--parent={parent}",
        f"--host={settings.host}",
        f"--port={settings.port}",
        f"--data-dir={settings.data_dir}",
    ]


async def _announce(settings: Settings) -> None:
    """Print the ready line once a worker answers."""
    while not await _answers(settings):  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    print(ready_line(settings), flush=True)  # noqa: T201


async def _answers(settings: Settings) -> bool:
    try:
        async with asyncio.timeout(5):
            reader, writer = await asyncio.open_connection(settings.host, settings.port)
            writer.write(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            answer = await reader.readline()
            writer.close()
    except (OSError, TimeoutError):
        return False
    return b" 200 " in answer
