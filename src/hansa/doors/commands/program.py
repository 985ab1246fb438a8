"""The program `hansa`: its groups of commands, in the order in which they are shown."""

from pathlib import Path
from typing import Annotated

import typer

from hansa import __version__
from hansa.doors.commands import (
    administrators,
    background_jobs,
    completion,
    configuration,
    conformance,
    crossings,
    database,
    demonstration,
    development,
    inspection,
    journal,
    journal_follow,
    licences,
    peers,
    registry_keys,
    replay,
    service_certificates,
    serving,
    simulation,
    stopping,
    supply,
    verification,
)
from hansa.doors.commands.execution import name_settings_file, use_settings_file
from hansa.doors.commands.options import ADMINISTER, DEVELOP, INSPECT
from hansa.doors.commands.presentation import HELP_OPTIONS, PROGRAM, CommandsByPurpose
from hansa_client.commands.verbs import add_verbs


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"{PROGRAM} {__version__}")
        raise typer.Exit


app = typer.Typer(
    cls=CommandsByPurpose,
    help="Hansa: a federated registry and ledger for AI agents.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": HELP_OPTIONS},
)


@app.callback()
def hansa(
    context: typer.Context,
    *,
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True),
    ] = False,
    config: Annotated[
        Path | None,
        typer.Option(
            envvar="HANSA_CONFIG",
            metavar="FILE",
            help="Settings file with lines NAME=value; variables of the environment win.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """What every command shares."""
    del version
    if config is None:
        return
    if context.invoked_subcommand == "config":
        # This command states every fault of the file, not the first one.
        name_settings_file(config)
    else:
        use_settings_file(config)


for top_level in (
    serving,
    stopping,
    demonstration,
    supply,
    inspection,
    replay,
    configuration,
    completion,
    development,
):
    app.add_typer(top_level.app)
add_verbs(app, program="hansa")
app.add_typer(registry_keys.bundle_app)
app.add_typer(development.schema_app, name="schema", rich_help_panel=DEVELOP)
app.add_typer(administrators.app, name="admin", rich_help_panel=ADMINISTER)
app.add_typer(database.app, name="db", rich_help_panel=ADMINISTER)
app.add_typer(background_jobs.app, name="jobs", rich_help_panel=ADMINISTER)
journal.app.add_typer(journal_follow.app)
app.add_typer(journal.app, name="journal", rich_help_panel=ADMINISTER)
app.add_typer(registry_keys.app, name="keys", rich_help_panel=ADMINISTER)
app.add_typer(licences.app, name="licence", rich_help_panel=ADMINISTER)
app.add_typer(peers.app, name="peer", rich_help_panel=ADMINISTER)
app.add_typer(crossings.app, name="transfers", rich_help_panel=INSPECT)
app.add_typer(service_certificates.app, name="service", rich_help_panel=ADMINISTER)
app.add_typer(simulation.app, name="simulate", rich_help_panel=INSPECT)
app.add_typer(conformance.app, name="conformance", rich_help_panel=INSPECT)
app.add_typer(verification.app, name="verify", rich_help_panel=INSPECT)
