"""`org`: organizations of the developer, and their agents."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from .callers import Caller, as_developer
from .options import Key, Limit, OrganizationName, examples

if TYPE_CHECKING:
    from hansa_client.records.organizations import EnforcedOrganization, Organization, OwnerAppointment

app = typer.Typer(
    help="Found organizations, and manage their members, teams and agents.", no_args_is_help=True
)

AgentDid = Annotated[str, typer.Argument(help="DID of the agent.")]
DeveloperId = Annotated[int, typer.Argument(min=1, help="Id of the developer, as `org members` shows it.")]
EnforcementReason = Annotated[str, typer.Option(help="Reason, shown only to administrators.")]
VisibilityName = Literal["private", "public"]


@app.command(
    "create",
    epilog=examples('hansa-client org create guild --name "Guild of translators" --visibility public'),
)
@as_developer
def create_organization(
    own: Caller,
    slug: Annotated[str, typer.Argument(help="Name in addresses and of agents (`slug/…`); fixed.")],
    *,
    name: Annotated[str, typer.Option(help="Name that people read.")],
    description: Annotated[str, typer.Option(help="One sentence about it.")] = "",
    visibility: Annotated[VisibilityName, typer.Option(help="Who may read its profile.")] = "private",
    key: Key = None,
) -> None:
    """Found an organization as its owner."""
    made = own.registry.organizations.found(
        slug, name, description=description, visibility=visibility, key=key
    )
    _show(made, as_json=own.as_json)


@app.command("list", epilog=examples("hansa-client org list"))
@as_developer
def list_organizations(own: Caller, *, limit: Limit = 50) -> None:
    """List the developer's organizations."""
    from .opening import show

    page = own.registry.organizations.list(limit=limit)
    show("\n".join(map(_line, page.items)) or "No organizations.", page, as_json=own.as_json)


@app.command("show", epilog=examples("hansa-client org show guild"))
@as_developer
def show_organization(own: Caller, organization: OrganizationName) -> None:
    """Show an own organization, or a public one."""
    _show(own.registry.organizations.read(organization), as_json=own.as_json)


@app.command("change", epilog=examples("hansa-client org change guild --visibility public"))
@as_developer
def change_organization(
    own: Caller,
    organization: OrganizationName,
    *,
    name: Annotated[str | None, typer.Option(help="The new name.")] = None,
    description: Annotated[str | None, typer.Option(help="The new description.")] = None,
    visibility: Annotated[VisibilityName | None, typer.Option(help="Who may read its profile.")] = None,
) -> None:
    """Change name, description or visibility, as an admin."""
    changed = own.registry.organizations.change(
        organization, name=name, description=description, visibility=visibility
    )
    _show(changed, as_json=own.as_json)


@app.command("delete", epilog=examples("hansa-client org delete guild"))
@as_developer
def delete_organization(own: Caller, organization: OrganizationName) -> None:
    """End an organization that has no agents and no units, as an owner; its slug is never used again."""
    from .opening import show

    deleted = own.registry.organizations.delete(organization)
    show(f"{organization}  deleted", deleted, as_json=own.as_json)


@app.command("summary", epilog=examples("hansa-client org summary guild"))
@as_developer
def show_summary(own: Caller, organization: OrganizationName) -> None:
    """Show the sizes of an organization, its balance, and the requests that wait for the developer."""
    from .opening import show

    found = own.registry.organizations.summary(organization)
    counts, held = found.counts, found.balances
    lines = [
        f"members {counts.members}  agents {counts.agents}  teams {counts.teams}",
        f"liquid {held.liquid:f}  staked {held.staked:f}  escrow {held.escrow:f}",
        *(f"waits  {one.request_id}  {one.kind}" for one in found.waiting_for_me),
    ]
    show("\n".join(lines), found, as_json=own.as_json)


@app.command("audit", epilog=examples("hansa-client org audit guild --limit 20"))
@as_developer
def list_acts(
    own: Caller,
    organization: OrganizationName,
    *,
    limit: Limit = 50,
) -> None:
    """List the acts in an organization, newest first, as an admin."""
    from .opening import show

    page = own.registry.organizations.audit(organization, limit=limit)
    lines = [
        f"{one.at.isoformat(timespec='seconds')}  developer:{one.actor}  {one.act}  {one.target}"
        for one in page.items
    ]
    show("\n".join(lines) or "No acts.", page, as_json=own.as_json)


@app.command("agents", epilog=examples("hansa-client org agents guild"))
@as_developer
def list_agents_of_organization(
    own: Caller,
    organization: OrganizationName,
    *,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many at most.")] = 100,
) -> None:
    """List the agents of an organization. `agent create --org` creates one."""
    from .opening import show

    page = own.registry.organizations.agents(organization, limit=limit)
    lines = [f"{one.name}  {one.status}  {one.did}" for one in page.items]
    show("\n".join(lines) or "No agents.", page, as_json=own.as_json)


@app.command("take-in", epilog=examples("hansa-client org take-in guild did:hansa:registry.example:1"))
@as_developer
def take_agent_in(
    own: Caller,
    organization: OrganizationName,
    agent: AgentDid,
    *,
    key: Key = None,
) -> None:
    """Give an own agent to an organization, as an admin; its secret, tokens, capabilities and wallets end."""
    from .opening import show

    taken = own.registry.organizations.take_agent_in(organization, agent, key=key)
    show(f"{taken.name}  {taken.did}  belongs to {organization}", taken, as_json=own.as_json)


@app.command("release", epilog=examples("hansa-client org release guild did:hansa:registry.example:1"))
@as_developer
def release_agent(
    own: Caller,
    organization: OrganizationName,
    agent: AgentDid,
    *,
    key: Key = None,
) -> None:
    """Ask for an agent with an empty account, as an owner; its secret, tokens, capabilities and wallets end."""
    from .treasury import show_request

    show_request(own.registry.organizations.release_agent(organization, agent, key=key), as_json=own.as_json)


@app.command("veto", epilog=examples("hansa-client org veto guild"))
@as_developer
def veto_owner(
    own: Caller,
    organization: OrganizationName,
    *,
    key: Key = None,
) -> None:
    """End the pending appointment of an owner by an administrator, as an owner."""
    _show_appointment(own.registry.organizations.veto(organization, key=key), as_json=own.as_json)


@app.command("appoint", epilog=examples('hansa-client org appoint guild 7 --reason "The owner is lost."'))
@as_developer
def appoint_owner(
    own: Caller,
    organization: OrganizationName,
    developer: DeveloperId,
    *,
    reason: Annotated[str, typer.Option(help="Why, for the members and the audit log.")],
    key: Key = None,
) -> None:
    """Appoint an owner where too few owners can act, as an administrator of support."""
    appointed = own.registry.organizations.appoint_owner(organization, developer, reason, key=key)
    _show_appointment(appointed, as_json=own.as_json)


@app.command("suspend", epilog=examples('hansa-client org suspend guild --reason "Stolen units."'))
@as_developer
def suspend_organization(
    own: Caller,
    organization: OrganizationName,
    *,
    reason: EnforcementReason,
    key: Key = None,
) -> None:
    """Suspend an organization with its treasury and its agents, as an administrator of enforcement."""
    _show_enforcement(own.registry.organizations.suspend(organization, reason, key=key), as_json=own.as_json)


@app.command("reinstate", epilog=examples('hansa-client org reinstate guild --reason "The units are back."'))
@as_developer
def reinstate_organization(
    own: Caller,
    organization: OrganizationName,
    *,
    reason: EnforcementReason,
    key: Key = None,
) -> None:
    """Reinstate an organization, and what its suspension alone suspended, as an administrator of enforcement."""
    _show_enforcement(
        own.registry.organizations.reinstate(organization, reason, key=key), as_json=own.as_json
    )


def _line(organization: "Organization") -> str:
    return f"{organization.slug}  {organization.role or '-'}  {organization.status}  {organization.name}"


def _show(organization: "Organization", *, as_json: bool) -> None:
    from .opening import show

    counts = organization.counts
    lines = [
        _line(organization),
        *filter(None, [organization.description]),
        f"id {organization.id}  {organization.visibility}",
        f"treasury {organization.treasury_did}",
        f"members {counts.members}  agents {counts.agents}  teams {counts.teams}",
    ]
    show("\n".join(lines), organization, as_json=as_json)


def _show_appointment(appointment: "OwnerAppointment", *, as_json: bool) -> None:
    from .opening import show

    at = appointment.effective_at.isoformat(timespec="seconds")
    sentence = f"developer:{appointment.developer_id}  {appointment.status}  takes effect {at}"
    show(sentence, appointment, as_json=as_json)


def _show_enforcement(enforced: "EnforcedOrganization", *, as_json: bool) -> None:
    from .opening import show

    lines = [
        f"{enforced.organization_id}  {enforced.status}",
        *(f"{one.agent_did}  {one.registry}  account {one.teg}" for one in enforced.results),
    ]
    show("\n".join(lines), enforced, as_json=as_json)
