"""Making a cluster and the folders around it.

- A cluster appears under its final name only when it is complete, with the registry's database in it.
- No other database has statistics in a fresh cluster: the server visits those that have some each minute to vacuum them.
- The database password exists before the cluster that knows it.
"""

import asyncio
import os
import pwd
import secrets
import shutil
import signal
import stat
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from . import configuration
from .account import ServerAccount, reached
from .errors import EmbeddedPostgresFailed
from .layout import DATABASE, ROLE, Layout

STAGING_PREFIX = "postgres.new-"

# The built-in provider sorts alike on every system; the C library still classifies letters for pg_trgm.
LOCALE = "C.UTF-8" if sys.platform == "linux" else "C"
INITDB_OPTIONS = (
    f"--username={ROLE}",
    "--encoding=UTF8",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    f"--locale={LOCALE}",
    "--data-checksums",
    "--auth=scram-sha-256",
)


def exists(layout: Layout) -> bool:
    return (layout.cluster / "PG_VERSION").exists()


async def create(layout: Layout, account: ServerAccount, programs: Path) -> None:
    """Run initdb beside the final place, make the database and move the finished cluster there.

    Raises: EmbeddedPostgresFailed when the account has no name, or with the program's own complaint.
    """
    _require_name(account)
    staging = await asyncio.to_thread(_fresh_staging, layout, account)
    with reached(account, staging) as folder:
        place = folder.names[0]
        options = (*INITDB_OPTIONS, f"--pwfile={place}/password", f"--pgdata={place}/cluster")
        complaint = await _complaint_of(account.command(programs / "initdb", *options), folder.descriptors)
        if complaint is None:
            # By a server of one process: a connection would leave statistics of the database that it is made from.
            alone = account.command(
                programs / "postgres",
                "--single",
                "-c",
                "exit_on_error=on",
                "-D",
                f"{place}/cluster",
                "postgres",
            )
            complaint = await _complaint_of(alone, folder.descriptors, f"CREATE DATABASE {DATABASE}\n")
    if complaint is not None:
        raise EmbeddedPostgresFailed(f"The database cluster could not be created: {complaint}")
    await asyncio.to_thread(_move_into_place, staging, layout)


def prepare_data_directory(layout: Layout) -> None:
    # Passable for the server's account but not readable: only the folders inside hold anything.
    layout.data_dir.mkdir(mode=0o711 if os.geteuid() == 0 else 0o700, parents=True, exist_ok=True)


def prepare_socket_directory(layout: Layout, account: ServerAccount) -> None:
    """Make the socket's folder, closed to everyone but the server's account.

    Raises: EmbeddedPostgresFailed when the folder belongs to somebody else.
    """
    folder = layout.socket_directory
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid not in (os.geteuid(), account.uid):
        raise EmbeddedPostgresFailed(
            f"The socket folder {folder} belongs to somebody else; remove it or choose a shorter --data-dir."
        )
    folder.chmod(0o700)
    account.take_over(folder)


def own_cluster(layout: Layout, account: ServerAccount) -> None:
    """Give a cluster that root copied here, from a backup for example, to the server's account."""
    if layout.cluster.stat().st_uid != account.uid:
        account.take_over_tree(layout.cluster)


def ensure_password(layout: Layout) -> str:
    """The password of the role, made at random on the first start.

    Raises: EmbeddedPostgresFailed when it is missing though the cluster knows one.
    """
    if not layout.password.exists():
        if exists(layout):
            raise EmbeddedPostgresFailed(
                f"The cluster {layout.cluster} is there but its password file {layout.password} is not; restore it."
            )
        layout.password.parent.mkdir(mode=0o700, exist_ok=True)
        _write_private(layout.password, secrets.token_urlsafe(32))
    return layout.password.read_text().strip()


def _write_private(path: Path, content: str) -> None:
    fresh = path.with_name(f"{path.name}.new")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(content)
        file.flush()
        os.fsync(descriptor)
    fresh.replace(path)
    _sync_folder(path.parent)


def _fresh_staging(layout: Layout, account: ServerAccount) -> Path:
    for remains in layout.data_dir.glob(f"{STAGING_PREFIX}*"):
        # An initdb whose service was killed may still write there; what is left goes at the next start.
        shutil.rmtree(remains, ignore_errors=True)
    staging = Path(tempfile.mkdtemp(prefix=STAGING_PREFIX, dir=layout.data_dir))
    _write_private(staging / "password", layout.password.read_text())
    account.take_over_tree(staging)
    return staging


def _require_name(account: ServerAccount) -> None:
    """Containers may run under a user id that is in no list of accounts; initdb refuses to."""
    try:
        pwd.getpwuid(account.uid)
    except KeyError:
        raise EmbeddedPostgresFailed(
            f"PostgreSQL cannot make a cluster as user id {account.uid}, which has no account name; "
            "add it to /etc/passwd, or set DATABASE_URL."
        ) from None


def _move_into_place(staging: Path, layout: Layout) -> None:
    with (staging / "cluster" / "postgresql.conf").open("a") as settings:
        settings.write(configuration.INCLUDE)
        settings.flush()
        os.fsync(settings.fileno())
    (staging / "cluster" / "pg_stat" / "pgstat.stat").unlink(missing_ok=True)
    (staging / "cluster").replace(layout.cluster)
    _sync_folder(layout.data_dir)
    shutil.rmtree(staging, ignore_errors=True)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


async def _complaint_of(command: list[str], descriptors: tuple[int, ...], given: str = "") -> str | None:
    """Run a command to its end, with `given` as its input; returns its last words if it failed."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        cwd="/",
        env=SERVER_ENVIRONMENT,
        pass_fds=descriptors,
        start_new_session=True,
    )
    try:
        output, _ = await process.communicate(given.encode())
    except asyncio.CancelledError:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
        raise
    if process.returncode == 0:
        return None
    lines = output.decode(errors="replace").strip().splitlines()
    complaints = [line for line in lines if "error:" in line or "FATAL:" in line]
    return (complaints or lines or ["it ended without a word"])[-1]


# The service's own variables stay outside: PGPORT and its like would change the server.
SERVER_ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": LOCALE}
