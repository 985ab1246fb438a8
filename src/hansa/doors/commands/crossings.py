"""`hansa transfers`: transfers between registries as operators see them."""

from typing import TYPE_CHECKING, Annotated

import typer

from hansa.doors.commands.execution import fail, print_outcome, run_act, settings_from
from hansa.doors.commands.options import AsJson, DataDir, examples

if TYPE_CHECKING:
    from hansa.rooms import ledger
    from hansa.rooms.transfers import UndecidedTransfer

TX_DIGITS_MAX = 18

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


@app.command(epilog=examples("hansa transfers unclaimed", "hansa transfers unclaimed --json"))
def unclaimed(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List units that came for agents that had ended, from other registries or for their points, the oldest first."""
    from hansa.doors import offline_commands

    settings = settings_from(data_dir=data_dir)
    found = [
        _unclaimed(one, settings.settlement_currency)
        for one in run_act(offline_commands.unclaimed_units(settings))
    ]
    line = "{transaction_id}: {amount} {currency} for {closed_did}, from {counterparty}, since {since}"
    lines = "\n".join(line.format(**one) for one in found)
    print_outcome(lines or "no units are unclaimed", {"unclaimed": found}, as_json=as_json)


@app.command(epilog=examples("hansa transfers claim tx-17 --to did:hansa:a.example:… --ref ticket-12"))
def claim(
    transaction_id: Annotated[str, typer.Argument(help="A transaction of `hansa transfers unclaimed`.")],
    to: Annotated[str, typer.Option(help="DID of an agent of this registry that has the same owner.")],
    ref: Annotated[str, typer.Option(help="Reference, kept in the audit log and with the transaction.")],
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Pay units of a closed account to another account of its owner, once; also works while the registry runs."""
    from hansa.doors import offline_commands

    number = transaction_id.removeprefix("tx-")
    if not number.isascii() or not number.isdigit() or len(number) > TX_DIGITS_MAX:
        fail(f"{transaction_id!r} is no transaction; it must be written as tx-17.")
    settings = settings_from(data_dir=data_dir)
    paid = run_act(offline_commands.claim_unclaimed(settings, int(number), to, ref))
    shown = {**_unclaimed(paid, settings.settlement_currency), "paid_to": to}
    print_outcome(
        "{amount} {currency} of {transaction_id} paid to {paid_to}".format(**shown), shown, as_json=as_json
    )


def _unclaimed(units: "ledger.UnclaimedUnits", currency: str) -> dict[str, object]:
    from hansa.foundation.values.money import format_amount

    return {
        "transaction_id": f"tx-{units.tx_id}",
        "transfer_id": units.transfer_id,
        "closed_did": units.closed_did,
        "counterparty": units.counterparty,
        "amount": format_amount(units.amount),
        "currency": currency,
        "since": units.recorded_at.isoformat(timespec="seconds"),
    }


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
