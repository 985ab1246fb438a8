"""`hansa serve`."""

import socket
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from hansa.doors.commands.execution import run, settings_from
from hansa.doors.commands.options import RUN, DataDir, examples
from hansa.doors.commands.outcome import FAILED

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
            help="Port to listen on (PORT); 0 selects a free port.", min=0, max=65535, show_default="8000"
        ),
    ] = None,
    data_dir: DataDir = None,
    workers: Annotated[int, typer.Option(help="Number of worker processes.", min=1, max=64)] = 1,
) -> None:
    """Run the registry: HTTP API, web console and background jobs."""
    with failures_of_the_start():
        from hansa.foundation.plumbing.log import configure_logs
        from hansa.foundation.plumbing.settings import read_settings

        settings = read_settings(host=host, port=port, data_dir=data_dir)
        configure_logs(settings.log_level, settings.log_format)

        from hansa.doors import serve as serving

        run(serving.serve(settings, workers))


@contextmanager
def failures_of_the_start() -> Iterator[None]:
    """An expected failure in this block ends `serve` with one line, in the form of the log."""
    from hansa.foundation.plumbing.log import is_json_asked_for, print_failure
    from hansa.foundation.values.errors import Refused

    try:
        yield
    except Refused as trouble:
        print_failure(trouble.detail)
    except _expected_failures() as trouble:
        print_failure(str(trouble))
    except Exception as trouble:
        if not is_json_asked_for():
            raise
        print_failure("".join(traceback.format_exception(trouble)))
    else:
        return
    sys.exit(FAILED)


def _expected_failures() -> tuple[type[Exception], ...]:
    from hansa.doors.listeners import CannotListen
    from hansa.foundation.plumbing.embedded import EmbeddedPostgresFailed
    from hansa.foundation.plumbing.keys import BadKey
    from hansa.foundation.plumbing.settings import BadSetting

    return (BadSetting, CannotListen, EmbeddedPostgresFailed, BadKey)


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
    from hansa.foundation.plumbing.log import configure_logs

    settings = settings_from(host=host, port=port, data_dir=data_dir)
    configure_logs(settings.log_level, settings.log_format)

    from hansa.doors import serve as serving
    from hansa.doors.listeners import Listeners

    assert settings.database_url
    shared = Listeners(
        public=socket.socket(fileno=listener),
        federation=None if federation_listener is None else socket.socket(fileno=federation_listener),
    )
    with failures_of_the_start():
        run(serving.serve_here(settings, settings.database_url, shared, announce=False, parent=parent))
