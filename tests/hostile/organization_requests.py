"""Objects of an organization of the staged developer, and the bodies of requests to it."""

from collections.abc import Awaitable, Callable
from itertools import count
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from hansa.foundation.values.secrets import fingerprint
from hansa.rooms import ledger
from tests.registry import PASSWORD, TestDeveloper

if TYPE_CHECKING:
    from tests.hostile.well_formed import Stage

SLUG = "staged-guild"
_numbers = count(1)


async def _run(stage: "Stage", statement: str, *values: Any) -> Any:
    return await stage.registry.database.transaction(lambda tx: tx.fetchval(statement, *values))


async def organization(stage: "Stage") -> str:
    """The id of the staged developer's organization, without agents, units, rules and open requests, with the bystander as a member."""
    found = await _run(
        stage,
        "SELECT o.id::text FROM organizations_organization o JOIN organizations_member m ON m.organization_id = o.id"
        " JOIN people_developer d ON d.id = m.developer_id"
        " WHERE d.email = $1 AND m.role = 4 AND o.slug LIKE 'staged-guild%' AND o.status <> 'deleted'",
        stage.developer.email,
    )
    if found is not None and await _holds_units(stage, found):
        await _retire(stage, found)
        found = None
    if found is None:
        made = await stage.registry.post(
            "/organizations",
            json={"slug": f"{SLUG}-{next(_numbers)}", "name": "Staged"},
            headers=stage.developer.headers,
        )
        assert made.status_code == 201, made.text
        found = made.json()["id"]
    await _run(
        stage, "UPDATE organizations_organization SET status = 'active' WHERE id = $1::text::uuid", found
    )
    for statement in (
        "UPDATE agents_agent SET status = 'active' WHERE organization_id = $1::text::uuid AND status = 'suspended'",
        (
            "UPDATE ledger_account SET status = 'active' WHERE did ="
            " (SELECT treasury_did FROM organizations_organization WHERE id = $1::text::uuid)"
        ),
    ):
        await _run(stage, statement, found)
    await _run(
        stage,
        "UPDATE agents_agent SET organization_id = NULL WHERE organization_id = $1::text::uuid AND kind = 'agent'",
        found,
    )
    await _run(stage, "DELETE FROM organizations_tier WHERE organization_id = $1::text::uuid", found)
    await _run(
        stage,
        "UPDATE organizations_request SET status = 'CANCELLED', ended_at = now()"
        " WHERE organization_id = $1::text::uuid AND status = 'PENDING'",
        found,
    )
    await _member(stage, found, stage.bystander_id, 2)
    return str(found)


async def _holds_units(stage: "Stage", organization_id: str) -> bool:
    did = await _run(
        stage,
        "SELECT treasury_did FROM organizations_organization WHERE id = $1::text::uuid",
        organization_id,
    )
    held = await stage.registry.database.read(lambda tx: ledger.balance_of(tx, did))
    return held.liquid + held.escrow > 0


async def _retire(stage: "Stage", organization_id: str) -> None:
    """Leave an organization, so that the next request has one without units."""
    for statement in (
        "UPDATE organizations_member SET role = NULL, left_at = now() WHERE organization_id = $1::text::uuid AND role IS NOT NULL",
        "UPDATE agents_agent SET organization_id = NULL WHERE organization_id = $1::text::uuid AND kind = 'agent'",
    ):
        await _run(stage, statement, organization_id)


async def _member(stage: "Stage", organization_id: str, developer_id: int, role: int) -> None:
    await _run(
        stage,
        "INSERT INTO organizations_member (organization_id, developer_id, role) VALUES ($1::text::uuid, $2, $3)"
        " ON CONFLICT (organization_id, developer_id) DO UPDATE SET role = excluded.role, left_at = NULL",
        organization_id,
        developer_id,
        role,
    )


async def member(stage: "Stage") -> str:
    """`<organization>/members/<developer>` of the bystander, who is a member."""
    return f"{await organization(stage)}/members/{stage.bystander_id}"


async def team(stage: "Stage") -> str:
    """`<organization>/teams/<slug>` of a new team with the bystander and the staged agent."""
    organization_id, slug = await organization(stage), f"team-{next(_numbers)}"
    await _run(
        stage, "DELETE FROM organizations_team WHERE organization_id = $1::text::uuid", organization_id
    )
    await _run(
        stage,
        "UPDATE agents_agent SET organization_id = $1::text::uuid WHERE did = $2",
        organization_id,
        stage.spare.did,
    )
    await _run(
        stage,
        "WITH made AS (INSERT INTO organizations_team (id, organization_id, slug, held_right)"
        " VALUES ($1, $2::text::uuid, $3, 1) RETURNING id),"
        " placed AS (INSERT INTO organizations_team_member SELECT id, $4 FROM made)"
        " INSERT INTO organizations_team_agent SELECT id, $5 FROM made",
        uuid4(),
        organization_id,
        slug,
        stage.bystander_id,
        stage.spare.did,
    )
    return f"{organization_id}/teams/{slug}"


async def place_of_member(stage: "Stage") -> str:
    """The bystander's place in a team."""
    return f"{await team(stage)}/members/{stage.bystander_id}"


async def place_of_agent(stage: "Stage") -> str:
    """The right of a team at an agent of the organization."""
    return f"{await team(stage)}/agents/{stage.spare.did}"


async def agent_of_organization(stage: "Stage") -> str:
    """`<organization>/agents/<did>` of a new agent of the organization, whose account is empty."""
    organization_id, agent = await organization(stage), await stage.developer.agent()
    given = await stage.registry.post(
        f"/organizations/{organization_id}/agents", json={"did": agent.did}, headers=stage.developer.headers
    )
    assert given.status_code == 201, given.text
    return f"{organization_id}/agents/{agent.did}"


async def invitation(stage: "Stage") -> str:
    """`<organization>/invitations/<id>` of a pending invitation."""
    organization_id = await organization(stage)
    made = await _invite(stage, organization_id, f"invited{next(_numbers)}@example.org", f"oit_{uuid4().hex}")
    return f"{organization_id}/invitations/{made}"


async def _invite(stage: "Stage", organization_id: str, email: str, token: str) -> str:
    made = uuid4()
    inviter = "(SELECT developer_id FROM organizations_member WHERE organization_id = $2::text::uuid AND role = 4 LIMIT 1)"
    await _run(
        stage,
        "INSERT INTO organizations_invitation (id, organization_id, email, role, token_sha256, invited_by, expires_at)"
        f" VALUES ($1, $2::text::uuid, $3, 2, $4, {inviter}, now() + interval '1 day')",
        made,
        organization_id,
        email,
        fingerprint(token),
    )
    return str(made)


async def request(stage: "Stage") -> str:
    """`<organization>/treasury/requests/<id>` of another owner's request."""
    organization_id, made = await organization(stage), uuid4()
    await _run(
        stage,
        "UPDATE organizations_request SET status = 'CANCELLED', ended_at = now() WHERE status = 'PENDING'",
    )
    await _run(
        stage,
        "UPDATE organizations_member m SET role = NULL, left_at = now() FROM people_developer d"
        " WHERE m.organization_id = $1::text::uuid AND m.role = 4 AND d.id = m.developer_id AND d.email <> $2",
        organization_id,
        stage.developer.email,
    )
    # The bystander may be suspended by a request of another operation.
    initiator, candidate = await _newcomer(stage), await _newcomer(stage)
    await _member(stage, organization_id, initiator, 4)
    await _member(stage, organization_id, candidate, 3)
    await _run(
        stage,
        "INSERT INTO organizations_request (id, organization_id, kind, body, concerned_id, initiator_id, expires_at)"
        " VALUES ($1, $2::text::uuid, 'owners', jsonb_build_object('developer_id', $3::bigint, 'role', null), $3, $4,"
        " now() + interval '1 day')",
        made,
        organization_id,
        candidate,
        initiator,
    )
    return f"{organization_id}/treasury/requests/{made}"


async def _newcomer(stage: "Stage") -> int:
    email = (await stage.registry.developer()).email
    made: int = await _run(stage, "SELECT id FROM people_developer WHERE email = $1", email)
    return made


async def page_of_teams(stage: "Stage") -> str:
    """`<organization>/teams` of an organization with a team and an agent."""
    return (await team(stage)).rpartition("/")[0]


async def page_of_agents(stage: "Stage") -> str:
    """`<organization>/agents` of an organization with an agent."""
    return (await agent_of_organization(stage)).partition("/did:")[0]


async def public_organization(stage: "Stage") -> str:
    """The slug of a public organization of the staged developer."""
    slug = f"{SLUG}-shown-{next(_numbers)}"
    made = await stage.registry.post(
        "/organizations",
        json={"slug": slug, "name": "Staged in public", "visibility": "public"},
        headers=(await stage.registry.developer()).headers,
    )
    assert made.status_code == 201, made.text
    return slug


async def approved_request(stage: "Stage") -> str:
    """`<organization>/treasury/requests/<id>/retry` of a request that the staged developer has approved, and that was not carried out."""
    path = await request(stage)
    await _run(
        stage,
        "INSERT INTO organizations_approval (request_id, developer_id) SELECT $1::text::uuid, m.developer_id"
        " FROM organizations_request r JOIN organizations_member m USING (organization_id)"
        " WHERE r.id = $1::text::uuid AND m.role = 4 AND m.developer_id <> r.initiator_id",
        path.rpartition("/")[2],
    )
    return f"{path}/retry"


async def budget(stage: "Stage") -> str:
    """`<organization>/treasury/budgets/<id>` of a new budget of a team."""
    organization_id = (await team(stage)).partition("/")[0]
    made = await _run(
        stage,
        "INSERT INTO treasury_budget (id, organization_id, name, amount, period, team_id, period_start)"
        " SELECT gen_random_uuid(), $1::text::uuid, 'Travel', 100000000, 'month', id, now()::date"
        " FROM organizations_team WHERE organization_id = $1::text::uuid RETURNING id",
        organization_id,
    )
    return f"{organization_id}/treasury/budgets/{made}"


async def _body_of_budget(stage: "Stage") -> dict[str, Any]:
    organization_id = (await team(stage)).partition("/")[0]
    made = await _run(
        stage, "SELECT id FROM organizations_team WHERE organization_id = $1::text::uuid", organization_id
    )
    return {"name": "Travel", "amount": "1", "period": "month", "team_id": str(made)}


async def _body_of_payment(stage: "Stage") -> dict[str, Any]:
    await _funded(stage, await organization(stage))
    return {"kind": "payment", "receiver_did": stage.payee.did, "amount": "0.001"}


async def _body_of_draw(stage: "Stage") -> dict[str, Any]:
    """The staged agent has a budget of its organization."""
    organization_id = await organization(stage)
    await _funded(stage, organization_id)
    await _run(
        stage,
        "UPDATE agents_agent SET organization_id = $1::text::uuid WHERE did = $2",
        organization_id,
        stage.agent.did,
    )
    await _run(stage, "UPDATE treasury_budget SET deleted_at = now() WHERE deleted_at IS NULL")
    await _run(
        stage,
        "INSERT INTO treasury_budget (id, organization_id, name, amount, period, agent_did, period_start)"
        " VALUES (gen_random_uuid(), $1::text::uuid, 'Calls', 100000000, 'month', $2, now()::date)",
        organization_id,
        stage.agent.did,
    )
    return {"amount": "0.001"}


async def _funded(stage: "Stage", organization_id: str) -> None:
    did = await _run(
        stage,
        "SELECT treasury_did FROM organizations_organization WHERE id = $1::text::uuid",
        organization_id,
    )
    giver = await (await stage.registry.developer()).agent()
    given = await giver.transfer(did, "1")
    assert given.status_code == 200, given.text


async def announced(stage: "Stage") -> str:
    """`<organization>/owners/veto` of an organization to which an administrator has appointed an owner."""
    organization_id = await organization(stage)
    await _run(
        stage,
        "INSERT INTO organizations_appointment (id, organization_id, developer_id, reason, administrator_id, effective_at)"
        " VALUES (gen_random_uuid(), $1::text::uuid, $2, 'Lost.', 0, now() + interval '7 days') ON CONFLICT DO NOTHING",
        organization_id,
        stage.bystander_id,
    )
    return f"{organization_id}/owners/veto"


async def page_of_members(stage: "Stage") -> str:
    """`<organization>/members` of such an organization."""
    return (await announced(stage)).partition("/")[0] + "/members"


async def without_owners_who_can_act(stage: "Stage") -> str:
    """`<organization>/owners` of a new organization whose only owner is suspended."""
    owner: TestDeveloper = await stage.registry.developer()
    made = await stage.registry.post(
        "/organizations",
        json={"slug": f"ownerless-{next(_numbers)}", "name": "Ownerless"},
        headers=owner.headers,
    )
    assert made.status_code == 201, made.text
    await _run(
        stage,
        "INSERT INTO plumbing_admin_author (developer_id, barred_since)"
        " SELECT id, now() FROM people_developer WHERE email = $1",
        owner.email,
    )
    return f"{made.json()['id']}/owners"


async def page_of_owners(stage: "Stage") -> str:
    """The id of such an organization."""
    return (await without_owners_who_can_act(stage)).partition("/")[0]


async def _body_of_appointment(stage: "Stage") -> dict[str, Any]:
    appointed = await stage.registry.developer()
    profile = await stage.registry.get("/auth/profile", headers=appointed.headers)
    return {"developer_id": profile.json()["id"], "reason": "The owner is lost."}


async def _body_of_founding(_: "Stage") -> dict[str, Any]:
    return {"slug": f"founded-{next(_numbers)}", "name": "Founded"}


async def _body_of_invitation(_: "Stage") -> dict[str, Any]:
    return {"email": f"guest{next(_numbers)}@example.org"}


async def _body_of_token(stage: "Stage") -> dict[str, Any]:
    """The token of an invitation to the staged developer, of an organization of somebody else."""
    owner: TestDeveloper = await stage.registry.developer()
    made = await stage.registry.post(
        "/organizations",
        json={"slug": f"inviting-{next(_numbers)}", "name": "Inviting"},
        headers=owner.headers,
    )
    assert made.status_code == 201, made.text
    token = f"oit_{uuid4().hex}"
    await _run(stage, "UPDATE organizations_member SET role = NULL, left_at = now() WHERE role = 2")
    await _invite(stage, made.json()["id"], stage.developer.email.lower(), token)
    return {"token": token}


async def _body_of_team(stage: "Stage") -> dict[str, Any]:
    return {"slug": f"made-{next(_numbers)}", "grant": "read"}


async def _body_of_agent(stage: "Stage") -> dict[str, Any]:
    return {"did": (await stage.developer.agent()).did}


async def _form_of_token(stage: "Stage") -> dict[str, str]:
    return {"invitation_token": (await _body_of_token(stage))["token"]}


async def _form_of_invitation(stage: "Stage") -> dict[str, str]:
    return {**await _body_of_invitation(stage), "role": "member"}


async def _form_of_place(stage: "Stage") -> dict[str, str]:
    """A team of the organization and an agent of it."""
    place = await team(stage)
    return {"team": place.rpartition("/")[2], "did": stage.spare.did}


async def _form_of_member(stage: "Stage") -> dict[str, str]:
    """The bystander, who is a member of the organization."""
    return {"developer_id": str(stage.bystander_id)}


async def _form_of_budget(stage: "Stage") -> dict[str, str]:
    made = await _body_of_budget(stage)
    return {"name": "Travel", "amount": "1", "period": "month", "holder": f"team {made['team_id']}"}


async def _form_of_payment(stage: "Stage") -> dict[str, str]:
    made = await _body_of_payment(stage)
    return {"receiver_did": made["receiver_did"], "amount": made["amount"]}


async def _form_of_deletion(stage: "Stage") -> dict[str, str]:
    """The slug of the organization, typed."""
    found = await organization(stage)
    slug = await _run(stage, "SELECT slug FROM organizations_organization WHERE id = $1::text::uuid", found)
    return {"typed_name": slug}


def _always(**members: Any) -> Callable[["Stage"], Awaitable[dict[str, Any]]]:
    async def made(_: "Stage") -> dict[str, Any]:
        return members

    return made


ROOT = "/api/v1/organizations/{organization_id}"
MADE_ANEW: dict[str, Callable[["Stage"], Awaitable[str]]] = {
    "{organization_id}/teams/{team}/members/{developer_id}": place_of_member,
    "{organization_id}/teams/{team}/agents/{did}": place_of_agent,
    "{organization_id}/agents/{did}": agent_of_organization,
    "{organization_id}/teams/{team}": team,
    "{organization_id}/members/{developer_id}": member,
    "{organization_id}/invitations/{invitation_id}": invitation,
    "{organization_id}/treasury/budgets/{budget_id}": budget,
    "{organization_id}/treasury/requests/{request_id}/retry": approved_request,
    "{organization_id}/treasury/requests/{request_id}": request,
    "/account/organizations/{organization_id}/members": page_of_members,
    "/account/organizations/{organization_id}/teams": page_of_teams,
    "/account/organizations/{organization_id}/agents": page_of_agents,
    "{organization_id}/owners/veto": announced,
    "{organization_id}/owners": without_owners_who_can_act,
    "/administration/organizations/{organization_id}": page_of_owners,
    "{organization_id}": organization,
    "/organizations/{slug}": public_organization,
}
"""Objects named by a path, the longest first."""

BODIES: dict[str, Callable[["Stage"], Awaitable[dict[str, Any]]]] = {
    "POST /api/v1/organizations": _body_of_founding,
    "POST /api/v1/organizations/invitations/accept": _body_of_token,
    "POST /api/v1/organizations/invitations/decline": _body_of_token,
    f"PATCH {ROOT}": _always(name="Renamed"),
    "POST /api/v1/admin/organizations/{organization_id}/suspend": _always(reason="Spam."),
    "POST /api/v1/admin/organizations/{organization_id}/reinstate": _always(reason="An error."),
    "POST /api/v1/admin/organizations/{organization_id}/owners": _body_of_appointment,
    f"POST {ROOT}/invitations": _body_of_invitation,
    f"PATCH {ROOT}/members/{{developer_id}}": _always(role="viewer"),
    f"POST {ROOT}/teams": _body_of_team,
    f"PATCH {ROOT}/teams/{{team}}": _always(grant="operate"),
    f"POST {ROOT}/agents": _body_of_agent,
    f"PUT {ROOT}/treasury/rules": _always(tiers=[]),
    f"POST {ROOT}/treasury/budgets": _body_of_budget,
    f"PATCH {ROOT}/treasury/budgets/{{budget_id}}": _always(amount="0.5"),
    f"POST {ROOT}/treasury/requests": _body_of_payment,
    "POST /api/v1/organizations/treasury/draw": _body_of_draw,
    f"POST {ROOT}/treasury/requests/{{request_id}}/approve": _always(password=PASSWORD),
    f"POST {ROOT}/treasury/requests/{{request_id}}/reject": _always(reason="No."),
}


PAGE = "POST /account/organizations/{organization_id}"
FORMS: dict[str, Callable[["Stage"], Awaitable[dict[str, str]]]] = {
    "POST /account/organizations": _body_of_founding,
    "POST /account/organizations/invitations/accept": _form_of_token,
    "POST /account/organizations/invitations/decline": _form_of_token,
    f"{PAGE}/invitations": _form_of_invitation,
    f"{PAGE}/invitations/{{invitation_id}}/revoke": _always(),
    f"{PAGE}/members/{{developer_id}}/role": _always(role="viewer"),
    f"{PAGE}/members/{{developer_id}}/remove": _always(),
    f"{PAGE}/teams": _body_of_team,
    f"{PAGE}/places": _form_of_place,
    f"{PAGE}/teams/{{team}}/agents/{{did}}/remove": _always(),
    f"{PAGE}/teams/{{team}}/grant": _always(grant="operate"),
    f"{PAGE}/teams/{{team}}/delete": _always(),
    f"{PAGE}/teams/{{team}}/members": _form_of_member,
    f"{PAGE}/teams/{{team}}/members/{{developer_id}}/remove": _always(),
    f"{PAGE}/agents": _body_of_agent,
    f"{PAGE}/agents/{{did}}/release": _always(),
    f"{PAGE}/treasury/requests/{{request_id}}/approve": _always(password=PASSWORD),
    f"{PAGE}/treasury/requests/{{request_id}}/reject": _always(reason="No."),
    f"{PAGE}/treasury/requests/{{request_id}}/cancel": _always(),
    f"{PAGE}/treasury/requests/{{request_id}}/retry": _always(),
    f"{PAGE}/treasury/budgets": _form_of_budget,
    f"{PAGE}/treasury/budgets/{{budget_id}}/change": _always(new_amount="0.5"),
    f"{PAGE}/treasury/budgets/{{budget_id}}/delete": _always(),
    f"{PAGE}/treasury/rules": _always(tier_over="5", tier_approvals="1", tier_from="owner"),
    f"{PAGE}/treasury/pay": _form_of_payment,
    f"{PAGE}/treasury/pay/check": _form_of_payment,
    f"{PAGE}/settings": _always(name="Renamed", description="", visibility="private"),
    f"{PAGE}/owners/veto": _always(),
    f"{PAGE}/delete": _form_of_deletion,
}
"""Fields of the forms of pages, without their key."""
