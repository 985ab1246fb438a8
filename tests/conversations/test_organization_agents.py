"""Agents of an organization: who may do what with them, read at each request, and what ends when they change their owner."""

import pytest

from tests.organizations import acting_as, code, found, id_of
from tests.registry import TestAgent


@pytest.fixture
async def registry(registry_of_file):
    return registry_of_file


@pytest.fixture
async def guild(registry):
    return await found(registry)


async def team_of(guild, grant, agent, *members):
    """A team with this grant at the agent."""
    slug = f"team-{grant}"
    made = await guild.send(guild.owner, "POST", "/teams", json={"slug": slug, "grant": grant})
    assert made.status_code == 201, made.text
    for member in members:
        placed = await guild.send(guild.owner, "PUT", f"/teams/{slug}/members/{await id_of(member)}")
        assert (placed.status_code, placed.json()) == (200, {}), placed.text
    placed = await guild.send(guild.owner, "PUT", f"/teams/{slug}/agents/{agent.did}")
    assert (placed.status_code, placed.json()) == (200, {}), placed.text
    return slug


async def act_token(who, agent):
    return await who.registry.post(
        f"/agents/{agent.did}/act-token", headers={**who.headers, **who.registry.elsewhere()}
    )


async def acting(who, agent) -> TestAgent:
    answer = await act_token(who, agent)
    assert answer.status_code == 200, answer.text
    return acting_as(agent, answer.json()["access_token"])


async def me(agent):
    return await agent.registry.get("/agents/me", headers=agent.headers)


async def acts(who, agent) -> dict[str, int]:
    """The status of an act of each right."""
    registry = who.registry
    headers = {**who.headers, **registry.elsewhere()}
    card = (await registry.get("/onboard/agent-card-template", headers=who.headers)).json()
    requests = {
        "read": registry.get(f"/agents/{agent.did}/authz", headers=headers),
        "card": registry.http.put(
            f"/api/v1/agent-cards/{agent.did}", json={"card_data": card}, headers=headers
        ),
        "switch": registry.http.put(
            f"/api/v1/agent-cards/{agent.did}", json={"is_active": False}, headers=headers
        ),
        "act": registry.post(f"/agents/{agent.did}/act-token", headers=headers),
        "listing": registry.http.patch(
            f"/api/v1/agent-cards/{agent.did}/listing", json={"unlisted": True}, headers=headers
        ),
        "roles": registry.post(f"/agents/{agent.did}/authz/roles", json={"role": "staker"}, headers=headers),
        "secret": registry.post(f"/agents/{agent.did}/rotate-secret", headers=headers),
        "end": registry.http.delete(f"/api/v1/agents/{agent.did}", headers=headers),
    }
    return {name: (await request).status_code for name, request in requests.items()}


READS = {"read": 200}
OPERATES = {**READS, "card": 200, "act": 200}
MANAGES = {**OPERATES, "switch": 200, "listing": 200, "roles": 200, "secret": 200}
EVERY = dict.fromkeys(("read", "card", "switch", "act", "listing", "roles", "secret", "end"), 403)


@pytest.mark.parametrize(
    ("role", "grant", "allowed"),
    [
        ("viewer", "manage", READS),
        ("member", None, READS),
        ("member", "read", READS),
        ("member", "operate", OPERATES),
        ("member", "manage", MANAGES),
        ("admin", None, MANAGES),
    ],
)
async def test_a_member_may_do_what_role_and_teams_allow(guild, role, grant, allowed):
    agent, member = await guild.agent(), await guild.member(role)
    if grant:
        await team_of(guild, grant, agent, member)
    # An agent with units does not end: an admin is let through to that refusal.
    assert await acts(member, agent) == {**EVERY, **allowed, **({"end": 409} if role == "admin" else {})}


async def test_a_stranger_and_the_developer_who_created_the_agent_have_no_right_after_leaving(guild):
    admin, stranger = await guild.member("admin"), await guild.registry.developer()
    agent = await guild.agent(by=admin)
    assert (await guild.remove(admin, admin)).status_code == 200
    for who in (admin, stranger):
        assert await acts(who, agent) == {**EVERY, "read": 404}
    owned = (await guild.registry.get("/agents", headers=admin.headers)).json()
    assert owned["items"] == []


async def test_the_act_token_of_a_member_ends_with_its_right(guild):
    agent, member = await guild.agent(), await guild.member()
    slug = await team_of(guild, "operate", agent, member)
    first = await acting(member, agent)
    assert (await me(first)).json()["actor"] == f"developer:{await id_of(member)}"
    removed = await guild.send(guild.owner, "DELETE", f"/teams/{slug}/agents/{agent.did}")
    assert removed.json() == {}
    assert (await me(first)).status_code == 401
    assert (await guild.send(guild.owner, "PUT", f"/teams/{slug}/agents/{agent.did}")).status_code == 200
    assert (await me(first)).status_code == 200
    assert (await guild.remove(member, member)).status_code == 200
    assert (await me(first)).status_code == 401
    assert (await first.transfer(guild.created["treasury_did"], "1")).status_code == 401


async def test_the_grant_of_a_team_counts_from_the_next_request_on(guild):
    agent, member = await guild.agent(), await guild.member()
    slug = await team_of(guild, "read", agent, member)
    assert code(await act_token(member, agent)) == (403, "ORG_ROLE_REQUIRED")
    changed = await guild.send(guild.owner, "PATCH", f"/teams/{slug}", json={"grant": "operate"})
    assert changed.json()["grant"] == "operate"
    assert (await act_token(member, agent)).status_code == 200
    assert (await guild.send(guild.owner, "DELETE", f"/teams/{slug}")).json() == {"deleted": True}
    assert code(await act_token(member, agent)) == (403, "ORG_ROLE_REQUIRED")


async def test_an_agent_that_moves_in_loses_secret_tokens_capabilities_and_wallets(registry, guild):
    agent = await guild.owner.agent()
    held = acting_as(agent, (await act_token(guild.owner, agent)).json()["access_token"])
    issued = await registry.post(
        "/agents/capabilities",
        json={"caveats": {"permissions": ["teg.transfer"]}},
        headers=agent.headers,
    )
    moved = await guild.send(guild.owner, "POST", "/agents", json={"did": agent.did})
    assert (moved.status_code, moved.json()["did"]) == (201, agent.did)
    assert [(await me(one)).status_code for one in (agent, held)] == [401, 401]
    credentials = {"client_id": agent.created["client_id"], "client_secret": agent.created["client_secret"]}
    form = {"grant_type": "client_credentials", **credentials}
    refused = await registry.post("/auth/agent/token", data=form, headers=registry.elsewhere())
    assert refused.status_code == 401
    assert issued.status_code == 200, issued.text
    delegations = await registry.get(f"/agents/{agent.did}/delegations", headers=guild.owner.headers)
    assert [one["status"] for one in delegations.json()["grants"]] == ["revoked"]
    listed = await guild.read(guild.owner, "/agents")
    assert [one["did"] for one in listed["items"]] == [agent.did]
    assert (await guild.read(guild.owner))["counts"]["agents"] == 1


async def test_only_an_own_agent_moves_in_by_an_admin(registry, guild):
    stranger, member = await registry.developer(), await guild.member()
    foreign, own = await stranger.agent(), await member.agent()
    refused = await guild.send(guild.owner, "POST", "/agents", json={"did": foreign.did})
    assert code(refused) == (403, "NOT_THE_OWNER")
    refused = await guild.send(member, "POST", "/agents", json={"did": own.did})
    assert code(refused) == (403, "ORG_ROLE_REQUIRED")
    unknown = await guild.send(guild.owner, "POST", "/agents", json={"did": f"{own.did[:-4]}0000"})
    assert unknown.status_code == 404
    agent = await guild.agent()
    again = await guild.send(guild.owner, "POST", "/agents", json={"did": agent.did})
    assert code(again) == (403, "NOT_THE_OWNER")


async def release(guild, who, agent):
    return await guild.send(who, "POST", f"/agents/{agent.did}/release")


async def test_an_empty_agent_is_released_to_the_owner_who_asks(registry, guild):
    admin, owner = await guild.member("admin"), await guild.member("owner")
    await guild.owner.agent()
    agent = await guild.agent()
    slug = await team_of(guild, "operate", agent, admin)
    held = await acting(admin, agent)
    refused = await release(guild, admin, agent)
    assert code(refused) == (403, "ORG_ROLE_REQUIRED")
    released = await release(guild, owner, agent)
    assert released.status_code == 200, released.text
    request = released.json()
    assert (request["kind"], request["status"], request["approvals_needed"]) == ("release", "EXECUTED", 0)
    assert request["body"] == {"did": agent.did, "developer_id": await id_of(owner)}
    assert (await me(held)).status_code == 401
    assert await acts(admin, agent) == {**EVERY, "read": 404}
    assert await acts(owner, agent) == {**MANAGES, "end": 200}
    assert (await guild.read(guild.owner, "/agents"))["items"] == []
    assert (await guild.read(guild.owner, "/audit"))["items"][0]["act"] == "agent.release"
    assert (await guild.read(guild.owner, f"/treasury/requests/{request['request_id']}")) == request
    # The team has no right at an agent of somebody else, and none from before when the agent comes back.
    again = await guild.send(guild.owner, "PUT", f"/teams/{slug}/agents/{agent.did}")
    assert again.status_code == 404
    assert (await release(guild, owner, agent)).status_code == 404


async def test_an_agent_that_comes_back_has_no_right_of_its_former_team(guild):
    member = await guild.member()
    await guild.owner.agent()
    agent = await guild.agent()
    await team_of(guild, "operate", agent, member)
    assert (await release(guild, guild.owner, agent)).status_code == 200
    returned = await guild.send(guild.owner, "POST", "/agents", json={"did": agent.did})
    assert returned.status_code == 201
    assert code(await act_token(member, agent)) == (403, "ORG_ROLE_REQUIRED")


async def test_an_agent_with_units_is_not_released_and_stays(registry, guild):
    agent = await guild.agent()
    refused = await release(guild, guild.owner, agent)
    assert code(refused) == (409, "ACCOUNT_HOLDS_UNITS")
    listed = await guild.read(guild.owner, "/agents")
    assert [one["did"] for one in listed["items"]] == [agent.did]
    assert (await guild.read(guild.owner, "/treasury/requests"))["items"] == []


async def test_a_treasury_is_never_released(guild):
    refused = await guild.send(guild.owner, "POST", f"/agents/{guild.created['treasury_did']}/release")
    assert refused.status_code == 404


async def test_the_suspension_of_the_developer_who_created_it_leaves_the_agent_alone(registry, guild):
    admin = await guild.member("admin")
    agent = await guild.agent(by=admin)
    token = await acting(guild.owner, agent)
    held = await acting(admin, agent)
    enforcer = await registry.administrator("admin_enforcement")
    suspended = await registry.post(
        f"/admin/developers/{await id_of(admin)}/suspend", json={"reason": "Spam."}, headers=enforcer.headers
    )
    assert suspended.json()["results"] == []
    assert (await me(token)).status_code == 200
    assert (await me(held)).status_code == 401


async def test_payments_between_related_agents_count_for_no_record(registry, guild):
    member, stranger = await guild.member("viewer"), await registry.developer()
    agent = await guild.agent()
    own, foreign = await member.agent(), await stranger.agent()

    async def counts(one, other) -> bool:
        return await registry.database.query(
            lambda tx: tx.fetchval("SELECT counts FROM commerce_counted($1, $2)", one.did, other.did)
        )

    assert [await counts(agent, own), await counts(own, agent)] == [False, False]
    assert [await counts(agent, foreign), await counts(foreign, own)] == [True, True]
    assert (await guild.remove(member, member)).status_code == 200
    assert not await counts(agent, own)
    await registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE organizations_member SET left_at = now() - interval '91 days' WHERE role IS NULL"
        )
    )
    assert await counts(agent, own)


async def test_two_members_of_one_organization_are_related(registry, guild):
    one, other = await guild.member("viewer"), await guild.member("viewer")
    first, second = await one.agent(), await other.agent()
    counted = await registry.database.query(
        lambda tx: tx.fetchval("SELECT counts FROM commerce_counted($1, $2)", first.did, second.did)
    )
    assert counted is False


async def test_an_organization_with_an_administrator_among_its_owners_counts_as_administered(registry):
    administrator = await registry.administrator("admin_support")
    guild = await found(registry, administrator)
    admin = await guild.member("admin")
    agent, foreign = await guild.agent(by=admin), await registry.agent()
    counted = await registry.database.query(
        lambda tx: tx.fetchval("SELECT counts FROM commerce_counted($1, $2)", agent.did, foreign.did)
    )
    assert counted is False
