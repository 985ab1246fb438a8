"""The server's settings, written afresh at every start and included last from postgresql.conf."""

import os
import re
import secrets
from pathlib import Path

from .account import ServerAccount
from .layout import PORT

FILE_NAME = "hansa.conf"
INCLUDE = f"\ninclude = '{FILE_NAME}'\n"

SETTINGS = f"""\
# Unix socket only.
listen_addresses = ''
port = {PORT}
unix_socket_permissions = 0700
password_encryption = 'scram-sha-256'

# An acknowledged commit is on the disk.
fsync = on
synchronous_commit = on
full_page_writes = on
restart_after_crash = on
wal_level = replica
# The binaries know no lz4; this is their own method.
wal_compression = pglz
# A page is logged whole at its first change after each checkpoint: at full speed every 900,000 transfers.
max_wal_size = 4GB
min_wal_size = 128MB
checkpoint_timeout = 15min
# Each commit writes its log itself; what this process does besides is not urgent, and it wakes up for it.
wal_writer_delay = 2s
checkpoint_completion_target = 0.9

# Short transactions. What the server keeps of its tables at the most stands below, by the size of the machine.
max_connections = 120
effective_cache_size = 512MB
work_mem = 8MB
maintenance_work_mem = 64MB
# Without helper processes for reading and replication; they gain nothing here.
io_method = sync
max_logical_replication_workers = 0
max_parallel_workers_per_gather = 0
jit = off
random_page_cost = 1.1

# A limit on everything; long work such as migrations raises them for its own session.
lock_timeout = 10s
statement_timeout = 60s
idle_in_transaction_session_timeout = 60s
client_connection_check_interval = 5s

# The log goes to standard error, a file of the service. It shows neither statements nor values:
# both may hold secrets or personal data.
log_destination = 'stderr'
logging_collector = off
log_min_duration_statement = -1
log_statement = 'none'
log_min_error_statement = panic
log_error_verbosity = terse
log_line_prefix = '%m [%p] '
lc_messages = 'C'
timezone = 'UTC'
log_timezone = 'UTC'
"""

# A page that is not among the buffers costs a transfer some microseconds, though the system has it. The pages of a million
# accounts and the indexes that their transfers change are 700 MiB. Memory is taken only as pages are read.
BUFFERS_MIN_MIB, BUFFERS_MAX_MIB = 64, 1024
SHARE_OF_MEMORY = 8


def buffers_mib(memory_bytes: int) -> int:
    """How many MiB of tables the server keeps at the most, on a machine with so much memory."""
    return max(BUFFERS_MIN_MIB, min(memory_bytes // SHARE_OF_MEMORY >> 20, BUFFERS_MAX_MIB))


def render(socket_directory: Path, binaries_version: str) -> bytes:
    """The file's content; any difference to the one on disk means that a running server is out of date."""
    listed = os.fsencode(socket_directory).replace(b'"', b'""').replace(b"'", b"''")
    heading = f"# Written at every start; edit postgresql.conf's other lines instead. {binaries_version}\n"
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    buffers = f"shared_buffers = {buffers_mib(memory)}MB\n"
    settings = (heading + SETTINGS + buffers).encode()
    return b"".join((settings, b"unix_socket_directories = '\"", listed, b"\"'\n"))


def socket_directory(cluster: Path) -> Path | None:
    """Return the socket directory of the server that was started last; None when the file does not name it."""
    try:
        found = re.search(
            rb"^unix_socket_directories = '\"(.*)\"'$",
            (cluster / FILE_NAME).read_bytes(),
            re.MULTILINE | re.DOTALL,
        )
    except FileNotFoundError:
        return None
    return Path(os.fsdecode(found[1].replace(b"''", b"'").replace(b'""', b'"'))) if found else None


def is_current(cluster: Path, content: bytes) -> bool:
    try:
        return (cluster / FILE_NAME).read_bytes() == content
    except FileNotFoundError:
        return False


def write(cluster: Path, content: bytes, account: ServerAccount) -> None:
    """Replace the file at once, so that a start cut short leaves the old one whole."""
    fresh = cluster / f"{FILE_NAME}.{secrets.token_hex(4)}"
    with fresh.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    account.take_over(fresh)
    fresh.replace(cluster / FILE_NAME)
