"""`org`: teams, and their places."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from .callers import Caller, as_developer
from .options import Key, OrganizationName, examples
from .organizations import AgentDid, DeveloperId, app

if TYPE_CHECKING:
    from hansa_client.records.organizations import Team

__all__ = ["app"]

TeamSlug = Annotated[str, typer.Argument(help="Slug of the team.")]
GrantName = Annotated[
    Literal["read", "operate", "manage"], typer.Option("--grant", help="Right of its members at its agents.")
]


@app.command("teams", epilog=examples("hansa-client org teams guild"))
@as_developer
def list_teams(own: Caller, organization: OrganizationName) -> None:
    """List the teams."""
    from .opening import show

    page = own.registry.organizations.teams(organization)
    show("\n".join(map(_line, page.items)) or "No teams.", page, as_json=own.as_json)


@app.command("create-team", epilog=examples("hansa-client org create-team guild editors --grant operate"))
@as_developer
def create_team(
    own: Caller,
    organization: OrganizationName,
    team: TeamSlug,
    *,
    grant: GrantName,
    key: Key = None,
) -> None:
    """Create a team, as an admin."""
    from .opening import show

    made = own.registry.organizations.create_team(organization, team, grant, key=key)
    show(_line(made), made, as_json=own.as_json)


@app.command("change-team", epilog=examples("hansa-client org change-team guild editors --grant manage"))
@as_developer
def change_team(
    own: Caller,
    organization: OrganizationName,
    team: TeamSlug,
    *,
    grant: GrantName,
) -> None:
    """Change the right of a team, as an admin."""
    from .opening import show

    changed = own.registry.organizations.change_team(organization, team, grant)
    show(_line(changed), changed, as_json=own.as_json)


@app.command("delete-team", epilog=examples("hansa-client org delete-team guild editors"))
@as_developer
def delete_team(
    own: Caller,
    organization: OrganizationName,
    team: TeamSlug,
) -> None:
    """Delete a team, as an admin."""
    from .opening import show

    deleted = own.registry.organizations.delete_team(organization, team)
    show(f"{team}  deleted", deleted, as_json=own.as_json)


@app.command("add-member", epilog=examples("hansa-client org add-member guild editors 7"))
@as_developer
def add_member(
    own: Caller,
    organization: OrganizationName,
    team: TeamSlug,
    developer: DeveloperId,
) -> None:
    """Give a member a place in a team, as an admin; it becomes a request where others must agree."""
    from .treasury import show_request

    asked = own.registry.organizations.add_to_team(organization, team, developer)
    if asked is None:
        _show_place(team, f"developer:{developer}", is_held=True, as_json=own.as_json)
    else:
        show_request(asked, as_json=own.as_json)


@app.command("remove-member", epilog=examples("hansa-client org remove-member guild editors 7"))
@as_developer
def remove_member_from_team(
    own: Caller,
    organization: OrganizationName,
    team: TeamSlug,
    developer: DeveloperId,
) -> None:
    """Take the place of a member in a team away, as an admin."""
    own.registry.organizations.remove_from_team(organization, team, developer)
    _show_place(team, f"developer:{developer}", is_held=False, as_json=own.as_json)


@app.command(
    "add-agent", epilog=examples("hansa-client org add-agent guild editors did:hansa:registry.example:1")
)
@as_developer
def add_agent(
    own: Caller,
    organization: OrganizationName,
    team: TeamSlug,
    agent: AgentDid,
) -> None:
    """Give a team its right at an agent of the organization, as an admin."""
    own.registry.organizations.add_agent_to_team(organization, team, agent)
    _show_place(team, agent, is_held=True, as_json=own.as_json)


@app.command(
    "remove-agent",
    epilog=examples("hansa-client org remove-agent guild editors did:hansa:registry.example:1"),
)
@as_developer
def remove_agent(
    own: Caller,
    organization: OrganizationName,
    team: TeamSlug,
    agent: AgentDid,
) -> None:
    """Take the right of a team at an agent away, as an admin."""
    own.registry.organizations.remove_agent_from_team(organization, team, agent)
    _show_place(team, agent, is_held=False, as_json=own.as_json)


def _line(team: "Team") -> str:
    return f"{team.slug}  {team.grant}  members {len(team.members)}  agents {len(team.agents)}"


def _show_place(team: str, held_by: str, *, is_held: bool, as_json: bool) -> None:
    from .opening import show

    members = {"team": team, "place": held_by, "is_held": is_held}
    show(f"{team}  {'has' if is_held else 'has no longer'}  {held_by}", members, as_json=as_json)
