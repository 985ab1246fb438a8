"""`hansa journal`: archives of months of the journal."""

from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from hansa.doors.commands.execution import fail, file_failures_in_one_line, print_outcome, run, settings_from
from hansa.doors.commands.options import AsJson, DataDir, examples

Answer = TypeVar("Answer")
MonthName = Annotated[str, typer.Argument(metavar="YYYY-MM", help="Month, UTC.")]

app = typer.Typer(
    help="Publish the journal to other systems; archive its months and drop them.", no_args_is_help=True
)


@app.command("archive", epilog=examples("hansa journal archive 2026-08 --to /archive --data-dir /srv/hansa"))
def archive_month(
    month: MonthName,
    to: Annotated[Path, typer.Option(help="Directory for the two files of the archive; it must exist.")],
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Write the events of a month that is over to a Parquet file with a signed manifest; also works while the registry runs.

    Nothing is deleted. `hansa verify archive` verifies the files offline. Needs pyarrow.
    """
    from msgspec.structs import asdict

    from hansa.doors import journal_archives

    archived = _carry_out(journal_archives.archive_month(settings_from(data_dir=data_dir), month, to), to)
    print_outcome(
        f"{archived.manifest}: {archived.events} events in {archived.rows} rows, {archived.bytes} bytes, signed with {archived.kid}",
        asdict(archived),
        as_json=as_json,
    )


@app.command("drop", epilog=examples("hansa journal drop 2026-08 --archive /archive --data-dir /srv/hansa"))
def drop_month(
    month: MonthName,
    archive: Annotated[Path, typer.Option(help="Directory with the archive of the month.")],
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Delete a month from the journal: after RETENTION_MONTHS, an audit beyond it, and a verification of its archive.

    The events cannot be brought back into the database. Balances, postings and the audit stay; readers of these events get an
    error that says so.
    """
    from hansa.doors import journal_archives

    dropped = _carry_out(
        journal_archives.drop_month(settings_from(data_dir=data_dir), month, archive), archive
    )
    print_outcome(
        f"{month}: {dropped.events} events dropped, up to sequence number {dropped.last_sequence}",
        {"month": month, "events": dropped.events, "last_sequence": dropped.last_sequence},
        as_json=as_json,
    )


@app.command("archives", epilog=examples("hansa journal archives", "hansa journal archives --json"))
def list_archives(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List the months that were archived, and whether they were dropped."""
    from hansa.doors import journal_archives
    from hansa.foundation.values.errors import Refused

    try:
        found = run(journal_archives.list_archives(settings_from(data_dir=data_dir)))
    except Refused as error:
        fail(error.detail)
    shown = [
        {
            "month": f"{one.month:%Y-%m}",
            "events": one.events,
            "archived_at": one.archived_at.isoformat(),
            "dropped_at": one.dropped_at and one.dropped_at.isoformat(),
            "manifest_sha256": one.manifest_sha256.hex(),
            "kid": one.kid,
        }
        for one in found
    ]
    lines = [
        f"{one['month']}  {one['events']} events, archived {one['archived_at']}, "
        + (f"dropped {one['dropped_at']}" if one["dropped_at"] else "stored")
        for one in shown
    ]
    print_outcome("\n".join(lines) or "no archives", {"archives": shown}, as_json=as_json)


def _carry_out(work: Coroutine[Any, Any, Answer], directory: Path) -> Answer:
    from hansa.doors.journal_archives import BadArchive

    try:
        with pyarrow_required(), file_failures_in_one_line(directory):
            return run(work)
    except BadArchive as error:
        fail(str(error))


@contextmanager
def pyarrow_required() -> Iterator[None]:
    """A missing pyarrow ends the command with one line."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != "pyarrow":
            raise
        fail("archives need pyarrow: pip install 'pyarrow<27,>=21'")
