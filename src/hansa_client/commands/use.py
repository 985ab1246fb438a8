"""`find`, `balance`, `send`, `send-many` and `events`: acts of an agent at a registry."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from .options import USE, AgentName, AsJson, Key, ProfileName, examples

app = typer.Typer()


@app.command(rich_help_panel=USE, epilog=examples("hansa-client find translate contracts --pricing paid"))
def find(
    words: Annotated[list[str], typer.Argument(help="Words of names, descriptions, skills and tags.")],
    *,
    pricing: Annotated[
        Literal["free", "paid"] | None, typer.Option(help="Only free or only paid agents.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=120, help="How many at most.")] = 10,
    url: Annotated[str | None, typer.Option(help="Another registry than that of the profile.")] = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Find agents, best match first."""
    from .opening import as_anyone, show

    with as_anyone(profile, url) as registry:
        found = registry.discovery.find(" ".join(words), pricing=pricing, limit=limit)
        lines = [
            f"{one.name}  {f'{one.price} {one.settlement_currency}' if one.price else 'free'}  {one.did or one.card_id}"
            for one in found.results
        ]
        show("\n".join(lines) or "No agents found.", found, as_json=as_json)


@app.command(rich_help_panel=USE, epilog=examples("hansa-client balance --agent Painter"))
def balance(*, agent: AgentName = None, profile: ProfileName = None, as_json: AsJson = False) -> None:
    """Show what the agent can spend."""
    from .opening import as_agent, show

    with as_agent(profile, agent) as registry:
        held = registry.transfers.balance()
        show(format(held.balance, "f"), held, as_json=as_json)


@app.command(
    rich_help_panel=USE,
    epilog=examples("hansa-client send did:hansa:hansa.local:1b4e28ba-2fa1-41d2-883f-0016d3cca427 12.5"),
)
def send(
    receiver: Annotated[str, typer.Argument(help="DID of the receiver.")],
    amount: Annotated[str, typer.Argument(help="Amount, such as 12.5; the fee is added on top.")],
    *,
    message: Annotated[str | None, typer.Option(help="Up to 256 characters for the receiver.")] = None,
    key: Key = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show route and fee; move nothing.")] = False,
    agent: AgentName = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Send units to an agent of any registry."""
    from hansa_client.calls import new_key

    from . import opening

    with opening.as_agent(profile, agent) as registry:
        key = new_key() if key is None else key
        if dry_run:
            planned = registry.transfers.plan(receiver, amount)
            opening.show(
                f"{planned.method}, fee {planned.fee_amount} {planned.currency_sent}. {planned.detail}",
                planned,
                as_json=as_json,
            )
            return
        with opening.under_key(key):
            sent = registry.transfers.send(receiver, amount, message=message, key=key)
        opening.show(
            f"Sent {amount} {sent.currency_sent}, fee {sent.fee_amount}; {sent.new_sender_balance} left.",
            sent,
            as_json=as_json,
        )


@app.command("send-many", rich_help_panel=USE, epilog=examples("hansa-client send-many wages.json --atomic"))
def send_many(
    file: Annotated[
        Path, typer.Argument(help="JSON list of {receiver_did, amount, key, message?}; at most 500 lines.")
    ],
    *,
    atomic: Annotated[bool, typer.Option("--atomic", help="Carry out all lines or none.")] = False,
    agent: AgentName = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Send units to many agents of this registry; run again with the same keys, each line moves units once."""
    from hansa_client.records.ledger import TransferLine

    from .opening import as_agent, read_json_file, show

    with as_agent(profile, agent) as registry:
        lines = read_json_file(file, list[TransferLine])
        sent = registry.transfers.transfer_many(lines, atomic=atomic)
        shown = [f"{sent.completed} completed, {sent.refused} refused"]
        shown += [f"{one.key}  {one.error.code}  {one.error.detail}" for one in sent.items if one.error]
        show("\n".join(shown), sent, as_json=as_json)


@app.command(rich_help_panel=USE, epilog=examples("hansa-client events --follow --json"))
def events(
    *,
    follow: Annotated[
        bool, typer.Option("--follow", help="Go on with what happens from now on; ends with Ctrl-C.")
    ] = False,
    after: Annotated[
        str | None, typer.Option(help="Only what follows this position, which --json prints with each event.")
    ] = None,
    agent: AgentName = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Show what happened to the agent, the oldest first; with --json one event per line."""
    from .following import follow_on
    from .opening import as_agent
    from .printing import print_event

    with as_agent(profile, agent) as registry:
        if follow:
            with registry.events.follow(after=after) as following:
                follow_on(following, as_json=as_json)
        page = registry.events.page(after=after)
        while True:
            for event in page.items:
                print_event(event, as_json=as_json)
            if page.is_last:
                return
            page = registry.events.page(after=page.position)
