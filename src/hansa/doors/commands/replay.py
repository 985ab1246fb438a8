"""`hansa replay`: a recorded period with other parameters."""

from typing import Annotated

import typer

from hansa.doors.commands.execution import fail, failures_in_one_line, print_outcome, run_act, settings_from
from hansa.doors.commands.options import INSPECT, AsJson, DataDir, examples

app = typer.Typer()


@app.command(
    rich_help_panel=INSPECT,
    epilog=examples(
        "hansa replay --from 1",
        "hansa replay --from 4711 --to 9000 --with fee_base_rate_percent=0.3,fee_max_rate_percent=4 --json",
    ),
)
def replay(
    first: Annotated[int, typer.Option("--from", metavar="SEQ", help="Sequence number of the first event.")],
    last: Annotated[
        int | None,
        typer.Option(
            "--to",
            metavar="SEQ",
            help="Sequence number of the last event; without it the newest.",
            show_default=False,
        ),
    ] = None,
    changed: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="NAME=VALUE,...",
            help="Parameters of the replay, by the names that governance uses.",
            show_default=False,
        ),
    ] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Recompute a period of the journal with other parameters; print the differences by account and in total.

    The registry is only read. The engine of the ledger works on a scratch database, a server of its own that ends with the command.
    """
    import asyncio

    from hansa.doors import replay as replaying

    settings = settings_from(data_dir=data_dir)
    with failures_in_one_line():
        changes = replaying.changes_of(changed or [])
    try:
        report = run_act(replaying.replay(settings, replaying.ReplayRequest(first, last, changes)))
    except asyncio.CancelledError:
        fail("the replay was interrupted; its scratch database is removed")
    print_outcome(report.markdown(), report.as_json(), as_json=as_json)
