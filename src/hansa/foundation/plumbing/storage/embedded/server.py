"""The life cycle of the embedded server: start, adopt, watch, stop.

The service itself writes the server's log file, so that the server needs no process and no rights for it.
"""

import asyncio
import logging
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import BinaryIO

import asyncpg

from . import cluster, configuration
from .account import DESCRIPTORS, ServerAccount, reached, server_account
from .binaries import version
from .claim import Claim, is_claimed
from .errors import DataDirectoryInUse, EmbeddedPostgresFailed, EmbeddedPostgresNotRunning, NoRegistry
from .layout import DATABASE, PORT, ROLE, SOCKET_NAME, Layout, dsn
from .processes import PidFile, Postmaster, cluster_option, remove_stale_claim
from .staging import programs_for

logger = logging.getLogger(__name__)
WATCH_SECONDS = 0.5
CONNECT_SECONDS = 10.0
# Most commands hold the data directory for a second or two; a backup of a large registry takes longer.
COMMAND_SECONDS = 10.0
COMMAND_PAUSE_SECONDS = 0.1
# Replaying the largest write-ahead log takes a few minutes on a slow disk.
RECOVERY_SECONDS = 600.0
# Backends of a killed server finish their statement before they notice; a start before that is refused.
REMNANTS_SECONDS = 30.0
REMNANTS_PAUSE_SECONDS = 0.1
REMNANTS_COMPLAINTS = ("lock file", "pre-existing shared memory block")
# The last one is how asyncpg meets a connection that was closed by the server while idle.
CONNECTION_TROUBLES = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)
REVIVAL_PAUSE_SECONDS = 0.5
REVIVAL_PAUSE_MAX_SECONDS = 15.0
KEPT_MAX_BYTES = 16 * 1024 * 1024


class EmbeddedPostgres:
    """The one server of a data directory, which this service, or the command named here, holds from start to stop.

    After a kill of the service the server runs on and the next start adopts it. Run `watch` beside the
    service so that a killed server comes back under the same address.
    """

    def __init__(self, data_dir: Path, *, command: str = "") -> None:
        self._layout = Layout.of(data_dir)
        self._command = command
        self._turn = asyncio.Lock()
        self._claim: Claim | None = None
        self._postmaster: Postmaster | None = None
        self._password = ""

    async def start(self) -> str:
        """Bring the server up, or adopt the one that runs, and return its connection string.

        A service waits up to COMMAND_SECONDS for a command that holds the directory.

        Raises: EmbeddedPostgresFailed; DataDirectoryInUse when another live process holds the directory.
        """
        async with self._turn:
            if self._claim is None:
                try:
                    await self._take_hold()
                    await self._bring_up()
                except BaseException:
                    await self._let_go()
                    raise
            return dsn(self._password, self._layout.socket_directory)

    async def stop(self) -> None:
        """Shut the server down, within 30 s, and let the data directory go; harmless when already stopped."""
        async with self._turn:
            await self._let_go()

    async def watch(self) -> None:
        """Run until cancelled: start the server again whenever it died without being stopped."""
        while True:
            if self._postmaster is None:
                await asyncio.sleep(WATCH_SECONDS)
                continue
            await self._postmaster.ended(WATCH_SECONDS)
            # One that was stopped is not missed; it may just be ending.
            await asyncio.sleep(WATCH_SECONDS)
            if self._postmaster is not None and not self._postmaster.alive():
                logger.warning("the embedded PostgreSQL died and is started again")
                await self._revive()

    async def _revive(self) -> None:
        pause = REVIVAL_PAUSE_SECONDS
        while True:
            async with self._turn:
                if self._claim is None:
                    return
                try:
                    await self._bring_up()
                except EmbeddedPostgresFailed as error:
                    logger.warning("the embedded PostgreSQL did not come back: %s", error)
                else:
                    logger.info("the embedded PostgreSQL is back")
                    return
            await asyncio.sleep(pause)
            pause = min(pause * 2, REVIVAL_PAUSE_MAX_SECONDS)

    async def _take_hold(self) -> None:
        deadline, named = monotonic() + COMMAND_SECONDS, ""
        while self._claim is None:
            try:
                self._claim = await asyncio.to_thread(_claim, self._layout, self._command)
            except DataDirectoryInUse as held:
                is_service = bool(held.process) and not held.command
                if self._command or is_service or monotonic() > deadline:
                    raise
                if held.command and held.process != named:
                    named = held.process
                    logger.info(
                        "waiting up to %d s for `%s` (process %s), which uses the data directory %s",
                        *(COMMAND_SECONDS, held.command, held.process, self._layout.data_dir),
                    )
                await asyncio.sleep(COMMAND_PAUSE_SECONDS)

    async def _bring_up(self) -> None:
        try:
            account = server_account(self._layout.cluster)
            settings = await asyncio.to_thread(self._prepare, account)
            if not await self._adopted(settings):
                await self._launch_over_remnants(account, settings)
                await self._require_database()
        except OSError as error:
            raise EmbeddedPostgresFailed(f"The embedded PostgreSQL cannot be prepared: {error}.") from error

    def _prepare(self, account: ServerAccount) -> bytes:
        self._password = cluster.ensure_password(self._layout)
        cluster.prepare_socket_directory(self._layout, account)
        return configuration.render(self._layout.socket_directory, version())

    async def _adopted(self, settings: bytes) -> bool:
        """Keep a server that an earlier service left, if it is up to date and ours; else end it."""
        running = Postmaster.recorded(self._layout.cluster)
        if running is None:
            return False
        if configuration.is_current(self._layout.cluster, settings) and await running.settled(
            RECOVERY_SECONDS
        ):
            with suppress(EmbeddedPostgresFailed):
                await self._require_database()
                self._postmaster = running
                logger.info("adopted the embedded PostgreSQL that was still running")
                return True
        await running.stop()
        return False

    async def _launch_over_remnants(self, account: ServerAccount, settings: bytes) -> None:
        programs = await asyncio.to_thread(programs_for, account, self._layout.data_dir)
        if not cluster.exists(self._layout):
            await cluster.create(self._layout, account, programs)
        await asyncio.to_thread(self._refresh_cluster, account, settings)
        deadline = monotonic() + REMNANTS_SECONDS
        while (complaint := await self._launch(account, programs)) is not None:
            if monotonic() > deadline or not any(sign in complaint for sign in REMNANTS_COMPLAINTS):
                raise EmbeddedPostgresFailed(
                    f"The embedded PostgreSQL did not start: {complaint} (see {self._layout.log})."
                )
            await asyncio.sleep(REMNANTS_PAUSE_SECONDS)

    def _refresh_cluster(self, account: ServerAccount, settings: bytes) -> None:
        cluster.own_cluster(self._layout, account)
        configuration.write(self._layout.cluster, settings, account)

    async def _launch(self, account: ServerAccount, programs: Path) -> str | None:
        """Launch the server once; returns its complaint, or None once it is ready."""
        spawning = asyncio.ensure_future(asyncio.to_thread(self._spawn, account, programs))
        try:
            postmaster, log_start = await asyncio.shield(spawning)
        except asyncio.CancelledError:
            # The thread cannot be stopped; the caller shuts down what it has started.
            await spawning
            raise
        if await postmaster.settled(RECOVERY_SECONDS):
            return None
        if postmaster.alive():
            await postmaster.stop()
            return f"it was not ready after {RECOVERY_SECONDS:.0f} s"
        return await asyncio.to_thread(last_complaint, self._layout.log, log_start, postmaster.pid)

    def _spawn(self, account: ServerAccount, programs: Path) -> tuple[Postmaster, int]:
        for claim in (
            self._layout.cluster / "postmaster.pid",
            self._layout.socket_directory / f"{SOCKET_NAME}.lock",
        ):
            remove_stale_claim(claim, self._layout.cluster)
        with (
            reached(account, self._layout.cluster, self._layout.socket_directory) as folders,
            open_log(self._layout.log) as output,
        ):
            log_start = output.tell()
            # A session of its own: the terminal's Ctrl-C reaches the service, which shuts the server down in order.
            child = subprocess.Popen(  # noqa: S603
                account.command(programs / "postgres", *self._options(*folders.names)),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd="/",
                env=cluster.SERVER_ENVIRONMENT,
                pass_fds=folders.descriptors,
                start_new_session=True,
            )
        self._postmaster = Postmaster(self._layout.cluster, child.pid, child)
        return self._postmaster, log_start

    def _options(self, folder: str, socket_directory: str) -> list[str]:
        options = ["-D", folder, "-c", cluster_option(self._layout.cluster)]
        if socket_directory.startswith(DESCRIPTORS):
            options += ["-c", f"unix_socket_directories={socket_directory}"]
        return options

    async def _require_database(self) -> None:
        """Check that the server knows our password, and make the database if it is not there."""
        try:
            try:
                connection = await self._connect(DATABASE)
            except asyncpg.InvalidCatalogNameError:
                connection = await self._connect("postgres")
                await connection.execute(f"CREATE DATABASE {DATABASE}")
            await connection.close(timeout=CONNECT_SECONDS)
        except asyncpg.InvalidPasswordError as error:
            raise EmbeddedPostgresFailed(
                f"The database refuses the password in {self._layout.password}; restore the one it was made with."
            ) from error
        except CONNECTION_TROUBLES as error:
            raise EmbeddedPostgresFailed(f"The embedded PostgreSQL does not answer: {error}.") from error

    async def _connect(self, database: str) -> "asyncpg.Connection[asyncpg.Record]":
        return await asyncpg.connect(
            host=str(self._layout.socket_directory),
            port=PORT,
            user=ROLE,
            password=self._password,
            database=database,
            timeout=CONNECT_SECONDS,
        )

    async def _let_go(self) -> None:
        if self._postmaster is not None:
            await self._postmaster.stop()
            self._postmaster = None
            if not self._layout.socket_is_inside:
                with suppress(OSError):
                    self._layout.socket_directory.rmdir()
        if self._claim is not None:
            self._claim.release()
            self._claim = None


@contextmanager
def held(data_dir: Path) -> Iterator[None]:
    """Hold the data directory of a service whose database is elsewhere.

    Raises: DataDirectoryInUse, EmbeddedPostgresFailed.
    """
    claim = _claim(Layout.of(data_dir), "")
    try:
        yield
    finally:
        claim.release()


def _claim(layout: Layout, command: str) -> Claim:
    try:
        cluster.prepare_data_directory(layout)
        return Claim(layout.claim, command)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise EmbeddedPostgresFailed(
            f"HANSA_DATA_DIR={str(layout.data_dir)!r} cannot be used: {reason}"
        ) from error


def has_cluster(data_dir: Path) -> bool:
    """Return whether a service has made a cluster in this data directory."""
    return cluster.exists(Layout.of(data_dir))


def socket_directory(data_dir: Path) -> Path:
    """The directory of the socket at which the server of this data directory listens."""
    return Layout.of(data_dir).socket_directory


def running_dsn(data_dir: Path) -> str:
    """Connection string of the server that runs in this data directory.

    Raises: NoRegistry, EmbeddedPostgresNotRunning when none runs; EmbeddedPostgresFailed when it may not be read.
    """
    require_cluster(data_dir)
    layout = Layout.of(data_dir)
    try:
        server = PidFile.read(layout.cluster)
        if server is None or Postmaster.recorded(layout.cluster) is None:
            raise EmbeddedPostgresNotRunning(
                f"the registry in {layout.data_dir} is not running, nor is its database;"
                f" start it with `hansa serve --data-dir {layout.data_dir}`"
            )
        password = layout.password.read_text().strip()
    except OSError as error:
        raise EmbeddedPostgresFailed(f"The data directory cannot be read: {error}.") from error
    # A descriptor of the server's is no address for others.
    recorded = configuration.socket_directory(layout.cluster) or layout.socket_directory
    by_descriptor = str(server.socket_directory).startswith(DESCRIPTORS)
    return dsn(password, recorded if by_descriptor else server.socket_directory, server.port)


def require_cluster(data_dir: Path) -> None:
    """Raises: NoRegistry when no service has made a cluster in this data directory, nor makes one now."""
    layout = Layout.of(data_dir)
    if not cluster.exists(layout) and not is_claimed(layout.claim):
        raise NoRegistry(layout.data_dir)


def open_log(path: Path) -> BinaryIO:
    """The log opened for appending; a large one is first set aside as `postgres.log.1`."""
    if path.exists() and path.stat().st_size > KEPT_MAX_BYTES:
        path.replace(path.with_name(f"{path.name}.1"))
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    return os.fdopen(descriptor, "ab")


def last_complaint(path: Path, since: int, pid: int) -> str:
    """The last fatal line after position `since`, without its time; the process `pid` is believed first."""
    with path.open("rb") as file:
        file.seek(since)
        lines = file.read().decode(errors="replace").splitlines()
    fatal = [line for line in lines if "FATAL:" in line or "PANIC:" in line]
    # Backends of a killed server write to the same file; their last words say nothing about this start.
    own = [line for line in fatal if f"[{pid}]" in line]
    reason = (own or fatal or lines or ["it ended without a word"])[-1]
    return re.sub(r"^.*?(FATAL|PANIC):\s*", "", reason)
