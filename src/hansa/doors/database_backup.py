"""`hansa db backup` and `hansa db restore`: a registry's database and keys, into one file and back.

A restored copy sends nothing that waited when the backup was taken: the registry may have sent it a moment later.
"""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

import asyncpg
import msgspec

from hansa import __version__
from hansa.doors.startup import joined_database, require_own_database
from hansa.foundation.plumbing.jobs.mail_queue import delete_all_mails
from hansa.foundation.plumbing.keys import key_bundle
from hansa.foundation.plumbing.keys.registry_identity import RegistryIdentity, recorded_identity
from hansa.foundation.plumbing.process.data_directory import Belonging, kind_of, record_belonging
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage import backup
from hansa.foundation.plumbing.storage.backup import BadBackup, Manifest, Position, Reader
from hansa.foundation.plumbing.storage.backup_record import record_backup, record_failed_backup
from hansa.foundation.plumbing.storage.database import Tx, require_reachable
from hansa.foundation.plumbing.storage.embedded import EmbeddedPostgres
from hansa.foundation.plumbing.storage.migrate import (
    FORMER_CHAIN_END,
    LAST_COMMIT_OF_FORMER_CHAIN,
    is_before_baseline,
    known_schemas,
    migrate,
    present_schema,
)
from hansa.foundation.plumbing.web.admin_acts import record_operator_act
from hansa.foundation.values.errors import Unavailable
from hansa.rooms import journal, notifications, people

_MOMENT = "SELECT clock_timestamp() AS taken_at, pg_current_wal_lsn()::text AS lsn"


class Restored(msgspec.Struct, frozen=True):
    """Content that a restore brought back, and the messages that it does not send."""

    manifest: Manifest
    ledger_id: str
    mails_withheld: int
    deliveries_withheld: int


async def back_up(settings: Settings, target: Path | BinaryIO, passphrase: str | None) -> Manifest:
    """Write the database as of now, also while the registry runs; with a passphrase its keys too, encrypted.

    `target` is a file that does not exist, or a stream. The database records the backup, or the reason of its failure.

    Raises: Refused, BadKey, BadBackup, OSError, and the errors of opening the registry.
    """
    keys = None if passphrase is None else key_bundle.keys_of(settings.data_dir)
    async with joined_database(settings) as dsn:
        await require_own_database(settings, dsn)
        try:
            async with backup.connect(dsn) as connection:
                manifest = await _write_backup(connection, dsn, target, keys, passphrase)
        except FileExistsError:
            raise
        except OSError as error:
            # The database may be out of reach as well.
            with suppress(Unavailable):
                async with backup.connect(dsn) as connection:
                    await record_failed_backup(connection, error.strerror or type(error).__name__)
            raise
        async with backup.connect(dsn) as connection:
            await record_backup(connection, datetime.fromisoformat(manifest.position.taken_at))
    return manifest


async def _write_backup(
    connection: "asyncpg.Connection[asyncpg.Record]",
    dsn: str,
    target: Path | BinaryIO,
    keys: dict[str, bytes] | None,
    passphrase: str | None,
) -> Manifest:
    # Before the snapshot: what was acknowledged by then is in it.
    timestamp = await connection.fetchrow(_MOMENT)
    assert timestamp is not None
    revision = await present_schema(dsn)
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        identity = await recorded_identity(connection)
        if identity is None or revision is None:
            raise BadBackup("the database contains no registry; nothing was written")
        position = Position(
            taken_at=timestamp["taken_at"].isoformat(),
            lsn=timestamp["lsn"],
            journal_sequence=await journal.newest_sequence(connection),
        )
        with _opened(target) as writer:
            manifest = await _manifest(connection, writer, identity, revision, position, keys=keys)
            content = backup.written(manifest)
            sealed = (
                None
                if keys is None or passphrase is None
                else key_bundle.seal_keys(keys, passphrase, bound_to=backup.digest_of(content))
            )
            writer.finish(content, sealed)
    return manifest


def _opened(target: Path | BinaryIO) -> AbstractContextManager[backup.Writer]:
    return backup.new_backup(target) if isinstance(target, Path) else backup.streamed_backup(target)


async def _manifest(
    connection: "asyncpg.Connection[asyncpg.Record]",
    writer: backup.Writer,
    identity: RegistryIdentity,
    revision: str,
    position: Position,
    *,
    keys: dict[str, bytes] | None,
) -> Manifest:
    months = await journal.months(connection)
    tables, sequences = await backup.read_tables(connection, writer)
    return Manifest(
        format=backup.FORMAT,
        version=__version__,
        schema_revision=revision,
        registry_name=identity.registry_name,
        trust_domain=identity.trust_domain,
        position=position,
        journal_months=months,
        tables=tables,
        sequences=sequences,
        has_keys=keys is not None,
    )


def read_backup(file: Path) -> Reader:
    """A backup that this version can restore, verified whole. Raises: BadBackup, OSError."""
    reader = Reader(file)
    schema = reader.manifest.schema_revision
    if is_before_baseline(schema):
        raise BadBackup(
            f"the schema of {file} is {schema}, which is older than {FORMER_CHAIN_END}: restore it with commit"
            f" {LAST_COMMIT_OF_FORMER_CHAIN} of Hansa, start the registry there and take a new backup"
        )
    if schema not in known_schemas():
        raise BadBackup(
            f"{file} was written by Hansa {reader.manifest.version}, and this is {__version__}:"
            " restore it with that version or a newer one"
        )
    return reader


async def restore(settings: Settings, reader: Reader, passphrase: str | None) -> Restored:
    """Make a registry of a backup in an empty data directory, or an empty database where DATABASE_URL names one.

    Raises: BadBackup, BadKey, Refused, OSError, EmbeddedPostgresFailed. Nothing is left behind then, except a schema
    without rows in a database that was brought.
    """
    keys: dict[str, bytes] = {}
    if reader.keys is not None and passphrase is not None:
        keys = key_bundle.open_keys(reader.keys, passphrase, bound_to=reader.manifest_digest)
    with _new_directory(settings.data_dir) as directory:
        if settings.database_url is not None:
            await require_reachable(settings.database_url)
            restored = await _fill(settings.database_url, reader)
        else:
            server = EmbeddedPostgres(directory)
            try:
                restored = await _fill(await server.start(), reader)
            finally:
                await server.stop()
        key_bundle.install_keys(directory, keys)
        record_belonging(directory, Belonging(kind_of(settings), restored.ledger_id))
    return restored


@contextmanager
def _new_directory(data_dir: Path) -> Iterator[Path]:
    """A directory that gets the name of the data directory once it holds everything. Raises: BadBackup, OSError."""
    target = data_dir.expanduser().absolute()
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise BadBackup(f"{target} is not empty; a backup is restored into an empty --data-dir only")
    target.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=f".{target.name}.restore-", dir=target.parent))
    try:
        yield staging
        # An empty directory of that name is replaced.
        staging.replace(target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


async def _fill(dsn: str, reader: Reader) -> Restored:
    async with backup.connect(dsn) as connection:
        await backup.require_empty(connection)
        await migrate(dsn, reader.manifest.schema_revision)
        async with connection.transaction():
            await journal.add_months(connection, reader.manifest.journal_months)
            await backup.load(connection, reader)
            mails, deliveries = await withhold_messages(connection)
            identity = await recorded_identity(connection)
            await record_operator_act(
                connection,
                act="registry.restore",
                subject=reader.manifest.registry_name,
                reason=f"backup of {reader.manifest.position.taken_at}",
            )
        await connection.execute("ANALYZE")
    ledger_id = reader.manifest.trust_domain if identity is None else identity.ledger_id
    return Restored(reader.manifest, ledger_id, mails, deliveries)


async def withhold_messages(tx: Tx) -> tuple[int, int]:
    """Withdraw everything that waits to be sent or follows from an event until now; returns the e-mails and the webhook deliveries."""
    mails = await delete_all_mails(tx)
    await people.drop_password_requests(tx)
    await journal.pass_over(tx, notifications.OWNER_NOTICES.name)
    return mails, await notifications.withhold_deliveries(tx)
