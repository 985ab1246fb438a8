"""Organizations by the client: a call for each route, in both forms."""

from datetime import UTC, datetime, timedelta

import pytest

from hansa_client import DeveloperTokens
from hansa_client.errors import Conflict, Forbidden, NotFound
from hansa_client.records.organizations import ChangedMember, OrganizationRequest
from tests.client.conftest import Open
from tests.organizations import token_mailed_to
from tests.registry import PASSWORD, TestRegistry, card_of


async def developers(connect: Open, count: int):
    """Clients of so many developers, at most three."""
    clients = []
    for name in ("Ada", "Grace", "Edith")[:count]:
        client, email = connect(), f"{name.lower()}@example.org"
        await client.accounts.register(name, email, PASSWORD, accept_terms=True, is_of_age=True)
        await client.accounts.login(email, PASSWORD)
        clients.append(client)
    return clients


async def joined(owner, guest, registry, slug, role="member", **more):
    """The id of a developer who accepted an invitation."""
    profile = await guest.accounts.profile()
    await owner.organizations.invite(slug, profile.email, role=role, **more)
    accepted = await guest.organizations.accept(await token_mailed_to(registry, profile.email))
    assert accepted.role == role
    return profile.id


async def test_an_organization_is_founded_changed_and_deleted(connect: Open):
    (owner,) = await developers(connect, 1)
    made = await owner.organizations.found("atelier", "Atelier", key="found-1")
    again = await owner.organizations.found("atelier", "Atelier", key="found-1")
    assert (again.id, made.role, made.counts.members) == (made.id, "owner", 1)
    changed = await owner.organizations.change("atelier", visibility="public", description="Paints.")
    assert (changed.visibility, changed.description, changed.name) == ("public", "Paints.", "Atelier")
    assert [one.slug for one in (await owner.organizations.list()).items] == ["atelier"]
    assert (await owner.organizations.read(made.id)).slug == "atelier"
    summary = await owner.organizations.summary("atelier")
    assert (summary.balances.liquid, summary.waiting_for_me) == (0, [])
    acts = (await owner.organizations.audit("atelier")).items
    assert [one.act for one in acts] == ["organization.change", "organization.create"]
    assert (await owner.organizations.delete("atelier")).deleted
    with pytest.raises(NotFound):
        await owner.organizations.read("atelier")


async def test_members_join_change_and_leave(connect: Open, registry: TestRegistry):
    owner, guest, other = await developers(connect, 3)
    await owner.organizations.found("guild", "Guild")
    team = await owner.organizations.create_team("guild", "editors", "read")
    number = await joined(owner, guest, registry, "guild", team_ids=[team.id])
    members = (await owner.organizations.members("guild")).items
    assert [(one.role, one.teams) for one in members] == [("owner", []), ("member", ["editors"])]
    changed = await owner.organizations.change_member("guild", number, "owner")
    assert isinstance(changed, ChangedMember)
    third = await joined(owner, other, registry, "guild", "admin")
    asked = await owner.organizations.change_member("guild", third, "owner")
    assert isinstance(asked, OrganizationRequest)
    treasury = guest.treasury("guild")
    assert [one.request_id for one in (await treasury.requests()).items] == [asked.request_id]
    with pytest.raises(Forbidden):
        await owner.treasury("guild").approve(asked.request_id, password=PASSWORD)
    approved = await treasury.approve(asked.request_id, password=PASSWORD)
    assert (approved.status, len(approved.approvals)) == ("EXECUTED", 1)
    assert (await treasury.request(asked.request_id)).status == "EXECUTED"
    removal = await owner.organizations.remove_member("guild", third)
    assert isinstance(removal, OrganizationRequest)
    rejected = await treasury.reject(removal.request_id, reason="No.")
    assert (rejected.status, rejected.reason) == ("REJECTED", "No.")
    removal = await owner.organizations.remove_member("guild", third)
    assert (await owner.treasury("guild").cancel(removal.request_id)).status == "CANCELLED"
    left = await other.organizations.remove_member("guild", third)
    assert (left.role, left.secrets_to_rotate) == (None, [])


async def test_invitations_are_listed_revoked_and_declined(connect: Open, registry: TestRegistry):
    owner, guest = await developers(connect, 2)
    await owner.organizations.found("lodge", "Lodge")
    email = (await guest.accounts.profile()).email
    first = await owner.organizations.invite("lodge", email)
    (pending,) = (await owner.organizations.invitations("lodge")).items
    assert (pending.invitation_id, pending.email) == (first.invitation_id, email)
    # Sent now: mails that wait together are sent in any order.
    assert await token_mailed_to(registry, email)
    assert (await owner.organizations.revoke_invitation("lodge", first.invitation_id)).deleted
    await owner.organizations.invite("lodge", email, role="viewer")
    (own,) = (await guest.organizations.own_invitations()).items
    assert (own.organization.slug, own.role) == ("lodge", "viewer")
    declined = await guest.organizations.decline(await token_mailed_to(registry, email))
    assert declined.slug == "lodge"
    assert (await guest.organizations.own_invitations()).items == []


async def test_agents_are_born_taken_in_placed_and_released(connect: Open, registry: TestRegistry):
    owner, guest = await developers(connect, 2)
    await owner.organizations.found("workshop", "Workshop")
    number = await joined(owner, guest, registry, "workshop")
    born = await owner.agents.create(card=card_of("Born"), organization="workshop")
    assert born.initial_funding_status == "not_first_agent"
    await owner.agents.create(card=card_of("First"))
    own = await owner.agents.create(card=card_of("Own"))
    taken = await owner.organizations.take_agent_in("workshop", own.agent_did)
    assert taken.did == own.agent_did
    listed = (await guest.organizations.agents("workshop")).items
    assert {one.did for one in listed} == {born.agent_did, own.agent_did}
    made = await owner.organizations.create_team("workshop", "smiths", "read")
    assert (await owner.organizations.change_team("workshop", "smiths", "operate")).grant == "operate"
    await owner.organizations.add_to_team("workshop", "smiths", number)
    await owner.organizations.add_agent_to_team("workshop", "smiths", own.agent_did)
    (team,) = (await guest.organizations.teams("workshop")).items
    assert (team.id, team.members, team.agents) == (made.id, [number], [own.agent_did])
    await owner.organizations.remove_from_team("workshop", "smiths", number)
    await owner.organizations.remove_agent_from_team("workshop", "smiths", own.agent_did)
    with pytest.raises(NotFound):
        await owner.organizations.remove_agent_from_team("workshop", "smiths", own.agent_did)
    released = await owner.organizations.release_agent("workshop", own.agent_did)
    assert (released.kind, released.status) == ("release", "EXECUTED")
    assert (await owner.organizations.delete_team("workshop", "smiths")).deleted


async def test_an_owner_is_appointed_by_an_administrator_and_vetoed(connect: Open, registry: TestRegistry):
    owner, second, guest = await developers(connect, 3)
    await owner.organizations.found("house", "House")
    number = await joined(owner, second, registry, "house", "admin")
    await owner.organizations.change_member("house", number, "owner")
    appointee = await joined(owner, guest, registry, "house")
    with pytest.raises(Forbidden):
        await guest.organizations.appoint_owner("house", appointee, "Lost.")
    with pytest.raises(NotFound):
        await second.organizations.veto("house")
    support = await registry.administrator("admin_support")
    later = datetime.now(UTC) + timedelta(days=1)
    administrator = connect(developer=DeveloperTokens(support.token, "", later))
    with pytest.raises(Conflict):
        await administrator.organizations.appoint_owner("house", appointee, "Lost.")
    profile = await owner.accounts.profile()
    await registry.database.transaction(
        lambda tx: tx.execute(
            "INSERT INTO plumbing_admin_author (developer_id, barred_since) VALUES ($1, now())", profile.id
        )
    )
    appointed = await administrator.organizations.appoint_owner("house", appointee, "Lost.")
    assert (appointed.developer_id, appointed.status) == (appointee, "PENDING")
    assert (await second.organizations.veto("house")).status == "VETOED"


async def test_an_organization_is_suspended_and_reinstated_by_an_administrator(
    connect: Open, registry: TestRegistry
):
    (owner,) = await developers(connect, 1)
    made = await owner.organizations.found("depot", "Depot")
    born = await owner.agents.create(card=card_of("Born"), organization="depot")
    with pytest.raises(Forbidden):
        await owner.organizations.suspend("depot", "Stolen units.")
    enforcement = await registry.administrator("admin_enforcement")
    later = datetime.now(UTC) + timedelta(days=1)
    administrator = connect(developer=DeveloperTokens(enforcement.token, "", later))
    with pytest.raises(NotFound):
        await administrator.organizations.suspend("nowhere", "Stolen units.")
    suspended = await administrator.organizations.suspend("depot", "Stolen units.", key="suspended-1")
    again = await administrator.organizations.suspend("depot", "Stolen units.", key="suspended-1")
    assert again == suspended
    assert (suspended.organization_id, suspended.status) == (made.id, "suspended")
    assert {one.agent_did: one.registry for one in suspended.results} == {
        made.treasury_did: "suspended",
        born.agent_did: "suspended",
    }
    assert (await owner.organizations.read("depot")).status == "suspended"
    reinstated = await administrator.organizations.reinstate("depot", "The units are back.")
    assert (reinstated.status, {one.registry for one in reinstated.results}) == ("active", {"reinstated"})
    assert (await owner.organizations.read("depot")).status == "active"
