"""`hansa journal`: months of the journal, written to files and deleted from the database once the files were verified."""

import json
import os
from pathlib import Path

import asyncpg
import msgspec

from hansa.doors.assembly import ASSEMBLY
from hansa.doors.offline_commands import registry_seal
from hansa.doors.startup import joined_database, require_own_database
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage import backup
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.admin_acts import record_operator_act
from hansa.foundation.values.canonical import canonical_json
from hansa.foundation.values.errors import Conflict
from hansa.rooms import auditor, federation, journal
from hansa_verify import (
    ARCHIVE_TYPE,
    CARD_PROFILE,
    ArchiveVerdict,
    RegistryKey,
    manifest_digest,
    manifest_path,
    verify_archive,
)


class Archived(msgspec.Struct, frozen=True):
    """An archive that was written."""

    month: str
    manifest: str
    rows: int
    events: int
    bytes: int
    kid: str


class BadArchive(Exception):
    """The archive does not hold what its manifest states; the message is one line."""


async def archive_month(settings: Settings, name: str, directory: Path) -> Archived:
    """Write a month that is over to a directory, with a signed manifest, and record the archive.

    Raises: Refused, BadKey, OSError, ModuleNotFoundError without pyarrow, and the errors of opening the registry.
    """
    month, seal = journal.Month.of(name), registry_seal(settings)
    manifest_file = manifest_path(directory, name)
    if manifest_file.exists():
        raise FileExistsError(17, "it exists already", str(manifest_file))
    async with joined_database(settings) as dsn:
        await require_own_database(settings, dsn)
        async with backup.connect(dsn) as connection:
            async with connection.transaction(isolation="repeatable_read", readonly=True):
                manifest = await journal.write_month(connection, month, directory, settings.ledger_id)
            async with connection.transaction():
                key = await federation.present_signing_key(connection, seal)
                header = {"typ": ARCHIVE_TYPE, "iat": int(key.now.timestamp()), "canon": CARD_PROFILE}
                signature = federation.detached_signature(key, canonical_json(manifest), header)
                last_xid, last_seq = manifest["last_position"]
                archived = journal.ArchivedMonth(
                    month=month.first,
                    rows=manifest["rows"],
                    events=manifest["events"],
                    first_sequence=manifest["first_sequence"],
                    last_sequence=manifest["last_sequence"],
                    last_xid=last_xid,
                    last_seq=last_seq,
                    manifest_sha256=manifest_digest(manifest),
                    kid=key.kid,
                    archived_at=key.now,
                    dropped_at=None,
                )
                if not await journal.record_archive(connection, archived):
                    raise journal.MonthNotArchivable(f"{name} was dropped meanwhile.")
                await record_operator_act(
                    connection,
                    act="journal.archive",
                    subject=name,
                    reason=archived.manifest_sha256.hex(),
                )
                _write_new(manifest_file, {**manifest, "signatures": [signature]})
    return Archived(
        name, str(manifest_file), archived.rows, archived.events, manifest["file"]["bytes"], key.kid
    )


async def drop_month(settings: Settings, name: str, directory: Path) -> journal.ArchivedMonth:
    """Delete a month from the journal after its archive in the directory was verified.

    Raises: BadArchive, Refused, OSError, ModuleNotFoundError without pyarrow, and the errors of opening the registry.
    """
    month = journal.Month.of(name)
    async with joined_database(settings) as dsn:
        await require_own_database(settings, dsn)
        async with backup.connect(dsn) as connection:
            await journal.require_expired(connection, month, settings.retention_months)
            keys = [
                RegistryKey(key.kid, key.public_key, key.valid_from, key.retired_at)
                for key in await federation.all_keys(connection)
            ]
            verdict = verify_archive(directory, name, keys)
            if verdict.manifest is None or verdict.digest is None:
                raise BadArchive(_first_fault(verdict))
            try:
                async with connection.transaction():
                    return await _drop(connection, month, verdict)
            except asyncpg.LockNotAvailableError as error:
                raise Conflict("An audit or an append holds the journal; try again in a minute.") from error


async def _drop(tx: Tx, month: journal.Month, verdict: ArchiveVerdict) -> journal.ArchivedMonth:
    assert verdict.manifest is not None
    assert verdict.digest is not None
    audited = await auditor.hold_off_audits(tx)
    if audited <= verdict.manifest["last_position"][0]:
        raise journal.MonthNotDroppable(
            f"No audit has gone beyond {month.name} yet; the registry audits every minute while it runs."
        )
    last = journal.Place(*verdict.manifest["last_position"])
    if (follower := await journal.follower_before(tx, last)) is not None:
        raise journal.MonthNotDroppable(
            f"The follower {follower!r} has not published {month.name}; let it catch up, or remove it with `hansa journal forget`."
        )
    dropped = await journal.drop_month(tx, month, verdict.manifest, verdict.digest, ASSEMBLY.reactors)
    await record_operator_act(
        tx, act="journal.drop", subject=month.name, reason=dropped.manifest_sha256.hex()
    )
    return dropped


async def list_archives(settings: Settings) -> list[journal.ArchivedMonth]:
    """Every archive of a month, the oldest first. Raises: the errors of opening the registry."""
    async with joined_database(settings) as dsn:
        await require_own_database(settings, dsn)
        async with backup.connect(dsn) as connection:
            return await journal.archived_months(connection)


def _first_fault(verdict: ArchiveVerdict) -> str:
    failed = next(step for step in verdict.steps if not step.holds)
    return f"the archive is not valid ({verdict.code}): {failed.said}"


def _write_new(path: Path, manifest: dict[str, object]) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with draft.open("x") as file:
            json.dump(manifest, file, indent=1, sort_keys=True)
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, path)
    finally:
        draft.unlink(missing_ok=True)
