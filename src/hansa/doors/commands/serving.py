"""`hansa serve`."""

import socket
from typing import Annotated

import typer

from hansa.doors.commands.execution import run, settings_from
from hansa.doors.commands.options import RUN, DataDir, examples
from hansa.doors.commands.outcome import fail

app = typer.Typer()


@app.command(
    rich_help_panel=RUN,
    epilog=examples("hansa serve", "hansa serve --port 8080 --data-dir /srv/hansa --workers 2"),
)
def serve(
    host: Annotated[
        str | None, typer.Option(help="Address to listen on (HANSA_HOST).", show_default="127.0.0.1")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            help="Port to listen on (PORT); 0 picks a free one.", min=0, max=65535, show_default="8000"
        ),
    ] = None,
    data_dir: DataDir = None,
    workers: Annotated[int, typer.Option(help="Serving processes.", min=1, max=64)] = 1,
) -> None:
    """Run the registry: HTTP API, console and background work."""
    settings = settings_from(host=host, port=port, data_dir=data_dir)

    from hansa.doors import serve as serving
    from hansa.foundation.plumbing.embedded import EmbeddedPostgresFailed
    from hansa.foundation.plumbing.keys import BadKey
    from hansa.foundation.plumbing.log import configure_logs
    from hansa.foundation.words.errors import Unavailable

    configure_logs(settings.log_level, settings.log_format)
    try:
        run(serving.serve(settings, workers))
    except (serving.CannotListen, EmbeddedPostgresFailed, BadKey) as trouble:
        fail(str(trouble))
    except Unavailable as trouble:
        fail(trouble.detail)


@app.command(hidden=True)
def serve_worker(
    *,
    listener: Annotated[int, typer.Option()],
    host: Annotated[str, typer.Option()],
    port: Annotated[int, typer.Option()],
    parent: Annotated[int, typer.Option()],
    federation_listener: Annotated[int | None, typer.Option()] = None,
    data_dir: DataDir = None,
) -> None:
    """One serving process of several, on a socket and a database that its parent opened."""
    from hansa.doors import serve as serving
    from hansa.foundation.plumbing.log import configure_logs
    from hansa.foundation.words.errors import Unavailable

    settings = settings_from(host=host, port=port, data_dir=data_dir)
    configure_logs(settings.log_level, settings.log_format)
    assert settings.database_url
    shared = serving.Listeners(
        public=socket.socket(fileno=listener),
        federation=None if federation_listener is None else socket.socket(fileno=federation_listener),
    )
    try:
        run(serving.serve_here(settings, settings.database_url, shared, announce=False, parent=parent))
    except Unavailable as trouble:
        fail(trouble.detail)
