"""`hansa db`: the registry's database."""

import sys
from collections.abc import Coroutine
from io import BufferedWriter, FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, TypeVar

import typer

from hansa.doors.commands.execution import (
    USAGE_ERROR,
    fail,
    failures_in_one_line,
    file_failures_in_one_line,
    print_outcome,
    run,
    run_act,
    settings_from,
)
from hansa.doors.commands.options import AsJson, DataDir, examples, passphrase

if TYPE_CHECKING:
    from hansa.foundation.plumbing.settings import Settings
    from hansa.foundation.plumbing.storage.backup import Reader

Answer = TypeVar("Answer")

STANDARD_OUTPUT = frozenset({"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"})

app = typer.Typer(help="Manage the database of the registry.", no_args_is_help=True)


@app.command("url", epilog=examples('psql "$(hansa db url --data-dir /srv/hansa)"'))
def database_url(data_dir: DataDir = None) -> None:
    """Print the connection string of the database in use; the embedded one must be running."""
    from hansa.foundation.plumbing.storage.hosts import for_programs

    typer.echo(for_programs(_dsn_in_use(settings_from(data_dir=data_dir))))


@app.command("migrate", epilog=examples("hansa db migrate --data-dir /srv/hansa"))
def database_migrate(data_dir: DataDir = None) -> None:
    """Migrate the schema of a running database to this version; `serve` also does this at every start.

    Prints the migrations and the SQL files (functions, triggers, views) that were applied.
    """
    from hansa.doors.startup import bring_up_to_date

    settings = settings_from(data_dir=data_dir)
    applied = run_act(bring_up_to_date(_dsn_in_use(settings), settings.database_variable))
    for kind, names in (("migrations", applied.migrations), ("SQL files", applied.sql_files)):
        if names:
            typer.echo(f"{kind} applied: {', '.join(names)}")
    if not applied.migrations and not applied.sql_files:
        typer.echo("the schema is up to date: nothing was applied")


@app.command("adopt", epilog=examples("hansa db adopt --config /etc/hansa/hansa.env --data-dir /srv/hansa"))
def database_adopt(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Record REGISTRY_NAME and the keys in DIR/keys as those of the registry, after a rename or a loss of keys.

    Stop the registry's processes first and start them with the same name and keys afterwards. What was signed or sealed
    with a lost key stays so: sessions end, and sealed secrets cannot be read.
    """
    from hansa.doors import offline_commands

    changed = run_act(offline_commands.adopt_database(settings_from(any_database=True, data_dir=data_dir)))
    print_outcome(
        f"recorded: {', '.join(changed)}" if changed else "no changes",
        {"changed": changed},
        as_json=as_json,
    )


@app.command(
    "backup",
    epilog=examples(
        "hansa db backup /backups/registry-monday.hansa --data-dir /srv/hansa",
        "hansa db backup --out-dir /backups --keep 14 --data-dir /srv/hansa",
        "hansa db backup - --data-dir /srv/hansa | age -R operators.txt > registry.hansa.age",
    ),
)
def database_backup(
    file: Annotated[
        Path | None,
        typer.Argument(help="Output file, which must not exist; `-` is standard output.", show_default=False),
    ] = None,
    *,
    out_dir: Annotated[
        Path | None,
        typer.Option(help="Directory for a file with the time in its name.", show_default=False),
    ] = None,
    keep: Annotated[
        int | None,
        typer.Option(
            min=1, help="Backups of this registry to keep in --out-dir: the newest.", show_default=False
        ),
    ] = None,
    without_keys: Annotated[
        bool,
        typer.Option("--without-keys", help="Do not include the keys; save them with `hansa keys export`."),
    ] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Back up the database and the keys, encrypted with a passphrase, to one file; also works while the registry runs.

    The passphrase comes from HANSA_KEYS_PASSPHRASE, or is asked for. A registry cannot be served without its keys.
    """
    from hansa.doors import database_backup
    from hansa.doors.backup_directory import BackupDirectory

    if (file is None) is (out_dir is None):
        fail("name one output: a file, `-` for standard output, or --out-dir DIR", USAGE_ERROR)
    if keep is not None and out_dir is None:
        fail("--keep needs --out-dir", USAGE_ERROR)
    settings = settings_from(data_dir=data_dir)
    secret = None if without_keys else passphrase(confirm=True)
    directory = BackupDirectory.of(settings, out_dir) if out_dir else None
    place = directory.new_file() if directory else file
    assert place is not None
    is_streamed = str(place) in STANDARD_OUTPUT
    target = _standard_output() if is_streamed else place
    manifest = _carry_out(database_backup.back_up(settings, target, secret), place)
    deleted: list[Path] = []
    if directory is not None and keep is not None:
        with file_failures_in_one_line(directory.path):
            deleted = directory.prune(place, keep)
    position = manifest.position
    shown = {
        "file": str(place),
        "registry_name": manifest.registry_name,
        **position.model_dump(),
        "has_keys": manifest.has_keys,
        "deleted": [str(old) for old in deleted],
    }
    print_outcome(
        f"{place}: all changes committed before {position.taken_at} (LSN {position.lsn}, journal sequence"
        f" {position.journal_sequence}), {'with' if manifest.has_keys else 'without'} keys"
        + (f"; deleted: {', '.join(old.name for old in deleted)}" if deleted else ""),
        shown,
        as_json=as_json,
        on_standard_error=is_streamed,
    )


def _standard_output() -> BinaryIO:
    """Standard output for bytes; a terminal ends the command."""
    if sys.stdout.isatty():
        fail("standard output is a terminal; lead it to a file or a program", USAGE_ERROR)
    return BufferedWriter(FileIO(sys.stdout.fileno(), "wb", closefd=False))


@app.command(
    "restore", epilog=examples("hansa db restore /backups/registry-monday.hansa --data-dir /srv/restored")
)
def database_restore(
    file: Annotated[Path, typer.Argument(help="Backup file written by `hansa db backup`.")],
    embedded: Annotated[
        bool,
        typer.Option("--embedded", help="Restore into the data directory, whatever DATABASE_URL is."),
    ] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Restore a backup into an empty data directory; with DATABASE_URL, into that empty database.

    E-mails and webhooks that waited when the backup was taken are not sent: they may have been sent since. Never serve
    the copy beside the registry that it was taken of.
    """
    from hansa.doors import database_backup

    settings = settings_from(any_database=True, data_dir=data_dir)
    if embedded:
        settings = settings.model_copy(update={"database_url": None})
    reader = _verified(file)
    secret = passphrase() if reader.manifest.has_keys else None
    restored = _carry_out(database_backup.restore(settings, reader, secret), file)
    shown = {
        "data_dir": str(settings.data_dir),
        "registry_name": restored.manifest.registry_name,
        **restored.manifest.position.model_dump(),
        "mails_withheld": restored.mails_withheld,
        "webhook_deliveries_withheld": restored.deliveries_withheld,
    }
    print_outcome(
        "{data_dir}: registry {registry_name!r} as of {taken_at} (LSN {lsn}, journal sequence {journal_sequence});"
        " not sent: {mails_withheld} e-mails, {webhook_deliveries_withheld} webhook deliveries".format(
            **shown
        )
        + (
            ""
            if secret
            else "; its keys are not in the backup: run `hansa keys import FILE` before `hansa serve`"
        ),
        shown,
        as_json=as_json,
    )


@app.command("rebase", epilog=examples("hansa db rebase --config recovery.env --data-dir /srv/hansa"))
def database_rebase(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Let a physical copy of the database be served that PostgreSQL recovered to a chosen moment; no process may be connected.

    Readers of the journal and peers then miss nothing, and e-mails and webhooks that waited are not sent: they may have been
    sent since. The time that it takes does not depend on the size of the database.
    """
    from msgspec.structs import asdict

    from hansa.doors.database_rebase import rebase

    shown = asdict(run_act(rebase(settings_from(data_dir=data_dir))))
    print_outcome(
        "registry {registry_name!r} as of journal sequence {journal_sequence}: positions begin at {first_position};"
        " not sent: {mails_withheld} e-mails, {deliveries_withheld} webhook deliveries".format(**shown),
        shown,
        as_json=as_json,
    )


def _verified(file: Path) -> "Reader":
    from hansa.doors import database_backup
    from hansa.foundation.plumbing.storage.backup import BadBackup

    try:
        return database_backup.read_backup(file)
    except BadBackup as error:
        fail(str(error))
    except OSError as error:
        fail(f"{file} cannot be read: {error.strerror}")


def _carry_out(work: Coroutine[Any, Any, Answer], file: Path) -> Answer:
    from hansa.foundation.plumbing.storage.backup import BadBackup

    try:
        with file_failures_in_one_line(file):
            return run(work)
    except BadBackup as error:
        fail(str(error))


def _dsn_in_use(settings: "Settings") -> str:
    from hansa.foundation.plumbing.storage.embedded import running_dsn

    with failures_in_one_line():
        return settings.database_url or running_dsn(settings.data_dir)
