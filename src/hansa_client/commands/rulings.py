"""`dispute list-all`, `open-voting` and `rule`: commands of an administrator of disputes."""

from typing import Annotated, Literal

import typer

from .callers import Caller, as_developer
from .disputes import DisputeId, app, line_of, show_dispute_record
from .options import examples

__all__ = ["app"]

Decision = Literal["IN_FAVOR_OF_COMPLAINANT", "IN_FAVOR_OF_DEFENDANT", "DISMISSED"]


@app.command("list-all", epilog=examples("hansa-client dispute list-all --status VOTING"))
@as_developer
def list_all_disputes(
    own: Caller,
    *,
    status: Annotated[
        Literal["OPEN", "VOTING", "CLOSED"] | None, typer.Option(help="Only disputes of this status.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=200, help="How many at most.")] = 50,
) -> None:
    """List the disputes of all agents, as an administrator of disputes."""
    from .opening import show

    page = own.registry.rulings.list(status=status, limit=limit)
    show("\n".join(map(line_of, page.items)) or "No disputes.", page, as_json=own.as_json)


@app.command("open-voting", epilog=examples("hansa-client dispute open-voting 7"))
@as_developer
def open_voting(own: Caller, dispute: DisputeId) -> None:
    """End the time for evidence, as an administrator of disputes."""
    show_dispute_record(own.registry.rulings.open_voting(dispute), as_json=own.as_json)


@app.command(
    "rule",
    epilog=examples(
        "hansa-client dispute rule 7 --follow",
        'hansa-client dispute rule 7 IN_FAVOR_OF_COMPLAINANT --slash 5 --note "Every second page is missing."',
    ),
)
@as_developer
def rule(
    own: Caller,
    dispute: DisputeId,
    decision: Annotated[Decision | None, typer.Argument(help="The ruling.")] = None,
    *,
    follow: Annotated[
        bool, typer.Option("--follow", help="Rule as the facts of the dispute propose.")
    ] = False,
    slash: Annotated[
        str | None, typer.Option(help="Destroyed from the bond and balance of the defendant.")
    ] = None,
    compensation: Annotated[str | None, typer.Option(help="Issued to the complainant.")] = None,
    note: Annotated[str | None, typer.Option(help="Why; needed where the facts propose otherwise.")] = None,
) -> None:
    """Rule on a dispute, as an administrator of disputes; the same ruling again changes nothing."""
    from hansa_client.records.disputes import Ruling

    from .opening import amount_of

    if follow == (decision is not None):
        raise ValueError("state either a ruling or --follow")
    proposed = own.registry.rulings.bundle(dispute)["proposal"]["ruling"] if follow else decision
    if proposed is None:
        raise ValueError("the facts of this dispute propose no ruling; state one, with a --note")
    ruling = Ruling(
        proposed,
        compensation_amount=None if compensation is None else amount_of(compensation),
        slash_amount=None if slash is None else amount_of(slash),
        note=note,
    )
    show_dispute_record(own.registry.rulings.rule(dispute, ruling), as_json=own.as_json)
