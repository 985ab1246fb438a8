"""Suspension, reinstatement and revocation of the living below an agent, and children of organizations."""

import pytest

from tests.organizations import code, found, id_of
from tests.spawning import audited, child_of, children, end, end_those_due, ended, grow_older, spawn

WHY = "For a test."


@pytest.fixture
def registry(registry_of_file):
    return registry_of_file


@pytest.fixture
async def owner(registry):
    return await registry.developer()


@pytest.fixture
async def parent(owner):
    return await owner.agent(name="Parent")


@pytest.fixture
async def administrator(registry):
    return await registry.administrator("admin_enforcement")


async def act(administrator, verb, *agents, **more):
    body = {"agent_dids": [agent.did for agent in agents], "reason": WHY, **more}
    answer = await administrator.registry.post(
        f"/admin/agents/bulk/{verb}", json=body, headers=administrator.headers
    )
    assert answer.status_code == 200, answer.text
    return [row["registry"] for row in answer.json()["results"]]


async def statuses(registry, *agents):
    rows = await registry.database.query(
        lambda tx: tx.fetch(
            "SELECT did, status FROM agents_agent WHERE did = ANY($1)", [a.did for a in agents]
        )
    )
    found = {row["did"]: row["status"] for row in rows}
    return [found[agent.did] for agent in agents]


async def bases(registry, agent):
    rows = await registry.database.query(
        lambda tx: tx.fetch(
            "SELECT basis FROM enforcement_suspension WHERE did = $1 AND lifted_at IS NULL ORDER BY basis",
            agent.did,
        )
    )
    return [row["basis"] for row in rows]


async def test_the_living_below_a_suspended_agent_are_suspended_and_return_with_it(
    registry, parent, administrator
):
    child = await child_of(parent)
    grandchild = await child_of(child, funding="2")
    sibling = await registry.agent()
    assert await act(administrator, "suspend", parent) == ["suspended"]
    assert await statuses(registry, parent, child, grandchild, sibling) == ["suspended"] * 3 + ["active"]
    assert await bases(registry, grandchild) == ["ancestor"]
    assert (await grandchild.transfer(sibling, "1")).status_code == 403
    assert await act(administrator, "reinstate", parent) == ["reinstated"]
    assert await statuses(registry, parent, child, grandchild) == ["active"] * 3
    assert await bases(registry, grandchild) == []
    assert (await grandchild.transfer(sibling, "1")).status_code == 200


async def test_a_child_that_is_suspended_by_name_stays_so(registry, parent, administrator):
    child = await child_of(parent)
    grandchild = await child_of(child, funding="2")
    await act(administrator, "suspend", child)
    await act(administrator, "suspend", parent)
    await act(administrator, "reinstate", parent)
    assert await statuses(registry, parent, child, grandchild) == ["active", "suspended", "suspended"]
    assert await bases(registry, child) == ["agent"]
    assert await bases(registry, grandchild) == ["ancestor"]
    await act(administrator, "reinstate", child)
    assert await statuses(registry, child, grandchild) == ["active"] * 2


async def test_a_child_stays_suspended_while_its_parent_is(registry, parent, administrator):
    child = await child_of(parent)
    await act(administrator, "suspend", parent)
    assert await act(administrator, "reinstate", child) == ["parent_suspended"]
    assert await statuses(registry, child) == ["suspended"]
    assert await bases(registry, child) == ["ancestor"]


async def test_a_soft_suspension_that_becomes_hard_withholds_the_accounts_below_too(
    registry, parent, administrator
):
    child = await child_of(parent)
    account = "SELECT status FROM ledger_account WHERE did = $1"
    for soft, expected in ((True, "active"), (False, "suspended")):
        await act(administrator, "suspend", parent, soft_suspend=soft)
        assert await registry.database.query(lambda tx: tx.fetchval(account, child.did)) == expected
    await act(administrator, "reinstate", parent, soft_reinstate=True)
    assert await statuses(registry, child) == ["active"]
    assert await registry.database.query(lambda tx: tx.fetchval(account, child.did)) == "suspended"
    await act(administrator, "reinstate", parent)
    assert await registry.database.query(lambda tx: tx.fetchval(account, child.did)) == "active"


async def test_the_living_below_a_revoked_agent_are_revoked(registry, parent, administrator):
    child = await child_of(parent)
    grandchild = await child_of(child, funding="2")
    await act(administrator, "suspend", parent)
    assert await act(administrator, "revoke", parent) == ["revoked"]
    assert await statuses(registry, parent, child, grandchild) == ["revoked"] * 3
    await audited(registry)


async def test_a_suspended_child_is_swept_once_it_is_reinstated(registry, parent, administrator):
    child = await child_of(parent, ttl_seconds=60)
    await act(administrator, "suspend", parent)
    await grow_older(child, 61)
    await end_those_due(registry)
    assert await statuses(registry, child) == ["suspended"]
    await act(administrator, "reinstate", parent)
    await end_those_due(registry)
    (read,) = await children(parent)
    assert (read["state"], read["status"]) == ("ended", "revoked")
    await audited(registry)


async def test_a_suspended_agent_spawns_nothing(registry, parent, owner, administrator):
    await act(administrator, "suspend", parent)
    assert code(await spawn(parent)) == (403, "AGENT_SUSPENDED")
    assert code(await spawn(parent, owner)) == (403, "AGENT_SUSPENDED")


async def test_children_of_a_suspended_developer_return_with_the_developer(
    registry, parent, owner, administrator
):
    child = await child_of(parent)
    path = f"/admin/developers/{await id_of(owner)}"
    for verb, status in (("suspend", "suspended"), ("reinstate", "active")):
        answer = await registry.post(f"{path}/{verb}", json={"reason": WHY}, headers=administrator.headers)
        assert answer.status_code == 200, answer.text
        assert await statuses(registry, parent, child) == [status] * 2


async def test_children_of_an_organization_belong_to_it_and_return_with_it(registry, owner, administrator):
    organization = await found(registry, owner)
    parent = await organization.agent()
    child = await child_of(parent, owner)
    path = f"/admin/organizations/{organization.slug}"
    for verb, status in (("suspend", "suspended"), ("reinstate", "active")):
        answer = await registry.post(f"{path}/{verb}", json={"reason": WHY}, headers=administrator.headers)
        assert answer.status_code == 200, answer.text
        assert await statuses(registry, parent, child) == [status] * 2
    listed = await organization.read(owner, "/agents")
    assert child.did in [agent["did"] for agent in listed["items"]]


async def test_members_spawn_and_end_children_by_their_rights_at_the_parent(registry, owner):
    organization = await found(registry, owner)
    parent = await organization.agent()
    member, viewer, admin = [await organization.member(role) for role in ("member", "viewer", "admin")]
    for who in (member, viewer):
        assert code(await spawn(parent, who)) == (403, "ORG_ROLE_REQUIRED")
    team = await organization.send(owner, "POST", "/teams", json={"slug": "makers", "grant": "manage"})
    assert team.status_code == 201, team.text
    for place in (f"members/{await id_of(member)}", f"agents/{parent.did}"):
        assert (await organization.send(owner, "PUT", f"/teams/makers/{place}")).status_code == 200
    child = await child_of(parent, member)
    # The child stands in the teams of its parent.
    act_token = await registry.post(f"/agents/{child.did}/act-token", headers=member.headers)
    assert act_token.status_code == 200, act_token.text
    assert code(await end(child, member)) == (403, "ORG_ROLE_REQUIRED")
    assert (await ended(child, admin))["state"] == "ended"


async def test_an_agent_with_a_living_child_does_not_leave_its_organization(registry, owner):
    organization = await found(registry, owner)
    parent = await organization.agent()
    await child_of(parent, owner)
    answer = await organization.send(owner, "POST", f"/agents/{parent.did}/release")
    assert code(answer) == (409, "AGENT_HAS_CHILDREN")
