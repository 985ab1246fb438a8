"""`hansa simulate`: prices of known attacks under the present settings."""

from typing import TYPE_CHECKING, Annotated

import typer

from hansa.doors.commands.execution import fail, print_outcome, run_act, settings_from
from hansa.doors.commands.options import AsJson, DataDir, examples

if TYPE_CHECKING:
    from hansa.doors.simulation import Outcome
    from hansa.foundation.plumbing.settings import Settings

app = typer.Typer(
    help="Play known attacks under the present settings; print their costs and gains.", no_args_is_help=True
)

Tries = Annotated[
    int, typer.Option(min=3, max=100_000, help="Spreads of fees tried for each attack and grade.")
]


@app.command(epilog=examples("hansa simulate forging", "hansa simulate forging --tries 6000 --json"))
def forging(tries: Tries = 600, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Search for the least fees that forge each grade of a score."""
    from hansa.doors import simulation

    _print(simulation.forged_scores(_in_force(data_dir), tries), as_json=as_json)


@app.command(epilog=examples("hansa simulate pools", "hansa simulate pools --reserve 250000"))
def pools(
    reserve: Annotated[str, typer.Option(help="Units in each reserve of the pool.")] = "10000",
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Play sandwiches, a round trip and a drain against a pool of two currencies."""
    from hansa.doors import simulation
    from hansa.foundation.values.money import NotAnAmount, parse_positive

    try:
        held = parse_positive(reserve)
    except NotAnAmount as error:
        fail(f"--reserve {reserve!r} is invalid: {error}.")
    _print(simulation.pools.outcome(_in_force(data_dir), held), as_json=as_json)


@app.command(epilog=examples("hansa simulate reputation"))
def reputation(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Compute the price of each mark, of a return after a lost dispute, and the grants of new owners."""
    from hansa.doors import simulation

    _print(simulation.reputation.outcome(_in_force(data_dir)), as_json=as_json)


def _in_force(data_dir: DataDir) -> "Settings":
    """The settings, with the governed values that are in force where there is a registry."""
    from hansa.doors import offline_commands

    return run_act(offline_commands.settings_in_force(settings_from(data_dir=data_dir)))


def _print(outcome: "Outcome", *, as_json: bool) -> None:
    print_outcome(outcome.markdown(), {"tables": outcome.as_json()}, as_json=as_json)
