"""The command line."""

import asyncio
import socket
import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from hansa.foundation.plumbing.settings import BadSetting, Settings, read_settings

app = typer.Typer(
    help="Hansa: a federated registry and ledger for AI agents.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
database_app = typer.Typer(help="The registry's database.", no_args_is_help=True)
app.add_typer(database_app, name="db")

DataDir = Annotated[
    Path | None,
    typer.Option("--data-dir", help="The registry's data directory (HANSA_DATA_DIR).", show_default=False),
]


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="Port to listen on; 0 picks a free one.", min=0, max=65535)
    ] = 8000,
    data_dir: DataDir = None,
    workers: Annotated[int, typer.Option(help="Serving processes.", min=1, max=64)] = 1,
) -> None:
    """Run the registry: HTTP API, console and background work."""
    from hansa.doors import serve as serving
    from hansa.foundation.plumbing.embedded import EmbeddedPostgresFailed
    from hansa.foundation.plumbing.log import configure_logs
    from hansa.foundation.words.errors import Unavailable

    settings = _settings(host=host, port=port, data_dir=data_dir)
    configure_logs(settings.log_level, settings.log_format)
    try:
        _run(serving.serve(settings, workers))
    except (serving.CannotListen, EmbeddedPostgresFailed) as trouble:
        _fail(str(trouble))
    except Unavailable as trouble:
        _fail(trouble.detail)


@app.command()
def demo(
    url: Annotated[
        str | None, typer.Argument(help="A running registry; without one, a temporary one is started.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON only.")] = False,
) -> None:
    """Run the whole path against a registry; exit 0 only when the books add up."""
    import json

    import httpx2
    from rich.console import Console

    from hansa.doors.demo import DemoFailed, run_demo

    console = Console(quiet=as_json, highlight=False)
    try:
        report = asyncio.run(run_demo(url, console))
    except (DemoFailed, httpx2.InvalidURL) as trouble:
        _fail(str(trouble))
    if as_json:
        typer.echo(json.dumps(report, indent=2))


@app.command(hidden=True)
def serve_worker(
    listener: Annotated[int, typer.Option()],
    host: Annotated[str, typer.Option()],
    port: Annotated[int, typer.Option()],
    data_dir: DataDir = None,
) -> None:
    """One serving process of several, on a socket and a database that its parent opened."""
    from hansa.doors import serve as serving
    from hansa.foundation.plumbing.log import configure_logs

    settings = _settings(host=host, port=port, data_dir=data_dir)
    configure_logs(settings.log_level, settings.log_format)
    assert settings.database_url
    _run(serving.serve_here(settings, settings.database_url, socket.socket(fileno=listener), announce=False))


@database_app.command("url")
def database_url(data_dir: DataDir = None) -> None:
    """Print the connection string of the database in use."""
    from hansa.foundation.plumbing.embedded import EmbeddedPostgresNotRunning, running_dsn

    settings = _settings(data_dir=data_dir)
    try:
        typer.echo(settings.database_url or running_dsn(settings.data_dir))
    except EmbeddedPostgresNotRunning as trouble:
        _fail(str(trouble))


@database_app.command("migrate")
def database_migrate(data_dir: DataDir = None) -> None:
    """Bring the schema to this version by hand; `serve` does it at every start."""
    from hansa.foundation.plumbing.embedded import EmbeddedPostgresNotRunning, running_dsn
    from hansa.foundation.plumbing.migrate import migrate

    settings = _settings(data_dir=data_dir)
    try:
        _run(migrate(settings.database_url or running_dsn(settings.data_dir)))
    except (EmbeddedPostgresNotRunning, OSError) as trouble:
        _fail(str(trouble))


def main() -> None:
    """The entry point of the `hansa` command."""
    app()


def _settings(**overrides: object) -> Settings:
    try:
        return read_settings(**overrides)
    except BadSetting as trouble:
        _fail(str(trouble))


def _run(work) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(work)


def _fail(sentence: str) -> NoReturn:
    typer.echo(f"hansa: {sentence}", err=True)
    sys.exit(1)


if __name__ == "__main__":
    main()
