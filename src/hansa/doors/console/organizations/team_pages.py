"""Teams of an organization: their grants at its agents, as a matrix, and the members of each."""

from collections.abc import Sequence

import msgspec
from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import Act, Acting, SentForm, SignedIn, SignedInPerson
from hansa.doors.console.api_acts import ApiAnswer, act_as_person
from hansa.foundation.plumbing.process.runtime import Db
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.values.rights import Right
from hansa.rooms import agents, organizations
from hansa.rooms.organizations import Member, Organization, Team

from .pages import LIST, Key, MemberId, held, organization_page, organization_router, outcome

router = organization_router()

AGENTS_SHOWN = 200
GRANTS = [
    (right.name.lower(), right.name.capitalize()) for right in (Right.READ, Right.OPERATE, Right.MANAGE)
]


class Row(msgspec.Struct, frozen=True):
    """An agent with the teams that have each grant at it."""

    agent: agents.OwnedAgent
    teams: Sequence[tuple[str, Sequence[Team]]]


@router.get("/teams")
async def show_teams(organization_id: Key, person: SignedInPerson, request: Request, db: Db) -> HTMLResponse:
    """The teams, and the grants that they have at the agents."""
    return await _teams_page(request, person, db, organization_id)


@router.post("/teams")
async def make_team(organization_id: Key, sender: Act, request: Request, db: Db) -> Response:
    """Make a team."""
    body = {"slug": sender.form.value("slug").strip(), "grant": sender.form.value("grant")}
    answer = await act_as_person(request, sender, "POST", f"/organizations/{organization_id}/teams", body)
    return await _to_teams(request, sender, db, organization_id, answer=answer, done="made")


@router.post("/places")
async def give_agent(organization_id: Key, sender: Act, request: Request, db: Db) -> Response:
    """Give a team its right at an agent; one that it has stays."""
    team, did = (sender.form.value(name) or "-" for name in ("team", "did"))
    path = f"/organizations/{organization_id}/teams/{team}/agents/{did}"
    answer = await act_as_person(request, sender, "PUT", path)
    return await _to_teams(request, sender, db, organization_id, answer=answer, done="given")


@router.post("/teams/{team}/agents/{did}/remove")
async def take_agent(
    organization_id: Key, team: Key, did: str, sender: Act, request: Request, *, db: Db
) -> Response:
    """Take the right of a team at an agent away; one that has none is no trouble."""
    path = f"/organizations/{organization_id}/teams/{team}/agents/{did}"
    answer = await act_as_person(request, sender, "DELETE", path)
    return await _to_teams(
        request, sender, db, organization_id, answer=answer, done="taken", done_already="AGENT_UNKNOWN"
    )


@router.get("/teams/{team}")
async def show_team(
    organization_id: Key, team: Key, person: SignedInPerson, request: Request, db: Db
) -> HTMLResponse:
    """The members of a team and its grant. Raises: TeamUnknown."""
    return await _team_page(request, person, db, organization_id, team)


@router.post("/teams/{team}/grant")
async def change_grant(organization_id: Key, team: Key, sender: Act, request: Request, db: Db) -> Response:
    """Change the right of a team at its agents."""
    path = f"/organizations/{organization_id}/teams/{team}"
    answer = await act_as_person(request, sender, "PATCH", path, {"grant": sender.form.value("grant")})
    return await _to_team(request, sender, db, organization_id, team, answer=answer, done="grant")


@router.post("/teams/{team}/delete")
async def delete_team(organization_id: Key, team: Key, sender: Act, request: Request, db: Db) -> Response:
    """Delete a team; one that is gone is no trouble."""
    answer = await act_as_person(request, sender, "DELETE", f"/organizations/{organization_id}/teams/{team}")
    return await _to_teams(
        request, sender, db, organization_id, answer=answer, done="deleted", done_already="TEAM_UNKNOWN"
    )


@router.post("/teams/{team}/members")
async def add_member(organization_id: Key, team: Key, sender: Act, request: Request, db: Db) -> Response:
    """Give a member a place in a team; one that has it keeps it."""
    member_id = sender.form.value("developer_id") or "-"
    path = f"/organizations/{organization_id}/teams/{team}/members/{member_id}"
    answer = await act_as_person(request, sender, "PUT", path)
    return await _to_team(request, sender, db, organization_id, team, answer=answer, done="added")


@router.post("/teams/{team}/members/{developer_id}/remove")
async def remove_member_of_team(
    organization_id: Key, team: Key, developer_id: MemberId, sender: Act, request: Request, *, db: Db
) -> Response:
    """Take the place of a member away; one that has none is no trouble."""
    path = f"/organizations/{organization_id}/teams/{team}/members/{developer_id}"
    answer = await act_as_person(request, sender, "DELETE", path)
    return await _to_team(
        request,
        sender,
        db,
        organization_id,
        team,
        answer=answer,
        done="removed",
        done_already="MEMBER_UNKNOWN",
    )


async def _to_teams(
    request: Request,
    sender: Acting,
    db: Database,
    key: str,
    *,
    answer: ApiAnswer,
    done: str,
    done_already: str = "",
) -> Response:
    async def refused(form: SentForm, status: int) -> HTMLResponse:
        return await _teams_page(request, sender.person, db, key, form, status=status)

    base = f"{LIST}/{key}"
    return await outcome(
        sender, answer, f"{base}/teams?done={done}", refused, base=base, done_already=done_already
    )


async def _to_team(
    request: Request,
    sender: Acting,
    db: Database,
    key: str,
    team: str,
    *,
    answer: ApiAnswer,
    done: str,
    done_already: str = "",
) -> Response:
    async def refused(form: SentForm, status: int) -> HTMLResponse:
        return await _team_page(request, sender.person, db, key, team, form=form, status=status)

    base = f"{LIST}/{key}"
    return await outcome(
        sender, answer, f"{base}/teams/{team}?done={done}", refused, base=base, done_already=done_already
    )


async def _teams_page(
    request: Request,
    person: SignedIn,
    db: Database,
    key: str,
    form: SentForm | None = None,
    *,
    status: int = 200,
) -> HTMLResponse:
    async def reading(tx: Tx) -> tuple[Organization, list[Team], list[agents.OwnedAgent]]:
        organization = await held(tx, person, key)
        teams = await organizations.teams_in(tx, organization.id)
        return organization, teams, await agents.of_organization(tx, organization.id, limit=AGENTS_SHOWN)

    organization, teams, owned = await db.read(reading)
    return organization_page(
        request,
        "teams.html",
        person,
        organization,
        form,
        status=status,
        section="/teams",
        teams=[(team, Right(team.held_right).name.lower()) for team in teams],
        rows=[_row(agent, teams) for agent in owned if agent.status != "revoked"],
        grants=GRANTS,
        is_cut=len(owned) == AGENTS_SHOWN,
    )


def _row(agent: agents.OwnedAgent, teams: Sequence[Team]) -> Row:
    placed = [team for team in teams if agent.did in team.agents]
    return Row(
        agent,
        [
            (words, [team for team in placed if Right(team.held_right).name.lower() == grant])
            for grant, words in GRANTS
        ],
    )


async def _team_page(
    request: Request,
    person: SignedIn,
    db: Database,
    key: str,
    slug: str,
    *,
    form: SentForm | None = None,
    status: int = 200,
) -> HTMLResponse:
    async def reading(tx: Tx) -> tuple[Organization, Team, list[Member]]:
        organization = await held(tx, person, key)
        found = [team for team in await organizations.teams_in(tx, organization.id) if team.slug == slug]
        if not found:
            raise organizations.TeamUnknown
        return organization, found[0], await organizations.members_in(tx, organization.id)

    organization, team, members = await db.read(reading)
    return organization_page(
        request,
        "team.html",
        person,
        organization,
        form,
        status=status,
        section="/teams",
        team=team,
        grant=Right(team.held_right).name.lower(),
        grants=GRANTS,
        members=[one for one in members if one.developer_id in team.members],
        others=[one for one in members if one.developer_id not in team.members],
    )
