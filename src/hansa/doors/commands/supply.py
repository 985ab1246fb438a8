"""`hansa mint` and `hansa burn`: the supply of units."""

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hansa.doors.commands.execution import fail, print_outcome, run_act, settings_from
from hansa.doors.commands.options import ADMINISTER, AsJson, DataDir, examples

if TYPE_CHECKING:
    from hansa.foundation.plumbing.settings import Settings
    from hansa.foundation.values.money import Minor
    from hansa.rooms import ledger

app = typer.Typer()


@app.command(rich_help_panel=ADMINISTER, epilog=examples("hansa mint --amount 1000 --ref board-2026-07"))
def mint(
    amount: Annotated[str, typer.Option(help="Units to issue, such as 1000 or 0.5.")],
    ref: Annotated[str, typer.Option(help="Reference for this issue; each reference can be used once.")],
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Issue units to the treasury; also works while the registry runs."""
    from hansa.doors import offline_commands

    _change_supply(
        offline_commands.mint, "issued", amount, ref, settings_from(data_dir=data_dir), as_json=as_json
    )


@app.command(rich_help_panel=ADMINISTER, epilog=examples("hansa burn --amount 1000 --ref board-2026-07"))
def burn(
    amount: Annotated[str, typer.Option(help="Units to destroy, such as 1000 or 0.5.")],
    ref: Annotated[str, typer.Option(help="Reference for this burn; each reference can be used once.")],
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Destroy units of the treasury permanently; also works while the registry runs."""
    from hansa.doors import offline_commands

    _change_supply(
        offline_commands.burn, "destroyed", amount, ref, settings_from(data_dir=data_dir), as_json=as_json
    )


def _change_supply(
    act: "Callable[[Settings, Minor, str], Coroutine[Any, Any, ledger.SupplyChange]]",
    done: str,
    amount: str,
    ref: str,
    settings: "Settings",
    *,
    as_json: bool,
) -> None:
    from hansa.foundation.values.money import NotAnAmount, format_amount, parse_positive

    try:
        asked = parse_positive(amount)
    except NotAnAmount as error:
        fail(f"--amount {amount!r} is invalid: {error}.")
    changed = run_act(act(settings, asked, ref))
    shown = {
        "transaction_id": f"tx-{changed.tx_id}",
        "ref": ref,
        "amount": format_amount(changed.amount),
        "currency": settings.settlement_currency,
        "supply": format_amount(changed.supply),
    }
    sentence = "{transaction_id}: {amount} {currency} {done}, the supply is {supply}".format(
        **shown, done=done
    )
    print_outcome(sentence, shown, as_json=as_json)
