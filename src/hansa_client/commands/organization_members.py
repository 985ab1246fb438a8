"""`org`: members and invitations."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from .callers import Caller, as_developer
from .options import Key, Limit, OrganizationName, examples
from .organization_teams import app
from .organizations import DeveloperId

if TYPE_CHECKING:
    from hansa_client.records.organizations import ChangedMember, OrganizationRequest

__all__ = ["app"]

RoleName = Literal["viewer", "member", "admin", "owner"]
InvitedRole = Literal["viewer", "member", "admin"]
TOKEN_VARIABLE = "HANSA_CLIENT_INVITATION"  # noqa: S105


@app.command("members", epilog=examples("hansa-client org members guild"))
@as_developer
def list_members(
    own: Caller,
    organization: OrganizationName,
    *,
    limit: Annotated[int, typer.Option(min=1, max=500, help="How many at most.")] = 100,
) -> None:
    """List the members, the owners first."""
    from .opening import show

    page = own.registry.organizations.members(organization, limit=limit)
    lines = [
        f"{one.developer_id}  {one.role}  {one.name or '-'}  {','.join(one.teams)}".rstrip()
        for one in page.items
    ]
    show("\n".join(lines), page, as_json=own.as_json)


@app.command("role", epilog=examples("hansa-client org role guild 7 admin"))
@as_developer
def change_role(
    own: Caller,
    organization: OrganizationName,
    developer: DeveloperId,
    role: Annotated[RoleName, typer.Argument(help="The new role.")],
) -> None:
    """Give a member another role; a change of owners becomes a request where other owners must agree."""
    changed = own.registry.organizations.change_member(organization, developer, role)
    _show_changed(changed, as_json=own.as_json)


@app.command("remove", epilog=examples("hansa-client org remove guild 7"))
@as_developer
def remove_member(
    own: Caller,
    organization: OrganizationName,
    developer: DeveloperId,
) -> None:
    """End a membership, also the own one; to remove an owner becomes a request where other owners must agree."""
    _show_changed(own.registry.organizations.remove_member(organization, developer), as_json=own.as_json)


@app.command("invite", epilog=examples("hansa-client org invite guild ann@example.org --role admin"))
@as_developer
def invite(
    own: Caller,
    organization: OrganizationName,
    email: Annotated[str, typer.Argument(help="Address that gets the token.")],
    *,
    role: Annotated[InvitedRole, typer.Option(help="Role that is offered.")] = "member",
    team: Annotated[
        list[str] | None, typer.Option(help="Slug of a team to join, once for each team.")
    ] = None,
    key: Key = None,
) -> None:
    """Invite an address by mail, as an admin; a pending invitation of the address ends.

    It becomes a request where others must agree.
    """
    from hansa_client.records.organizations import SentInvitation

    from .opening import show
    from .treasury import show_request

    known = {one.slug: one.id for one in own.registry.organizations.teams(organization).items if team}
    if unknown := [one for one in team or () if one not in known]:
        raise ValueError(f"{organization} has no team {unknown[0]}")
    sent = own.registry.organizations.invite(
        organization, email, role=role, team_ids=[known[one] for one in team or ()], key=key
    )
    if isinstance(sent, SentInvitation):
        until = sent.expires_at.isoformat(timespec="seconds")
        show(f"{sent.invitation_id}  {email}  good until {until}", sent, as_json=own.as_json)
    else:
        show_request(sent, as_json=own.as_json)


@app.command("invitations", epilog=examples("hansa-client org invitations guild"))
@as_developer
def list_invitations(
    own: Caller,
    organization: OrganizationName,
    *,
    limit: Limit = 50,
) -> None:
    """List the pending invitations, as an admin."""
    from .opening import show

    page = own.registry.organizations.invitations(organization, limit=limit)
    lines = [f"{one.invitation_id}  {one.role}  {one.email}" for one in page.items]
    show("\n".join(lines) or "No invitations.", page, as_json=own.as_json)


@app.command(
    "revoke-invitation",
    epilog=examples("hansa-client org revoke-invitation guild 5f0c1d2e-0b1a-4c3d-8e9f-001122334455"),
)
@as_developer
def revoke_invitation(
    own: Caller,
    organization: OrganizationName,
    invitation: Annotated[str, typer.Argument(help="Id of the invitation, as `org invitations` shows it.")],
) -> None:
    """Revoke a pending invitation, as an admin."""
    from .opening import show

    revoked = own.registry.organizations.revoke_invitation(organization, invitation)
    show(f"{invitation}  revoked", revoked, as_json=own.as_json)


@app.command("my-invitations", epilog=examples("hansa-client org my-invitations"))
@as_developer
def list_own_invitations(own: Caller, *, limit: Limit = 50) -> None:
    """List the pending invitations to the developer's address; their tokens are in the mails alone."""
    from .opening import show

    page = own.registry.organizations.own_invitations(limit=limit)
    lines = [
        f"{one.organization.slug}  {one.role}  until {one.expires_at.isoformat(timespec='seconds')}"
        for one in page.items
    ]
    show("\n".join(lines) or "No invitations.", page, as_json=own.as_json)


@app.command("accept", epilog=examples("hansa-client org accept"))
@as_developer
def accept(own: Caller, *, key: Key = None) -> None:
    """Become a member by the token of a mail, which is read from HANSA_CLIENT_INVITATION or the terminal; it takes a login."""
    from .login import typed_secret
    from .opening import show

    joined = own.registry.organizations.accept(typed_secret(TOKEN_VARIABLE, "Token of the mail"), key=key)
    show(f"{joined.slug}  {joined.role}", joined, as_json=own.as_json)


@app.command("decline", epilog=examples("hansa-client org decline"))
@as_developer
def decline(own: Caller, *, key: Key = None) -> None:
    """Decline an invitation by the token of a mail, read as by `accept`; it takes a login."""
    from .login import typed_secret
    from .opening import show

    declined = own.registry.organizations.decline(typed_secret(TOKEN_VARIABLE, "Token of the mail"), key=key)
    show(f"{declined.slug}  declined", declined, as_json=own.as_json)


def _show_changed(changed: "ChangedMember | OrganizationRequest", *, as_json: bool) -> None:
    from hansa_client.records.organizations import ChangedMember

    from .opening import show
    from .treasury import show_request

    if not isinstance(changed, ChangedMember):
        show_request(changed, as_json=as_json)
        return
    lines = [
        f"{changed.developer_id}  {changed.role or 'no member any more'}",
        *(f"rotate the secret of {did}" for did in changed.secrets_to_rotate),
    ]
    show("\n".join(lines), changed, as_json=as_json)
