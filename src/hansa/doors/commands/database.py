"""`hansa db`: the registry's database."""

from typing import TYPE_CHECKING

import typer

from hansa.doors.commands.execution import failures_in_one_line, run_act, settings_from
from hansa.doors.commands.options import DataDir, examples

if TYPE_CHECKING:
    from hansa.foundation.plumbing.settings import Settings

app = typer.Typer(help="The registry's database.", no_args_is_help=True)


@app.command("url", epilog=examples('psql "$(hansa db url --data-dir /srv/hansa)"'))
def database_url(data_dir: DataDir = None) -> None:
    """Print the connection string of the database in use; the embedded one must be running."""
    typer.echo(_dsn_in_use(settings_from(data_dir=data_dir)))


@app.command("migrate", epilog=examples("hansa db migrate --data-dir /srv/hansa"))
def database_migrate(data_dir: DataDir = None) -> None:
    """Bring the schema of a running database to this version; `serve` does it at every start."""
    from hansa.doors.opening import bring_up_to_date

    settings = settings_from(data_dir=data_dir)
    run_act(bring_up_to_date(_dsn_in_use(settings), settings.database_variable))


def _dsn_in_use(settings: "Settings") -> str:
    from hansa.foundation.plumbing.embedded import running_dsn

    with failures_in_one_line():
        return settings.database_url or running_dsn(settings.data_dir)
