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
    from hansa.doors import serve as serving
    from hansa.foundation.plumbing.embedded import EmbeddedPostgresFailed
    from hansa.foundation.plumbing.keys import BadKey
    from hansa.foundation.plumbing.log import configure_logs
    from hansa.foundation.words.errors import Unavailable

    settings = _settings(host=host, port=port, data_dir=data_dir)
    configure_logs(settings.log_level, settings.log_format)
    try:
        _run(serving.serve(settings, workers))
    except (serving.CannotListen, EmbeddedPostgresFailed, BadKey) as trouble:
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


@app.command("map")
def house_map(
    write: Annotated[
        Path | None, typer.Option(help="File to write; without one, the map is printed.", show_default=False)
    ] = None,
) -> None:
    """Draw the map of the house: routes, settings, tables, events and sweeps, as Markdown."""
    from hansa.doors.house_map import draw_map

    drawn = draw_map()
    if write is None:
        typer.echo(drawn, nl=False)
        return
    try:
        write.write_text(drawn)
    except OSError as trouble:
        _fail(f"{write} cannot be written: {trouble.strerror}")


@app.command(hidden=True)
def serve_worker(
    listener: Annotated[int, typer.Option()],
    host: Annotated[str, typer.Option()],
    port: Annotated[int, typer.Option()],
    parent: Annotated[int, typer.Option()],
    data_dir: DataDir = None,
) -> None:
    """One serving process of several, on a socket and a database that its parent opened."""
    from hansa.doors import serve as serving
    from hansa.foundation.plumbing.log import configure_logs
    from hansa.foundation.words.errors import Unavailable

    settings = _settings(host=host, port=port, data_dir=data_dir)
    configure_logs(settings.log_level, settings.log_format)
    assert settings.database_url
    shared = socket.socket(fileno=listener)
    try:
        _run(serving.serve_here(settings, settings.database_url, shared, announce=False, parent=parent))
    except Unavailable as trouble:
        _fail(trouble.detail)


@database_app.command("url")
def database_url(data_dir: DataDir = None) -> None:
    """Print the connection string of the database in use."""
    typer.echo(_dsn_in_use(_settings(data_dir=data_dir)))


@database_app.command("migrate")
def database_migrate(data_dir: DataDir = None) -> None:
    """Bring the schema to this version by hand; `serve` does it at every start."""
    from hansa.doors.opening import bring_up_to_date
    from hansa.foundation.words.errors import Unavailable

    try:
        _run(bring_up_to_date(_dsn_in_use(_settings(data_dir=data_dir))))
    except Unavailable as trouble:
        _fail(trouble.detail)


def main() -> None:
    """The entry point of the `hansa` command."""
    app()


def _settings(**overrides: object) -> Settings:
    try:
        return read_settings(**overrides)
    except BadSetting as trouble:
        _fail(str(trouble))


def _dsn_in_use(settings: Settings) -> str:
    from hansa.foundation.plumbing.embedded import EmbeddedPostgresFailed, running_dsn

    try:
        return settings.database_url or running_dsn(settings.data_dir)
    except EmbeddedPostgresFailed as trouble:
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
