"""Members of an organization: roles, invitations, owners who change by more than half, and the last owner who stays."""

import pytest

from hansa.foundation.plumbing.room import ACCOUNT_END
from hansa.rooms.people.deletion import carry_out_due
from tests.notified import notified_of, subscribe
from tests.organizations import answer_invitation, code, found, id_of, token_mailed_to
from tests.registry import PASSWORD, at_once


@pytest.fixture
async def registry(registry_of_file):
    return registry_of_file


@pytest.fixture
async def guild(registry):
    return await found(registry)


async def expire_invitations(registry, email):
    await registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE organizations_invitation SET expires_at = now() - interval '1 second' WHERE email = $1",
            email,
        )
    )


async def test_an_invitation_makes_its_receiver_a_member_and_its_token_is_mailed_alone(registry, guild):
    joining = await registry.developer()
    answer = await guild.send(guild.owner, "POST", "/invitations", json={"email": joining.email.upper()})
    assert answer.status_code == 201
    assert sorted(answer.json()) == ["expires_at", "invitation_id"]
    mine = (await registry.get("/organizations/invitations/mine", headers=joining.headers)).json()["items"]
    assert [(one["organization"]["slug"], one["role"]) for one in mine] == [(guild.slug, "member")]
    token = await token_mailed_to(registry, joining.email)
    assert token not in f"{mine} {answer.text}"
    accepted = await answer_invitation(joining, "accept", token)
    assert (accepted.status_code, accepted.json()["role"]) == (200, "member")
    assert await guild.roles() == {await id_of(guild.owner): "owner", await id_of(joining): "member"}


async def test_a_forwarded_token_is_refused_and_stays_pending(registry, guild):
    invited, other = await registry.developer(), await registry.developer()
    token = await guild.invite(invited.email)
    assert code(await answer_invitation(other, "accept", token)) == (403, "INVITATION_FOR_ANOTHER")
    assert code(await answer_invitation(other, "decline", token)) == (403, "INVITATION_FOR_ANOTHER")
    assert (await answer_invitation(invited, "accept", token)).status_code == 200


async def test_an_api_key_accepts_no_invitation(registry, guild):
    invited = await registry.developer()
    token = await guild.invite(invited.email)
    key = await invited.api_key("*")
    assert code(await answer_invitation(key, "accept", token)) == (403, "SESSION_REQUIRED")


async def test_a_spent_a_revoked_an_expired_a_replaced_and_an_unknown_token_have_one_answer(registry, guild):
    spent, revoked, expired, replaced = [await registry.developer() for _ in range(4)]
    tokens = {one.email: await guild.invite(one.email) for one in (spent, revoked, expired, replaced)}
    assert (await answer_invitation(spent, "accept", tokens[spent.email])).status_code == 200
    pending = await guild.read(guild.owner, "/invitations")
    number = next(one["invitation_id"] for one in pending["items"] if one["email"] == revoked.email)
    assert (await guild.send(guild.owner, "DELETE", f"/invitations/{number}")).json() == {"deleted": True}
    await expire_invitations(registry, expired.email)
    newer = await guild.invite(replaced.email)
    refusals = [
        await answer_invitation(one, "accept", tokens[one.email])
        for one in (spent, revoked, expired, replaced)
    ]
    refusals.append(await answer_invitation(spent, "accept", "oit_unknown"))
    assert {code(one) for one in refusals} == {(404, "INVITATION_UNKNOWN")}
    assert len({one.json()["detail"] for one in refusals}) == 1
    assert (await answer_invitation(replaced, "decline", newer)).status_code == 200
    assert code(await answer_invitation(replaced, "accept", newer)) == (404, "INVITATION_UNKNOWN")


async def test_the_right_of_the_inviter_is_judged_again(registry, guild):
    admin, invited = await guild.member("admin"), await registry.developer()
    token = await guild.invite(invited.email, by=admin)
    assert (await guild.change(guild.owner, admin, "member")).status_code == 200
    assert code(await answer_invitation(invited, "accept", token)) == (404, "INVITATION_UNKNOWN")


async def test_an_invitation_gives_at_most_the_role_of_an_admin(guild):
    body = {"email": "someone@example.org", "role": "owner"}
    assert (await guild.send(guild.owner, "POST", "/invitations", json=body)).status_code == 422
    member = await guild.member("member")
    refused = await guild.send(member, "POST", "/invitations", json={"email": "someone@example.org"})
    assert code(refused) == (403, "ORG_ROLE_REQUIRED")


async def test_an_invitation_names_teams_of_its_organization_alone(registry, guild):
    other = await found(registry)
    foreign = await other.send(other.owner, "POST", "/teams", json={"slug": "foreign", "grant": "manage"})
    invited = {"email": "guest@example.org", "team_ids": [foreign.json()["id"]]}
    refused = await guild.send(guild.owner, "POST", "/invitations", json=invited)
    assert refused.status_code == 404
    assert (await guild.read(guild.owner, "/invitations"))["items"] == []


async def test_one_address_is_invited_five_times_a_day(registry, guild):
    for _ in range(5):
        await guild.invite("often@example.org")
    other = await found(registry)
    for one in (guild, other):
        refused = await one.send(one.owner, "POST", "/invitations", json={"email": "often@example.org"})
        assert code(refused) == (429, "QUOTA_REACHED")


async def test_of_two_acceptances_of_one_token_one_makes_a_member(registry, guild):
    invited = await registry.developer()
    token = await guild.invite(invited.email)
    answers = await at_once(*(answer_invitation(invited, "accept", token) for _ in range(2)))
    assert sorted(answer.status_code for answer in answers) == [200, 404]
    assert len(await guild.roles()) == 2


async def test_a_role_changes_only_members_below_it(guild):
    admin, other, member = await guild.member("admin"), await guild.member("admin"), await guild.member()
    assert code(await guild.change(member, member, "admin")) == (403, "ORG_ROLE_REQUIRED")
    assert code(await guild.change(admin, other, "member")) == (403, "ORG_ROLE_REQUIRED")
    assert code(await guild.remove(admin, other)) == (403, "ORG_ROLE_REQUIRED")
    assert code(await guild.change(admin, member, "owner")) == (403, "ORG_ROLE_REQUIRED")
    changed = await guild.change(admin, member, "admin")
    assert changed.json() == {"developer_id": await id_of(member), "role": "admin", "secrets_to_rotate": []}
    assert (await guild.change(guild.owner, member, "viewer")).json()["role"] == "viewer"
    assert (await guild.remove(guild.owner, other)).json()["role"] is None


async def test_anyone_may_leave_and_learns_which_secrets_were_read(guild):
    admin = await guild.member("admin")
    agent = await guild.agent()
    rotated = await guild.registry.post(f"/agents/{agent.did}/rotate-secret", headers=admin.headers)
    assert rotated.status_code == 200, rotated.text
    left = await guild.remove(admin, admin)
    assert left.json() == {"developer_id": await id_of(admin), "role": None, "secrets_to_rotate": [agent.did]}
    assert code(await guild.send(admin, "GET", "/members")) == (404, "ORGANIZATION_UNKNOWN")


async def test_the_last_owner_neither_leaves_nor_steps_down(guild):
    assert code(await guild.remove(guild.owner, guild.owner)) == (409, "LAST_OWNER")
    assert code(await guild.change(guild.owner, guild.owner, "admin")) == (409, "LAST_OWNER")
    await guild.member("owner")
    assert (await guild.change(guild.owner, guild.owner, "admin")).json()["role"] == "admin"


async def test_the_last_owner_cannot_delete_the_account(registry, guild):
    refused = await registry.post("/account/request-deletion", headers=guild.owner.headers)
    assert refused.status_code == 409
    [blocker] = refused.json()["blockers"]
    assert (blocker["kind"], blocker["agent_did"]) == ("organization", guild.created["treasury_did"])


async def test_the_deletion_of_an_account_ends_its_memberships_with_their_event(registry, guild):
    member = await guild.member("admin")
    number = await id_of(member)
    await subscribe(guild.owner, "organization.member_removed")
    assert (await registry.post("/account/request-deletion", headers=member.headers)).status_code == 200
    await registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE people_deletion SET effective_at = now(), next_try_at = now() WHERE developer_id = $1",
            number,
        )
    )
    await registry.database.transaction(lambda tx: carry_out_due(tx, ACCOUNT_END.of(registry.runtime)))
    assert number not in await guild.roles()
    removed = {
        "organization_id": guild.created["id"],
        "treasury_did": guild.created["treasury_did"],
        "developer_id": number,
        "role": None,
        "by": number,
    }
    queued = await notified_of(registry, guild.created["treasury_did"])
    assert ("organization.member_removed", removed) in queued
    newest = (await guild.read(guild.owner, "/audit"))["items"][0]
    assert (newest["act"], newest["actor"], newest["credential"]) == (
        "member.remove",
        number,
        "account-deletion",
    )


async def test_a_sole_owner_makes_another_one_at_once_by_a_login(guild):
    admin = await guild.member("admin")
    key = await guild.owner.api_key("*")
    assert code(await guild.change(key, admin, "owner")) == (403, "SESSION_REQUIRED")
    assert (await guild.change(guild.owner, admin, "owner")).json()["role"] == "owner"


async def test_more_than_half_of_all_owners_make_a_third_one(guild):
    second, admin = await guild.member("owner"), await guild.member("admin")
    asked = await guild.change(guild.owner, admin, "owner")
    assert asked.status_code == 202, asked.text
    request = asked.json()
    assert {
        name: request[name] for name in ("kind", "status", "approvals_needed", "approvals", "result")
    } == {
        "kind": "owners",
        "status": "PENDING",
        "approvals_needed": 1,
        "approvals": [],
        "result": None,
    }
    assert request["body"] == {"developer_id": await id_of(admin), "role": "owner"}
    number = request["request_id"]
    assert code(await guild.change(guild.owner, admin, "owner")) == (409, "REQUEST_EXISTS")
    assert code(await guild.approve(guild.owner, number)) == (403, "OWN_REQUEST")
    assert code(await guild.approve(admin, number)) == (403, "ORG_ROLE_REQUIRED")
    assert (await guild.approve(second, number, password="Wrong-Horse-8")).status_code == 401
    assert code(await guild.approve(await second.api_key("*"), number)) == (403, "SESSION_REQUIRED")
    waiting = (await guild.read(second, "/summary"))["waiting_for_me"]
    assert [one["request_id"] for one in waiting] == [number]
    done = await guild.approve(second, number)
    assert (done.status_code, done.json()["status"]) == (200, "EXECUTED")
    assert (await guild.roles())[await id_of(admin)] == "owner"
    assert code(await guild.approve(second, number)) == (409, "REQUEST_ENDED")
    assert (await guild.approve(second, number)).json()["error"]["context"] == {"state": "EXECUTED"}


async def test_one_of_two_owners_does_not_remove_the_other(guild):
    second = await guild.member("owner")
    assert code(await guild.remove(guild.owner, second)) == (409, "OWNERS_TOO_FEW")
    assert code(await guild.change(second, guild.owner, "viewer")) == (409, "OWNERS_TOO_FEW")


async def three_owners(guild):
    """The founder, a second and a third owner."""
    second, third = await guild.member("owner"), await guild.member("admin")
    asked = (await guild.change(guild.owner, third, "owner")).json()
    assert (await guild.approve(second, asked["request_id"])).json()["status"] == "EXECUTED"
    return second, third


async def test_two_of_three_owners_remove_the_third_whose_word_does_not_count(guild):
    second, third = await three_owners(guild)
    number = (await guild.remove(guild.owner, third)).json()["request_id"]
    for act in ("approve", "reject", "cancel"):
        body = {"password": PASSWORD} if act == "approve" else {}
        answer = await guild.send(third, "POST", f"/treasury/requests/{number}/{act}", json=body)
        assert code(answer) == (403, "OWN_REQUEST")
    assert (await guild.approve(second, number)).json()["status"] == "EXECUTED"
    assert await id_of(third) not in await guild.roles()


async def test_one_rejection_ends_a_request_and_its_initiator_may_cancel_it(guild):
    second, third = await three_owners(guild)
    admin = await guild.member("admin")
    first = (await guild.change(guild.owner, admin, "owner")).json()["request_id"]
    rejected = await guild.send(
        third, "POST", f"/treasury/requests/{first}/reject", json={"reason": "Not now."}
    )
    assert (rejected.json()["status"], rejected.json()["reason"]) == ("REJECTED", "Not now.")
    assert code(await guild.approve(second, first)) == (409, "REQUEST_ENDED")
    another = (await guild.change(guild.owner, admin, "owner")).json()["request_id"]
    cancelled = await guild.send(guild.owner, "POST", f"/treasury/requests/{another}/cancel")
    assert cancelled.json()["status"] == "CANCELLED"
    listed = await guild.read(second, "/treasury/requests")
    assert [one["request_id"] for one in listed["items"]][:2] == [another, first]


async def test_an_approval_counts_only_while_the_approver_is_an_owner(guild):
    second, third = await three_owners(guild)
    fourth, admin = await guild.member("admin"), await guild.member("admin")
    number = (await guild.change(guild.owner, fourth, "owner")).json()["request_id"]
    assert (await guild.approve(second, number)).json()["status"] == "EXECUTED"
    asked = (await guild.change(second, admin, "owner")).json()
    assert asked["approvals_needed"] == 2
    assert (await guild.approve(third, asked["request_id"])).json()["status"] == "PENDING"
    assert (await guild.change(third, third, "admin")).status_code == 200
    pending = await guild.read(fourth, f"/treasury/requests/{asked['request_id']}")
    assert (pending["status"], pending["approvals_needed"]) == ("PENDING", 1)
    assert (await guild.approve(fourth, asked["request_id"])).json()["status"] == "EXECUTED"


async def test_members_are_notified_and_no_event_holds_an_address(registry, guild):
    member, stranger = await guild.member(), await registry.developer()
    for one in (guild.owner, member, stranger):
        await subscribe(one, "organization.member_joined", "organization.member_invited")
    joining = await guild.member("viewer")
    queued = await notified_of(registry, guild.created["treasury_did"])
    joined = [data for kind, data in queued if kind == "organization.member_joined"]
    wanted = {
        "organization_id": guild.created["id"],
        "treasury_did": guild.created["treasury_did"],
        "developer_id": await id_of(joining),
        "role": "viewer",
        "by": await id_of(guild.owner),
    }
    assert [data for data in joined if data["developer_id"] == wanted["developer_id"]] == [wanted] * 2
    assert {data["developer_id"] for kind, data in queued if kind == "organization.member_invited"} == {None}
    assert joining.email not in str(queued)
