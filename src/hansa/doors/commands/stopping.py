"""`hansa stop`."""

from typing import Annotated

import typer

from hansa.doors.commands.execution import data_directory, fail, print_outcome, settings_from
from hansa.doors.commands.options import RUN, AsJson, DataDir, examples

STOP_SECONDS = 60

app = typer.Typer()


@app.command(rich_help_panel=RUN, epilog=examples("hansa stop", "hansa stop --data-dir /srv/hansa"))
def stop(
    data_dir: DataDir = None,
    seconds: Annotated[
        int, typer.Option("--wait", help="Seconds to wait until it has stopped.", min=1, max=3600)
    ] = STOP_SECONDS,
    as_json: AsJson = False,
) -> None:
    """Stop the registry of a data directory and wait until it has stopped; exit 1 if none is running."""
    from hansa.foundation.plumbing.process.process_files import serving_processes, terminate

    directory = data_directory(settings_from(any_database=True, data_dir=data_dir))
    found = serving_processes(directory)
    if not found:
        fail(f"no registry is running in {directory}")
    for process in found:
        try:
            gone = terminate(directory, process, seconds=seconds)
        except PermissionError:
            fail(f"process {process.pid} belongs to another account; stop it from that account or as root")
        if not gone:
            fail(f"process {process.pid} is still running after {seconds} s; use a longer --wait")
    pids = [process.pid for process in found]
    print_outcome(
        "\n".join(f"stopped {one.url} (process {one.pid})" for one in found),
        {"stopped": pids},
        as_json=as_json,
    )
