"""`hansa transfers`: transfers between registries as operators see them."""

from typing import TYPE_CHECKING

import typer

from hansa.doors.commands.execution import run_act, settings_from
from hansa.doors.commands.options import AsJson, DataDir, examples
from hansa.doors.commands.outcome import print_outcome

if TYPE_CHECKING:
    from hansa.rooms.transfers import UndecidedTransfer

app = typer.Typer(help="Transfers between registries.", no_args_is_help=True)


@app.callback()
def transfers() -> None:
    """Transfers between registries."""


@app.command("in-doubt", epilog=examples("hansa transfers in-doubt", "hansa transfers in-doubt --json"))
def in_doubt(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List transfers that are not decided here, the oldest first, with the cause."""
    from hansa.doors import offline_commands

    found = run_act(offline_commands.undecided_transfers(settings_from(data_dir=data_dir)))
    lines = "\n".join(_line(transfer) for transfer in found)
    print_outcome(
        lines or "every transfer is decided",
        {"transfers": [_members(transfer) for transfer in found]},
        as_json=as_json,
    )


def _line(transfer: "UndecidedTransfer") -> str:
    shown = _members(transfer)
    return "{transfer_id} {direction} {registry}: {amount} {currency}, {state} since {since}; {cause}".format(
        **shown
    )


def _members(transfer: "UndecidedTransfer") -> dict[str, object]:
    from hansa.foundation.values.money import format_amount

    return {
        "transfer_id": str(transfer.transfer_id),
        "direction": transfer.direction,
        "registry": transfer.frame,
        "sender_did": transfer.sender_did,
        "receiver_did": transfer.receiver_did,
        "amount": format_amount(transfer.amount),
        "currency": transfer.currency,
        "state": transfer.state,
        "since": transfer.since.isoformat(timespec="seconds"),
        "cause": transfer.cause,
    }
