"""`support`: tickets of the developer at the support of the registry, and reports about agents."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from .callers import Caller, as_developer
from .options import AsJson, Key, ProfileName, examples

if TYPE_CHECKING:
    from hansa_client.records.support import Ticket, TicketRow

app = typer.Typer(help="Write to the support of the registry; report an agent.", no_args_is_help=True)

TicketId = Annotated[str, typer.Argument(help="Id of the ticket, as `list` shows it.")]
Text = Annotated[str, typer.Argument(help="The text; never a secret.")]


@app.command(
    "open", epilog=examples('hansa-client support open "No units arrived" "Since noon." --category payment')
)
@as_developer
def open_ticket(
    own: Caller,
    subject: Annotated[str, typer.Argument(help="The subject, 3 to 150 characters.")],
    body: Text,
    *,
    category: Annotated[
        Literal["account", "payment", "dispute", "agent", "federation", "security", "other"],
        typer.Option(help="The category."),
    ] = "other",
    about: Annotated[str | None, typer.Option(help="DID of an own agent that it is about.")] = None,
    related_type: Annotated[
        Literal["contract", "dispute", "token", "transaction", "organization"] | None,
        typer.Option(help="Kind of the thing that it is about."),
    ] = None,
    related_id: Annotated[str | None, typer.Option(help="Number or id of that thing.")] = None,
    key: Key = None,
) -> None:
    """Open a ticket."""
    if (related_type is None) != (related_id is None):
        raise typer.BadParameter("--related-type and --related-id are given together")
    related = None if related_type is None or related_id is None else (related_type, related_id)
    _show(
        own,
        own.registry.support.open(
            subject, body, category=category, agent_did=about, related=related, key=key
        ),
    )


@app.command("list", epilog=examples("hansa-client support list", "hansa-client support list --status open"))
@as_developer
def list_tickets(
    own: Caller,
    *,
    status: Annotated[
        Literal["open", "waiting_for_user", "resolved", "closed"] | None, typer.Option(help="The status.")
    ] = None,
    text: Annotated[str | None, typer.Option(help="Text in the subject, or a number such as T-12.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=200, help="How many at most.")] = 50,
    after: Annotated[str | None, typer.Option(help="The cursor of the page before, from --json.")] = None,
) -> None:
    """List own tickets, newest first."""
    from .opening import show

    page = own.registry.support.list(status=status, text=text, limit=limit, next=after)
    show("\n".join(map(_line, page.tickets)) or "No tickets.", page, as_json=own.as_json)


@app.command("show", epilog=examples("hansa-client support show 5f0c1d2e-0000-4000-8000-000000000000"))
@as_developer
def show_ticket(own: Caller, ticket: TicketId) -> None:
    """Show a ticket with its messages."""
    _show(own, own.registry.support.read(ticket))


@app.command(
    "reply", epilog=examples('hansa-client support reply 5f0c1d2e-0000-4000-8000-000000000000 "It works."')
)
@as_developer
def reply(own: Caller, ticket: TicketId, body: Text, *, key: Key = None) -> None:
    """Write a message in an open ticket."""
    _show(own, own.registry.support.reply(ticket, body, key=key))


@app.command("close", epilog=examples("hansa-client support close 5f0c1d2e-0000-4000-8000-000000000000"))
@as_developer
def close_ticket(own: Caller, ticket: TicketId, *, key: Key = None) -> None:
    """Close a ticket."""
    _show(own, own.registry.support.close(ticket, key=key))


@app.command("reopen", epilog=examples("hansa-client support reopen 5f0c1d2e-0000-4000-8000-000000000000"))
@as_developer
def reopen_ticket(own: Caller, ticket: TicketId, *, key: Key = None) -> None:
    """Open a ticket again that is resolved, or that closed at most 14 days ago."""
    _show(own, own.registry.support.reopen(ticket, key=key))


@app.command(
    "report",
    epilog=examples(
        'hansa-client support report did:hansa:a.example:… --reason Impersonation "It uses our name."'
    ),
)
def report_agent(
    did: Annotated[str, typer.Argument(help="DID of the agent.")],
    body: Text,
    *,
    reason: Annotated[str, typer.Option(help="The reason, 3 to 150 characters.")],
    email: Annotated[str | None, typer.Option(help="Address for the support; nothing is sent to it.")] = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Report an agent to the support of the registry, without a login."""
    from .opening import as_anyone, show

    with as_anyone(profile) as registry:
        accepted = registry.support.report(did, reason, body, email=email)
        show("The report is accepted.", accepted, as_json=as_json)


def _show(own: Caller, ticket: "Ticket") -> None:
    from .opening import show

    lines = [
        _line(ticket),
        ticket.body,
        *(f"{one.created_at.isoformat()}  {one.by}: {one.body}" for one in ticket.messages),
    ]
    show("\n".join(lines), ticket, as_json=own.as_json)


def _line(ticket: "TicketRow") -> str:
    return f"{ticket.number}  {ticket.status}  {ticket.category}  {ticket.subject}  {ticket.id}"
