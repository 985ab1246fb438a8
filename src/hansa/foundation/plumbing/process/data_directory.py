"""The record of the database to which a data directory belongs: `registry.json`, written at the first start or an import of keys.

A directory with this record never founds a second registry: another kind of database and a database without a registry are
refused. `hansa db adopt` records another database on purpose. A directory of an older version gets its record at the next start.
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qs, urlsplit

import msgspec
import structlog

from hansa.foundation.plumbing.keys.registry_identity import DatabaseOfAnother
from hansa.foundation.plumbing.settings import (
    CONFIG_VARIABLE,
    Settings,
    applied_settings_file,
    apply_settings_file,
    read_settings,
)
from hansa.foundation.plumbing.storage.embedded import has_cluster, socket_directory

FILE = "registry.json"
Kind = Literal["embedded", "external"]

_log = structlog.get_logger()


class Belonging(msgspec.Struct, frozen=True):
    """The database of a data directory: its kind, and the ledger id of the registry in it.

    `settings_file` is that of the last start; commands read it where they are given no other.
    """

    database: Kind
    ledger_id: str
    settings_file: str | None = None

    @classmethod
    def of(cls, settings: Settings) -> "Belonging":
        """The record of a process with these settings."""
        return cls(kind_of(settings), settings.ledger_id, applied_settings_file())


def belonging(data_dir: Path) -> Belonging | None:
    """The record; None where there is none yet. Raises: DatabaseOfAnother, when it cannot be read."""
    path = data_dir.expanduser() / FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=Belonging)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, msgspec.DecodeError) as error:
        raise DatabaseOfAnother(f"{path} cannot be read: {error}. Restore it from a backup.") from error


def record_belonging(data_dir: Path, record: Belonging) -> None:
    """Write the record. A disk that does not take it is no reason not to serve."""
    with suppress(DatabaseOfAnother):
        if belonging(data_dir) == record:
            return
    try:
        _write(data_dir, record)
    except OSError as error:
        path = str(data_dir.expanduser() / FILE)
        _log.warning("the database of the data directory is not recorded", file=path, trouble=str(error))


def bind_to_imported(data_dir: Path, ledger_id: str) -> None:
    """Record the registry whose keys are imported, so that a start without its database founds no second one.

    A data directory without a cluster joins a database elsewhere. Raises: DatabaseOfAnother, when the directory belongs to
    another registry; OSError.
    """
    record = belonging(data_dir)
    if record is None:
        data_dir.expanduser().mkdir(mode=0o700, parents=True, exist_ok=True)
        kind: Kind = "embedded" if has_cluster(data_dir) else "external"
        _write(data_dir, Belonging(kind, ledger_id, applied_settings_file()))
    elif record.ledger_id != ledger_id:
        raise DatabaseOfAnother(
            f"{data_dir} belongs to the registry {record.ledger_id}, and the keys are those of {ledger_id}; nothing was"
            " imported: use another --data-dir."
        )


def _write(data_dir: Path, record: Belonging) -> None:
    path = data_dir.expanduser() / FILE
    fresh = path.with_name(f"{FILE}.new")
    fresh.touch(mode=0o600)
    fresh.write_bytes(msgspec.json.encode(record) + b"\n")
    fresh.replace(path)


def settings_with_file(**overrides: object) -> Settings:
    """The settings of the environment and of the settings file; `overrides` (from the command line) win.

    Where none was named, the file is that with which the registry of the data directory was started last; an empty
    HANSA_CONFIG means none. Raises: BadSetting, DatabaseOfAnother.
    """
    settings = read_settings(**overrides)
    if CONFIG_VARIABLE in os.environ:
        return settings
    record = belonging(settings.data_dir)
    if record is None or record.settings_file is None:
        return settings
    apply_settings_file(Path(record.settings_file))
    return read_settings(**overrides)


def kind_of(settings: Settings) -> Kind:
    """The kind of database that the settings name; the embedded one may be named by its own address."""
    if settings.database_url is None:
        return "embedded"
    hosts = parse_qs(urlsplit(settings.database_url).query).get("host", [])
    return "embedded" if hosts == [str(socket_directory(settings.data_dir))] else "external"


def require_kind(settings: Settings) -> None:
    """Raises: DatabaseOfAnother, when the data directory belongs to another kind of database, or its embedded one is missing."""
    record, place = belonging(settings.data_dir), settings.data_dir
    if record is None:
        return
    registry = f"{place} belongs to the registry {record.ledger_id}"
    if record.database == "external" and kind_of(settings) == "embedded":
        raise DatabaseOfAnother(
            f"{registry} on a PostgreSQL server of yours, and DATABASE_URL is not set: set it, name the settings file with"
            " --config, or use another --data-dir."
        )
    if record.database == "embedded" and kind_of(settings) == "external":
        raise DatabaseOfAnother(
            f"{registry} in its own embedded PostgreSQL, and DATABASE_URL names another database: unset it, use another"
            " --data-dir, or record that database with `hansa db adopt`."
        )
    if record.database == "embedded" and not has_cluster(place):
        raise DatabaseOfAnother(
            f"{registry}, whose database in {place}/postgres is missing: restore it, or use another --data-dir."
        )


def require_founded(settings: Settings, address: str) -> None:
    """Raises: DatabaseOfAnother, when the data directory has a registry; to be called for a database without one."""
    if (record := belonging(settings.data_dir)) is not None:
        raise DatabaseOfAnother(
            f"{settings.data_dir} belongs to the registry {record.ledger_id}, and the database at {address} has no registry:"
            " correct DATABASE_URL, or use another --data-dir to create a new registry."
        )
