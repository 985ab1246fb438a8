"""`hansa conformance`: black-box suites for any implementation, over HTTP."""

import sys
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from hansa.doors.commands.execution import FAILED, print_outcome
from hansa.doors.commands.options import AsJson, examples
from hansa.doors.commands.verdicts import readable_sources

if TYPE_CHECKING:
    from hansa.doors.conformance import Report

app = typer.Typer(
    help="Test an implementation by the rules of a suite; needs no database.", no_args_is_help=True
)

Address = Annotated[str, typer.Argument(metavar="URL", help="Address of the implementation.")]


@app.command(epilog=examples("hansa conformance card https://registry.example.org"))
def card(url: Address, as_json: AsJson = False) -> None:
    """Test the registry card of an implementation. Exit 0: every rule holds; 1: one is broken; 2: it cannot be reached."""
    from hansa.doors.conformance import conformance

    with readable_sources():
        report = conformance("card", url)
    _answer(report, as_json=as_json)


@app.command(epilog=examples("hansa conformance attestations https://registry.example.org"))
def attestations(url: Address, as_json: AsJson = False) -> None:
    """Test the supply attestations of an implementation. Exit 0: every rule holds; 1: one is broken; 2: it cannot be reached."""
    from hansa.doors.conformance import conformance

    with readable_sources():
        report = conformance("attestations", url)
    _answer(report, as_json=as_json)


def _answer(report: "Report", *, as_json: bool) -> NoReturn:
    print_outcome(report.text(), report.members(), as_json=as_json)
    sys.exit(0 if report.conforms else FAILED)
