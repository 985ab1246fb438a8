"""`hansa conformance`: black-box suites for any implementation, over HTTP."""

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from hansa.doors.commands.execution import FAILED, USAGE_ERROR, fail, print_outcome
from hansa.doors.commands.options import AsJson, examples
from hansa.doors.commands.verdicts import readable_sources

if TYPE_CHECKING:
    from hansa.doors.conformance import Report

app = typer.Typer(
    help="Test an implementation by the rules of a suite; needs no database.", no_args_is_help=True
)

PAYER_VARIABLE, PAYEE_VARIABLE = "CONFORMANCE_PAYER_TOKEN", "CONFORMANCE_PAYEE_TOKEN"

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


@app.command(
    epilog=examples(
        "hansa conformance payments https://registry.example.org --payer-token payer.token --payee-token payee.token",
        "hansa conformance payments https://registry.example.org --wait-for-expiry --json",
    )
)
def payments(
    url: Address,
    *,
    payer_token: Annotated[
        Path | None,
        typer.Option(
            help=f"File with the bearer token of the payer; default: the variable {PAYER_VARIABLE}."
        ),
    ] = None,
    payee_token: Annotated[
        Path | None,
        typer.Option(
            help=f"File with the bearer token of the payee; default: the variable {PAYEE_VARIABLE}."
        ),
    ] = None,
    amount: Annotated[str, typer.Option(help="Units of each of the three payments.")] = "0.01",
    wait_for_expiry: Annotated[
        bool, typer.Option("--wait-for-expiry", help="Wait a minute until a token has expired.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Test payments for calls; three are paid. Exit 0: every rule holds; 1: one is broken; 2: it cannot be reached."""
    from hansa.doors.conformance import Parties, conformance

    if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,8})?", amount) is None or not amount.strip("0."):
        fail(f"--amount must be a decimal string greater than 0, got {amount!r}", USAGE_ERROR)
    bearers = _bearer(payer_token, PAYER_VARIABLE), _bearer(payee_token, PAYEE_VARIABLE)
    with readable_sources():
        report = conformance("payments", url, Parties(*bearers, amount, wait_for_expiry))
    _answer(report, as_json=as_json)


def _bearer(file: Path | None, variable: str) -> str:
    """The token in the file, or in the variable: the list of processes shows the command line to others."""
    try:
        token = os.environ.get(variable, "") if file is None else file.read_text("ascii")
    except (OSError, UnicodeError):
        fail(f"{file} cannot be read as a bearer token.", USAGE_ERROR)
    if re.fullmatch(r"[!-~]+", token.strip()) is None:
        fail(f"a bearer token is required: set {variable} or name a file.", USAGE_ERROR)
    return token.strip()


def _answer(report: "Report", *, as_json: bool) -> NoReturn:
    print_outcome(report.text(), report.members(), as_json=as_json)
    sys.exit(0 if report.conforms else FAILED)
