"""Agents that belong to an organization from their creation on: `organization_id` in the request for a bootstrap token."""

import pytest

from tests.actors import create_agent
from tests.organizations import answer_invitation, code, found, id_of
from tests.registry import card_of

REQUEST = "/onboard/bootstrap/request-token"
CREATE = "/onboard/create_agent"


@pytest.fixture
async def registry(registry_of_file):
    return registry_of_file


@pytest.fixture
async def guild(registry):
    return await found(registry)


async def ask(who, organization):
    return await who.registry.post(
        REQUEST, json={"organization_id": organization}, headers={**who.headers, **who.registry.elsewhere()}
    )


async def token_of(who, guild) -> str:
    answer = await ask(who, guild.slug)
    assert answer.status_code == 200, answer.text
    return answer.json()["bootstrap_token"]


async def create(registry, token, **body):
    headers = {"Bootstrap-Token": token, **registry.elsewhere()}
    sent = {"agent_did_method": "hansa", **(body or {"agent_card": card_of()})}
    return await registry.post(CREATE, json=sent, headers=headers)


async def created(who, guild, **body):
    answer = await create(who.registry, await token_of(who, guild), **body)
    assert answer.status_code == 201, answer.text
    return answer.json()


async def test_an_agent_of_an_admin_s_token_belongs_to_the_organization(registry, guild):
    admin = await guild.member("admin")
    made = await created(admin, guild)
    (listed,) = (await guild.read(guild.owner, "/agents"))["items"]
    assert (listed["did"], listed["status"]) == (made["agent_did"], "active")
    assert (await registry.get("/agents", headers=admin.headers)).json()["items"] == []
    # A viewer reads it, and the developer who created it has no right of its own.
    viewer = await guild.member("viewer")
    headers = {**viewer.headers, **registry.elsewhere()}
    assert (await registry.get(f"/agents/{made['agent_did']}/authz", headers=headers)).status_code == 200
    assert (await guild.remove(guild.owner, admin)).json()["secrets_to_rotate"] == [made["agent_did"]]
    refused = await registry.get(f"/agents/{made['agent_did']}/authz", headers=admin.headers)
    assert refused.status_code == 404


async def test_the_id_and_the_slug_name_the_organization(guild):
    assert (await ask(guild.owner, guild.created["id"])).status_code == 200
    assert (await ask(guild.owner, guild.slug)).status_code == 200


async def test_it_gets_no_genesis_grant_and_leaves_that_of_the_developer(registry, guild):
    made = await created(guild.owner, guild)
    assert made["initial_funding_status"] == "not_first_agent"
    own, _ = await create_agent(registry.runtime, guild.owner.token, card_of())
    assert own["initial_funding_status"] == "completed"


async def test_a_card_without_a_name_is_named_after_a_public_organization(registry, guild):
    made_public = await guild.send(guild.owner, "PATCH", json={"visibility": "public"})
    assert made_public.status_code == 200, made_public.text
    for body in ({"agent_card": card_of("Polyglot")}, {"agent_host": "https://polyglot.example"}):
        made = await created(guild.owner, guild, **body)
        card = (await registry.get(f"/agent-cards/{made['agent_did']}")).json()
        assert card["human_readable_id"].startswith(f"{guild.slug}/polyglot"), card["human_readable_id"]


async def test_a_card_without_a_name_reveals_no_private_organization(registry, guild):
    for body in ({"agent_card": card_of("Polyglot")}, {"agent_host": "https://polyglot.example"}):
        made = await created(guild.owner, guild, **body)
        own, _ = await create_agent(registry.runtime, guild.owner.token, card_of("Polyglot"))
        documents = [
            (await registry.get(f"/agent-cards/{did}")).json()
            for did in (made["agent_did"], own["agent_did"])
        ]
        prefixes = {one["human_readable_id"].partition("/")[0] for one in documents}
        assert len(prefixes) == 1, "the name of its owner's own agents"
        await registry.indexed()
        found = [
            await registry.http.get(f"/api/v1/agent-cards/{made['agent_did']}"),
            await registry.http.get("/api/v1/agent-cards/discover", params={"q": "Polyglot"}),
            await registry.http.get(f"/agents/{documents[0]['human_readable_id']}"),
        ]
        assert [one.status_code for one in found] == [200, 200, 200]
        assert not any(guild.slug in one.text for one in found)


async def test_a_card_keeps_its_name_when_its_organization_becomes_private(registry, guild):
    await guild.send(guild.owner, "PATCH", json={"visibility": "public"})
    first = await created(guild.owner, guild, agent_card=card_of("Polyglot"))
    await guild.send(guild.owner, "PATCH", json={"visibility": "private"})
    second = await created(guild.owner, guild, agent_card=card_of("Polyglot"))
    names = [
        (await registry.get(f"/agent-cards/{one['agent_did']}")).json()["human_readable_id"]
        for one in (first, second)
    ]
    assert [one.startswith(f"{guild.slug}/") for one in names] == [True, False]


async def test_a_card_may_have_a_name_of_the_organization(registry, guild):
    name = f"{guild.slug}/editor"
    refused = await create(
        registry, await guild.owner.bootstrap_token(), agent_card=card_of(humanReadableId=name)
    )
    assert refused.status_code == 409
    await created(guild.owner, guild, agent_card=card_of(humanReadableId=name))
    assert (await registry.http.get(f"/agents/{name}")).status_code == 200


async def test_a_token_for_an_organization_is_an_admin_s_alone(registry, guild):
    member, stranger = await guild.member(), await registry.developer()
    assert code(await ask(member, guild.slug)) == (403, "ORG_ROLE_REQUIRED")
    assert code(await ask(stranger, guild.slug)) == (404, "ORGANIZATION_UNKNOWN")
    assert code(await ask(stranger, "absent")) == (404, "ORGANIZATION_UNKNOWN")
    too_long = await ask(guild.owner, "x" * 65)
    assert too_long.status_code == 422


async def test_the_role_is_judged_again_when_the_agent_is_created(registry, guild):
    admin = await guild.member("admin")
    token = await token_of(admin, guild)
    assert (await guild.change(guild.owner, admin, "member")).status_code == 200
    assert code(await create(registry, token)) == (403, "ORG_ROLE_REQUIRED")
    assert (await guild.remove(guild.owner, admin)).status_code == 200
    assert code(await create(registry, token)) == (404, "ORGANIZATION_UNKNOWN")
    assert (await guild.read(guild.owner, "/agents"))["items"] == []
    # The refused token stays good.
    again = await guild.invite(admin.email, "admin")
    assert (await answer_invitation(admin, "accept", again)).status_code == 200
    assert (await create(registry, token)).status_code == 201


async def test_a_suspended_organization_gets_no_agent(registry, guild):
    token = await token_of(guild.owner, guild)
    enforcer = await registry.administrator("admin_enforcement")
    await registry.post(
        f"/admin/organizations/{guild.slug}/suspend", json={"reason": "Spam."}, headers=enforcer.headers
    )
    assert code(await create(registry, token)) == (409, "ORGANIZATION_NOT_ACTIVE")
    assert code(await ask(guild.owner, guild.slug)) == (409, "ORGANIZATION_NOT_ACTIVE")


async def test_a_narrow_key_needs_the_scope_of_organizations_as_well(registry, guild):
    narrow = await guild.owner.api_key("agents:create")
    assert code(await ask(narrow, guild.slug)) == (403, "SCOPE_MISSING")
    broader = await guild.owner.api_key("agents:create", "orgs:write")
    assert (await ask(broader, guild.slug)).status_code == 200


async def test_the_audit_names_the_developer_who_created_the_agent(guild):
    admin = await guild.member("admin")
    made = await created(admin, guild)
    newest = (await guild.read(guild.owner, "/audit"))["items"][0]
    assert (newest["act"], newest["target"], newest["actor"], newest["credential"]) == (
        "agent.create",
        made["agent_did"],
        await id_of(admin),
        "bootstrap-token",
    )
