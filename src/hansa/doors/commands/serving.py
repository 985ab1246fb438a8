"""`hansa serve`."""

import socket
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from hansa.doors.commands.execution import FAILED, run, settings_from
from hansa.doors.commands.options import RUN, DataDir, examples

if TYPE_CHECKING:
    from hansa.doors.serving.listeners import Listeners
    from hansa.doors.serving.worker_forks import WorkerForks
    from hansa.foundation.plumbing.settings import Settings

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
    workers: Annotated[
        int | None,
        typer.Option(help="Number of worker processes (HANSA_WORKERS).", min=1, max=64, show_default="1"),
    ] = None,
) -> None:
    """Run the registry: HTTP API, web console and background jobs."""
    with failures_of_the_start():
        from hansa.foundation.plumbing.process.data_directory import settings_with_file
        from hansa.foundation.plumbing.settings import require_spelling
        from hansa.foundation.plumbing.telemetry.log import configure_logs

        require_spelling()
        settings = settings_with_file(host=host, port=port, data_dir=data_dir, workers=workers)
        configure_logs(settings.log_level, settings.log_format)

        from hansa.doors.serving import serve as serving

        settings, listeners = serving.listening(settings)
        forks = _fork_server(settings, listeners) if settings.workers > 1 else None
        run(serving.serve(settings, listeners, forks, settings.workers))


@contextmanager
def failures_of_the_start() -> Iterator[None]:
    """An expected failure in this block ends `serve` with one line, in the form of the log."""
    from hansa.foundation.plumbing.telemetry.log import is_json_asked_for, print_failure
    from hansa.foundation.values.errors import Refused

    try:
        yield
    except Refused as error:
        print_failure(error.detail)
    except _expected_failures() as error:
        print_failure(str(error))
    except Exception as error:
        if not is_json_asked_for():
            raise
        print_failure("".join(traceback.format_exception(error)))
    else:
        return
    sys.exit(FAILED)


def _expected_failures() -> tuple[type[Exception], ...]:
    from hansa.doors.serving.listeners import CannotListen
    from hansa.foundation.plumbing.keys.key_files import BadKey
    from hansa.foundation.plumbing.settings import BadSetting
    from hansa.foundation.plumbing.storage.embedded import EmbeddedPostgresFailed

    return (BadSetting, CannotListen, EmbeddedPostgresFailed, BadKey)


@app.command(hidden=True)
def serve_forks(
    *,
    requests: Annotated[int, typer.Option()],
    listener: Annotated[int, typer.Option()],
    host: Annotated[str, typer.Option()],
    port: Annotated[int, typer.Option()],
    federation_listener: Annotated[int | None, typer.Option()] = None,
    data_dir: DataDir = None,
) -> None:
    """The process that forks workers, in place of one that died; its parent opened the sockets."""
    from hansa.doors.serving.listeners import Listeners
    from hansa.doors.serving.worker_forks import serve_forks as serve
    from hansa.foundation.plumbing.telemetry.log import configure_logs

    settings = settings_from(any_database=True, host=host, port=port, data_dir=data_dir)
    configure_logs(settings.log_level, settings.log_format)
    shared = Listeners(
        public=socket.socket(fileno=listener),
        federation=None if federation_listener is None else socket.socket(fileno=federation_listener),
    )
    serve(socket.socket(fileno=requests), partial(_work, settings, shared))


def _fork_server(settings: "Settings", listeners: "Listeners") -> "WorkerForks":
    from hansa.doors.serving.worker_forks import fork_server

    mutual = listeners.federation
    program = [
        sys.executable,
        "-m",
        "hansa.doors.operate",
        "serve-forks",
        f"--listener={listeners.public.fileno()}",
        *([] if mutual is None else [f"--federation-listener={mutual.fileno()}"]),
        f"--host={settings.host}",
        f"--port={settings.port}",
        f"--data-dir={settings.data_dir}",
    ]
    return fork_server(partial(_work, settings, listeners), program, listeners.descriptors())


def _work(settings: "Settings", listeners: "Listeners", parent: int) -> None:
    """Be one serving process of several, on the database that the environment names by now."""
    from hansa.doors.serving import serve as serving
    from hansa.doors.shared_metrics import share_metrics
    from hansa.foundation.plumbing.settings import read_settings

    with failures_of_the_start():
        share_metrics()
        own = read_settings(host=settings.host, port=settings.port, data_dir=settings.data_dir)
        assert own.database_url
        run(serving.serve_here(own, own.database_url, listeners, announce=False, parent=parent))
