"""Organizations: founded, described, read by those who may, deleted when they own nothing; a treasury from the first commit."""

from uuid import UUID

import pytest

from tests.organizations import code, found, id_of
from tests.registry import at_once


@pytest.fixture
async def registry(registry_of_file):
    return registry_of_file


@pytest.fixture
async def guild(registry):
    return await found(registry, description="Translates.")


async def post(who, **body):
    return await who.registry.post("/organizations", json=body, headers=who.headers)


async def test_the_founder_is_the_owner_and_the_treasury_is_an_account_of_the_ledger(guild):
    created = guild.created
    assert UUID(created.pop("id")).version == 4
    did = created.pop("treasury_did")
    assert created.pop("created_at").endswith("Z")
    assert created == {
        "slug": guild.slug,
        "name": "Guild of translators",
        "description": "Translates.",
        "visibility": "private",
        "status": "active",
        "role": "owner",
        "counts": {"members": 1, "agents": 0, "teams": 0},
    }
    payer = await guild.owner.agent()
    paid = await payer.transfer(did, "3")
    assert paid.status_code == 200, paid.text
    summary = await guild.read(guild.owner, "/summary")
    assert summary["balances"] == {"liquid": "3", "staked": "0", "escrow": "0"}
    assert summary["waiting_for_me"] == []


async def test_a_treasury_has_no_key_no_secret_and_an_unlisted_card(registry, guild):
    did = guild.created["treasury_did"]
    document = (await registry.get(f"/agents/{did}/did.json")).json()
    assert not document.get("verificationMethod")
    refused = await registry.post(f"/agents/{did}/rotate-secret", headers=guild.owner.headers)
    assert code(refused) == (403, "ORG_ROLE_REQUIRED")
    acting = await registry.post(f"/agents/{did}/act-token", headers=guild.owner.headers)
    assert code(acting) == (403, "ORG_ROLE_REQUIRED")
    card = (await registry.get(f"/agent-cards/{did}")).json()
    assert card["human_readable_id"] == f"{guild.slug}/treasury"
    found_cards = (await registry.get(f"/agent-cards?search={guild.slug}", headers={})).json()
    assert found_cards["items"] == []
    listed = (await registry.get("/agents", headers=guild.owner.headers)).json()
    assert did not in {agent["did"] for agent in listed["items"]}


async def test_an_organization_is_read_by_its_id_and_by_its_slug(guild):
    by_slug = await guild.read(guild.owner)
    by_id = await guild.registry.get(f"/organizations/{by_slug['id']}", headers=guild.owner.headers)
    assert by_id.json() == by_slug


async def test_a_private_organization_is_unknown_to_others_and_a_public_one_is_read_by_anyone(
    registry, guild
):
    stranger = await registry.developer()
    for path in ("", "/summary", "/members", "/audit", "/teams", "/agents", "/treasury/requests"):
        assert code(await guild.send(stranger, "GET", path)) == (404, "ORGANIZATION_UNKNOWN")
    assert code(await registry.get(f"/organizations/{guild.slug}")) == (404, "ORGANIZATION_UNKNOWN")
    changed = await guild.send(guild.owner, "PATCH", json={"visibility": "public", "name": "Guild"})
    assert (changed.status_code, changed.json()["visibility"]) == (200, "public")
    profile = (await registry.get(f"/organizations/{guild.slug}")).json()
    assert (profile["name"], profile["role"]) == ("Guild", None)
    assert code(await guild.send(stranger, "GET", "/members")) == (404, "ORGANIZATION_UNKNOWN")


@pytest.mark.parametrize(
    "slug", ["a", "A-B", "-ab", "ab-", "a--b", "a_b", "x" * 40, "treasury", "invitations", "admin", "agents"]
)
async def test_a_slug_that_is_malformed_or_reserved_is_refused(registry, slug):
    refused = await post(await registry.developer(), slug=slug, name="N")
    assert code(refused) == (422, "SLUG_REFUSED")


async def test_a_slug_that_reads_like_another_one_is_taken_for_ever(registry):
    guild = await found(registry, slug="moonlight")
    other = await registry.developer()
    assert code(await post(other, slug="moonlight", name="N")) == (409, "SLUG_TAKEN")
    assert code(await post(other, slug="moon1ight", name="N")) == (409, "SLUG_TAKEN")
    assert (await guild.send(guild.owner, "DELETE")).json() == {"deleted": True}
    assert code(await post(other, slug="moonlight", name="N")) == (409, "SLUG_TAKEN")


async def test_of_two_foundings_of_one_slug_at_once_one_is_refused(registry):
    founders = [await registry.developer() for _ in range(2)]
    answers = await at_once(*(post(one, slug="twin-slug", name="N") for one in founders))
    assert sorted(answer.status_code for answer in answers) == [201, 409]


async def test_a_slug_reserves_the_names_of_cards(registry):
    owner, stranger = await registry.developer(), await registry.developer()
    await stranger.agent(humanReadableId="weavers/loom")
    refused = await post(owner, slug="weavers", name="Weavers")
    assert code(refused) == (409, "HUMAN_READABLE_ID_TAKEN")
    guild = await found(registry, owner, slug="weavers-two")
    body = {
        "card_data": (await registry.get("/onboard/agent-card-template", headers=stranger.headers)).json()
    }
    body["card_data"]["humanReadableId"] = "weavers-two/loom"
    taken = await registry.post("/agent-cards", json=body, headers=stranger.headers)
    assert code(taken) == (409, "HUMAN_READABLE_ID_TAKEN")
    assert guild.created["role"] == "owner"


async def test_one_developer_owns_twenty_organizations_at_most(registry):
    owner = await registry.developer()
    for _ in range(20):
        await found(registry, owner)
    refused = await post(owner, slug="one-too-many", name="N")
    assert code(refused) == (409, "LIMIT_REACHED")
    page = (await registry.get("/organizations?limit=5", headers=owner.headers)).json()
    assert (len(page["items"]), page["pagination"]["total_items"]) == (5, 20)


async def test_only_an_admin_describes_and_only_an_owner_deletes(guild):
    member, admin = await guild.member("member"), await guild.member("admin")
    assert code(await guild.send(member, "PATCH", json={"name": "X"})) == (403, "ORG_ROLE_REQUIRED")
    assert (await guild.send(admin, "PATCH", json={"name": "X"})).json()["name"] == "X"
    assert code(await guild.send(admin, "DELETE")) == (403, "ORG_ROLE_REQUIRED")
    assert (await guild.send(guild.owner, "DELETE")).status_code == 200
    assert code(await guild.send(guild.owner, "GET")) == (404, "ORGANIZATION_UNKNOWN")


async def test_an_organization_with_an_agent_or_units_is_not_deleted(guild):
    payer, agent = await guild.owner.agent(), await guild.agent()
    did = guild.created["treasury_did"]
    assert (await payer.transfer(did, "2")).status_code == 200
    refused = await guild.send(guild.owner, "DELETE")
    assert code(refused) == (409, "ORGANIZATION_BLOCKED")
    assert [(one["kind"], one["agent_did"]) for one in refused.json()["blockers"]] == [
        ("agent", agent.did),
        ("balance", did),
    ]
    assert (await guild.read(guild.owner))["status"] == "active"


async def test_an_api_key_needs_the_scope_of_organizations(guild):
    reading, writing = await guild.owner.api_key("orgs:read"), await guild.owner.api_key("orgs:write")
    foreign = await guild.owner.api_key("agents:write")
    assert (await guild.send(reading, "GET", "/summary")).status_code == 200
    assert (await guild.send(foreign, "GET", "/summary")).status_code == 403
    assert (await guild.send(reading, "PATCH", json={"name": "X"})).status_code == 403
    assert (await guild.send(writing, "PATCH", json={"name": "X"})).status_code == 200


async def test_the_audit_names_actor_credential_act_and_target(guild):
    await guild.member("viewer")
    acts = (await guild.read(guild.owner, "/audit"))["items"]
    assert [one["act"] for one in acts] == ["member.join", "invitation.create", "organization.create"]
    assert acts[-1]["actor"] == await id_of(guild.owner)
    assert all(len(one["digest"]) == 64 and one["credential"] for one in acts)
    member = await guild.member("member")
    assert code(await guild.send(member, "GET", "/audit")) == (403, "ORG_ROLE_REQUIRED")


async def test_a_repeated_request_under_one_key_is_carried_out_once(registry):
    founder = await registry.developer()
    headers = {**founder.headers, "Idempotency-Key": "found-once"}
    body = {"slug": "repeated-guild", "name": "Repeated"}
    answers = [await registry.post("/organizations", json=body, headers=headers) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 201]
    assert answers[0].json() == answers[1].json()
    other = await registry.post("/organizations", json={**body, "name": "Other"}, headers=headers)
    assert code(other) == (422, "IDEMPOTENCY_KEY_REUSED")


ACTING = "Red \u202e team"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PATCH", "", {"name": ACTING}),
        ("PATCH", "", {"description": "At \u001b[2J ten."}),
        ("POST", "/treasury/budgets", {"name": ACTING, "amount": "1", "period": "once", "agent_did": "did:x:1"}),
        ("POST", "/treasury/requests", {"kind": "payment", "receiver_did": "did:x:1", "amount": "1", "note": ACTING}),
        ("POST", "/work-orders", {"title": ACTING, "spec": "S", "acceptance_criteria": "C", "amount": "1", "submit_days": 1,
                                  "review_days": 1, "bids_until": "2100-01-01T00:00:00Z"}),
    ],
    ids=["name", "description", "budget", "note", "work"],
)  # fmt: skip
async def test_texts_of_an_organization_have_no_characters_that_act(guild, method, path, body):
    refused = await guild.send(guild.owner, method, path, json=body)
    assert (refused.status_code, "control characters" in refused.text) == (422, True), refused.text
    assert (await guild.read(guild.owner))["name"] == guild.created["name"]


async def test_texts_of_an_organization_are_trimmed(guild):
    await guild.send(guild.owner, "PATCH", json={"name": "  Cafe\u0301 ", "description": " Translates.\n"})
    shown = await guild.read(guild.owner)
    assert (shown["name"], shown["description"]) == ("Caf\u00e9", "Translates.")
