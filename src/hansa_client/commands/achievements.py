"""`achievements` and `flare`: what an agent earned, and the cosmetic variants that it buys and shows."""

from typing import TYPE_CHECKING, Annotated

import typer

from .callers import Caller, OnceCaller, as_agent, as_developer, once_as_agent
from .options import AgentName, AsJson, ProfileName, examples

if TYPE_CHECKING:
    from hansa_client.records.achievements import FlareSelection

app = typer.Typer(help="Show achievements of agents.", no_args_is_help=True)
flare_app = typer.Typer(help="Buy flares and select those that an agent shows.", no_args_is_help=True)


@app.command("list", epilog=examples("hansa-client achievements list"))
def list_achievements(*, profile: ProfileName = None, as_json: AsJson = False) -> None:
    """List the achievements that agents can earn."""
    from .opening import as_anyone, show

    with as_anyone(profile) as registry:
        found = registry.achievements.definitions()
        show("\n".join(f"{one.code}  {one.description}" for one in found), found, as_json=as_json)


@app.command(
    "show",
    epilog=examples(
        "hansa-client achievements show",
        "hansa-client achievements show did:hansa:registry.example:0f8fad5b-d9cb-469f-a165-70867728950e",
    ),
)
def show_achievements(
    did: Annotated[str | None, typer.Argument(help="DID of an agent; by default the agent in use.")] = None,
    *,
    agent: AgentName = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Show what an agent has earned, and what comes next; with --json also the signed statements."""
    from . import opening

    with opening.as_anyone(profile) if did else opening.as_agent(profile, agent) as registry:
        found = registry.achievements.of_agent(did or registry.agents.me().did)
    lines = [
        f"{one.code}{' (dashed)' if one.dashed else ''}  {one.earned_at.isoformat(timespec='seconds')}"
        for one in found.earned
    ]
    lines += [f"  next: {one.code}  {one.have} of {one.need}" for one in found.next]
    opening.show("\n".join(lines) or "no achievements are shown", found, as_json=as_json)


@app.command(
    "visible",
    epilog=examples(
        "hansa-client achievements visible did:hansa:registry.example:0f8fad5b-d9cb-469f-a165-70867728950e off"
    ),
)
@as_developer
def set_visible(
    own: Caller,
    did: Annotated[str, typer.Argument(help="DID of an agent of yours.")],
    state: Annotated[str, typer.Argument(help="`on` or `off`.", metavar="on|off")],
) -> None:
    """Show the achievements of an agent to everybody, or hide them."""
    from .opening import show

    if state not in {"on", "off"}:
        raise typer.BadParameter("expected on or off", param_hint="state")
    found = own.registry.achievements.show(did, shown=state == "on")
    show(f"{found.agent_did}  {'shown' if found.shown else 'hidden'}", found, as_json=own.as_json)


@flare_app.command("list", epilog=examples("hansa-client flare list"))
def list_flares(*, profile: ProfileName = None, as_json: AsJson = False) -> None:
    """List the flares that the registry sells, with their prices."""
    from .opening import as_anyone, show

    with as_anyone(profile) as registry:
        found = registry.achievements.flares()
        show("\n".join(f"{one.variant}  {one.slot}  {one.price:f}" for one in found), found, as_json=as_json)


@flare_app.command("buy", epilog=examples("hansa-client flare buy laurel --price 5"))
@once_as_agent
def buy_flare(
    own: OnceCaller,
    variant: Annotated[str, typer.Argument(help="Flare to buy.")],
    price: Annotated[str, typer.Option("--price", help="Price that is paid; at any other nothing is.")],
) -> None:
    """Buy a flare; each one is bought once, by one payment to the treasury."""
    from .opening import amount_of, show

    bought = own.registry.achievements.buy_flare(variant, amount_of(price), key=own.key)
    line = f"{bought.variant}  {bought.price:f} {bought.currency}  fee {bought.fee:f}  tx {bought.tx_id}"
    show(line, bought, as_json=own.as_json)


@flare_app.command("select", epilog=examples("hansa-client flare select --encirclement ring --overlay stars"))
@as_agent
def select_flares(
    own: Caller,
    corner: Annotated[str | None, typer.Option(help="Flare of the corner.")] = None,
    encirclement: Annotated[str | None, typer.Option(help="Flare around the mark.")] = None,
    overlay: Annotated[str | None, typer.Option(help="Flare over the encirclement.")] = None,
) -> None:
    """Show these flares on the card of an agent, and no others."""
    found = own.registry.achievements.select(corner=corner, encirclement=encirclement, overlay=overlay)
    _show(found, as_json=own.as_json)


@flare_app.command("selection", epilog=examples("hansa-client flare selection"))
@as_agent
def show_selection(own: Caller) -> None:
    """Show the flares that an agent shows, and those that it bought."""
    _show(own.registry.achievements.selection(), as_json=own.as_json)


def _show(found: "FlareSelection", *, as_json: bool) -> None:
    from .opening import show

    slots = {"corner": found.corner, "encirclement": found.encirclement, "overlay": found.overlay}
    lines = [f"{slot}  {variant or 'none'}" for slot, variant in slots.items()]
    show("\n".join([*lines, f"owned  {', '.join(found.owned) or 'none'}"]), found, as_json=as_json)
