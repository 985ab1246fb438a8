"""`hansa db`: the registry's database."""

from typing import TYPE_CHECKING

import typer

from hansa.doors.commands.execution import run, settings_from
from hansa.doors.commands.options import DataDir, examples
from hansa.doors.commands.outcome import fail

if TYPE_CHECKING:
    from hansa.foundation.plumbing.settings import Settings

app = typer.Typer(help="The registry's database.", no_args_is_help=True)


@app.command("url", epilog=examples('psql "$(hansa db url --data-dir /srv/hansa)"'))
def database_url(data_dir: DataDir = None) -> None:
    """Print the connection string of the database in use."""
    typer.echo(_dsn_in_use(settings_from(data_dir=data_dir)))


@app.command("migrate", epilog=examples("hansa db migrate --data-dir /srv/hansa"))
def database_migrate(data_dir: DataDir = None) -> None:
    """Bring the schema to this version by hand; `serve` does it at every start."""
    from hansa.doors.opening import bring_up_to_date
    from hansa.foundation.words.errors import Unavailable

    try:
        run(bring_up_to_date(_dsn_in_use(settings_from(data_dir=data_dir))))
    except Unavailable as trouble:
        fail(trouble.detail)


def _dsn_in_use(settings: "Settings") -> str:
    from hansa.foundation.plumbing.embedded import EmbeddedPostgresFailed, running_dsn

    try:
        return settings.database_url or running_dsn(settings.data_dir)
    except EmbeddedPostgresFailed as trouble:
        fail(str(trouble))
