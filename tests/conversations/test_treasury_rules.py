"""Rules of a treasury, and control requests: no one person makes approvers, budgets or exceptions."""

import pytest

from hansa.foundation.plumbing.storage.page_facts import fact_columns
from hansa.rooms import organizations
from tests.notified import notified_of, subscribe
from tests.organizations import answer_invitation, code, found, id_of, token_mailed_to
from tests.treasuries import ONE_OWNER, act, fund, pay, put_rules, ruled, team_with


@pytest.fixture
async def registry(registry_of_file):
    return registry_of_file


@pytest.fixture
async def guild(registry):
    return await found(registry)


@pytest.fixture
async def admin(guild):
    return await guild.member("admin")


async def invite(guild, who, address, **more):
    return await guild.send(who, "POST", "/invitations", json={"email": address, **more})


async def place(guild, who, slug, member):
    return await guild.send(who, "PUT", f"/teams/{slug}/members/{await id_of(member)}")


async def test_the_first_rules_apply_at_once_and_are_read_by_every_member(guild, admin):
    written = await put_rules(guild, admin, tiers=[ONE_OWNER], per_day_max="100", allowlist=None)
    assert (written.status_code, written.json()) == (
        200,
        {"tiers": [ONE_OWNER], "per_day_max": "100", "unapproved_per_day_max": None, "allowlist": None},
    )
    viewer = await guild.member("viewer")
    assert (await guild.read(viewer, "/treasury"))["rules"] == written.json()
    assert code(await put_rules(guild, viewer, tiers=[])) == (403, "ORG_ROLE_REQUIRED")


@pytest.mark.parametrize(
    ("rules", "status"),
    [
        ({"tiers": [ONE_OWNER, ONE_OWNER]}, 422),
        ({"tiers": [ONE_OWNER | {"over": str(number)} for number in range(6)]}, 422),
        ({"tiers": [ONE_OWNER | {"approvals": 0}]}, 422),
        ({"tiers": [ONE_OWNER | {"approvals": 6}]}, 422),
        ({"tiers": [ONE_OWNER | {"over": "-1"}]}, 422),
        ({"tiers": [ONE_OWNER | {"from": "nobody"}]}, 404),
        ({"unapproved_per_day_max": "5"}, 422),
    ],
)
async def test_rules_that_are_none_are_refused(guild, rules, status):
    assert (await put_rules(guild, **rules)).status_code == status


TIGHTER = [
    {"tiers": [ONE_OWNER | {"over": "5"}]},
    {"tiers": [ONE_OWNER | {"approvals": 2}]},
    {"tiers": [ONE_OWNER, ONE_OWNER | {"over": "50", "approvals": 2}]},
    {"tiers": [ONE_OWNER], "per_day_max": "50"},
    {"tiers": [ONE_OWNER], "allowlist": []},
    {"tiers": [ONE_OWNER], "unapproved_per_day_max": "1"},
]
LOOSER = [
    {"tiers": []},
    {"tiers": [ONE_OWNER | {"over": "11"}]},
    {"tiers": [ONE_OWNER | {"from": "admin"}]},
    {"tiers": [ONE_OWNER | {"approvals": 2, "from": "buyers"}]},
    {"tiers": [ONE_OWNER], "unapproved_per_day_max": "11"},
    # Beyond the sum of a day the lowest tier counts, which would be weaker.
    {"tiers": [ONE_OWNER | {"over": "5", "from": "buyers"}, ONE_OWNER]},
    {"tiers": [ONE_OWNER | {"over": "5"}, ONE_OWNER | {"over": "20", "from": "admin"}]},
]


@pytest.mark.parametrize("rules", TIGHTER)
async def test_rules_that_are_tighter_in_every_member_apply_at_once(guild, admin, rules):
    await ruled(guild, ONE_OWNER)
    assert (await put_rules(guild, admin, **rules)).status_code == 200


@pytest.mark.parametrize("rules", LOOSER)
async def test_other_rules_need_the_approvals_of_the_highest_tier(guild, admin, rules):
    await team_with(guild, "buyers", admin)
    await ruled(guild, ONE_OWNER)
    asked = await put_rules(guild, admin, **rules)
    assert (asked.status_code, asked.json()["kind"], asked.json()["approvals_needed"]) == (202, "rules", 1)
    assert (await guild.read(admin, "/treasury"))["rules"]["tiers"] == [ONE_OWNER]
    assert (await guild.approve(guild.owner, asked.json()["request_id"])).json()["status"] == "EXECUTED"
    assert (await guild.read(admin, "/treasury"))["rules"]["tiers"] == rules["tiers"]


async def test_a_larger_maximum_and_a_longer_allowlist_need_approvals(registry, guild, admin):
    first, second = [(await registry.agent()).did for _ in range(2)]
    await ruled(guild, ONE_OWNER, per_day_max="10", allowlist=[first])
    stated = {"tiers": [ONE_OWNER], "per_day_max": "10", "allowlist": [first]}
    for change in (
        {"per_day_max": "10.1"},
        {"per_day_max": None},
        {"allowlist": [first, second]},
        {"allowlist": None},
    ):
        assert (await put_rules(guild, admin, **stated | change)).status_code == 202
    assert (await put_rules(guild, admin, **stated)).status_code == 200


async def test_a_team_of_requested_rules_that_has_got_members_since_is_refused(guild, admin):
    member = await guild.member()
    await team_with(guild, "buyers", admin)
    await ruled(guild, ONE_OWNER)
    asked = (await put_rules(guild, admin, tiers=[ONE_OWNER | {"from": "buyers"}])).json()
    assert asked["body"]["teams"] == {"buyers": [await id_of(admin)]}
    await place(guild, admin, "buyers", member)
    late = (await guild.approve(guild.owner, asked["request_id"])).json()
    assert late["status"] == "PENDING"
    assert "members since" in late["reason"]


async def test_the_tier_of_the_creation_and_that_of_the_execution_both_bind(registry, guild, admin):
    await fund(guild)
    second = await guild.member("admin")
    await ruled(guild, ONE_OWNER)
    payee = await registry.agent()
    number = (await pay(guild, payee, "20", admin)).json()["request_id"]
    changed = (await put_rules(guild, admin, tiers=[ONE_OWNER | {"approvals": 2, "from": "admin"}])).json()
    assert (await guild.approve(guild.owner, changed["request_id"])).json()["status"] == "EXECUTED"
    assert (await guild.read(admin, f"/treasury/requests/{number}"))["approvals_needed"] == 2
    # Two admins meet the tier of now; the tier of the creation needs an owner.
    assert (await guild.approve(second, number)).json()["status"] == "PENDING"
    assert (await guild.approve(guild.owner, number)).json()["status"] == "EXECUTED"


async def waiting_for(registry, who):
    """The ids of the requests that wait for a person; the home page counts as many."""
    person = await id_of(who)
    listed = await registry.database.read(lambda tx: organizations.waiting_for_person(tx, person, 10))
    (counted,) = fact_columns({"requests": organizations.REQUESTS_WAITING})
    statement = f"SELECT {counted} FROM (SELECT $1::bigint AS developer_id) asked"
    assert await registry.database.read(lambda tx: tx.fetchval(statement, person)) == len(listed)
    return [str(one.id) for one in listed]


async def test_a_request_waits_for_those_who_may_approve_it_by_the_rules_of_now(registry, guild, admin):
    await fund(guild)
    second, team_mate = await guild.member("admin"), await guild.member()
    await team_with(guild, "finance", team_mate)
    await ruled(guild, ONE_OWNER, unapproved_per_day_max="30")
    payee = await registry.agent()
    number = (await pay(guild, payee, "20", admin)).json()["request_id"]
    assert [await waiting_for(registry, one) for one in (guild.owner, second, admin)] == [[number], [], []]
    changed = (await put_rules(guild, admin, tiers=[ONE_OWNER | {"approvals": 2, "from": "admin"}])).json()
    assert (await guild.approve(guild.owner, changed["request_id"])).json()["status"] == "EXECUTED"
    assert [await waiting_for(registry, one) for one in (guild.owner, second, admin)] == [
        [number],
        [number],
        [],
    ]
    changed = (
        await put_rules(guild, admin, tiers=[{"over": "30", "approvals": 1, "from": "finance"}])
    ).json()
    assert await waiting_for(registry, second) == [number, changed["request_id"]]
    for one in (guild.owner, second):
        await guild.approve(one, changed["request_id"])
    # Below every tier nothing binds but the creation, until the sum of a day without approvals is passed.
    assert [await waiting_for(registry, one) for one in (second, team_mate)] == [[], []]
    assert (await pay(guild, payee, "15", admin)).json()["status"] == "EXECUTED"
    assert [await waiting_for(registry, one) for one in (guild.owner, second, team_mate)] == [
        [number],
        [],
        [number],
    ]


async def test_approvals_are_counted_of_those_who_still_hold_the_right(registry, guild, admin):
    await fund(guild)
    second, third = [await guild.member("admin") for _ in range(2)]
    await ruled(guild, ONE_OWNER | {"approvals": 2, "from": "admin"})
    number = (await pay(guild, await registry.agent(), "20", admin)).json()["request_id"]
    assert (await guild.approve(second, number)).json()["status"] == "PENDING"
    assert (await guild.change(guild.owner, second, "member")).status_code == 200
    pending = (await guild.approve(third, number)).json()
    assert (pending["status"], pending["executes_at"]) == ("PENDING", None)
    assert (await guild.approve(guild.owner, number)).json()["status"] == "EXECUTED"


async def test_an_invitation_that_gives_a_right_to_approve_is_sent_after_approvals(registry, guild, admin):
    await ruled(guild, {**ONE_OWNER, "from": "admin"})
    joining = await registry.developer()
    asked = await invite(guild, admin, joining.email, role="admin")
    assert (asked.status_code, asked.json()["kind"], asked.json()["status"]) == (202, "grant", "PENDING")
    assert not [mail for mail in await registry.outbox() if mail["to"] == joining.email.lower()]
    assert (await guild.approve(guild.owner, asked.json()["request_id"])).json()["status"] == "EXECUTED"
    token = await token_mailed_to(registry, joining.email.lower())
    assert (await answer_invitation(joining, "accept", token)).status_code == 200
    assert (await guild.roles())[await id_of(joining)] == "admin"
    # A member approves nothing under these rules.
    assert (await invite(guild, admin, "guest@example.org", role="member")).status_code == 201


async def test_an_invitation_of_before_the_rules_makes_no_approver(registry, guild, admin):
    joining = await registry.developer()
    token = await guild.invite(joining.email, "admin", by=admin)
    await ruled(guild, {**ONE_OWNER, "from": "admin"})
    assert code(await answer_invitation(joining, "accept", token)) == (409, "GRANT_MISSING")
    assert await id_of(joining) not in await guild.roles()


async def test_a_role_that_gives_a_right_to_approve_needs_approvals(guild, admin):
    member = await guild.member()
    await ruled(guild, {**ONE_OWNER, "from": "admin"})
    asked = await guild.change(admin, member, "admin")
    assert (asked.status_code, asked.json()["kind"]) == (202, "grant")
    assert asked.json()["body"] == {"act": "role", "developer_id": await id_of(member), "role": "admin"}
    assert (await guild.approve(guild.owner, asked.json()["request_id"])).json()["status"] == "EXECUTED"
    assert (await guild.roles())[await id_of(member)] == "admin"
    assert (await guild.change(guild.owner, member, "member")).status_code == 200


async def test_a_sole_owner_makes_no_owner_who_approves_alone(guild, admin):
    await ruled(guild, ONE_OWNER)
    asked = await guild.change(guild.owner, admin, "owner")
    assert (asked.status_code, asked.json()["kind"]) == (202, "grant")
    # There is no other owner, so that a day of delay replaces the approval.
    assert asked.json()["executes_at"] is not None


async def test_an_approver_of_a_lower_tier_becomes_one_of_a_higher_tier_after_approvals(guild, admin):
    await ruled(guild, {**ONE_OWNER, "from": "admin"}, {**ONE_OWNER, "over": "50"})
    asked = await guild.change(guild.owner, admin, "owner")
    assert (asked.status_code, asked.json()["kind"]) == (202, "grant")
    assert (await guild.roles())[await id_of(admin)] == "admin"


async def test_a_place_in_a_team_that_approves_needs_approvals(guild, admin):
    member, treasurer = await guild.member(), await guild.member()
    await team_with(guild, "finance", treasurer)
    await team_with(guild, "buyers")
    await ruled(guild, {**ONE_OWNER, "from": "finance"})
    assert (await place(guild, admin, "buyers", member)).status_code == 200
    asked = await place(guild, admin, "finance", member)
    assert (asked.status_code, asked.json()["kind"], asked.json()["body"]["act"]) == (202, "grant", "team")
    assert code(await guild.approve(member, asked.json()["request_id"])) == (403, "OWN_REQUEST")
    assert (await guild.approve(treasurer, asked.json()["request_id"])).json()["status"] == "EXECUTED"
    assert (await place(guild, admin, "finance", member)).status_code == 200


async def test_a_release_needs_the_approvals_of_the_highest_tier(guild):
    second = await guild.member("owner")
    await guild.owner.agent()
    agent = await guild.agent()
    await ruled(guild, ONE_OWNER)
    asked = await guild.send(guild.owner, "POST", f"/agents/{agent.did}/release")
    assert (asked.status_code, asked.json()["kind"], asked.json()["status"]) == (202, "release", "PENDING")
    assert code(await guild.send(guild.owner, "POST", f"/agents/{agent.did}/release")) == (
        409,
        "REQUEST_EXISTS",
    )
    assert [one["did"] for one in (await guild.read(second, "/agents"))["items"]] == [agent.did]
    assert (await guild.approve(second, asked.json()["request_id"])).json()["status"] == "EXECUTED"
    assert (await guild.read(second, "/agents"))["items"] == []


async def test_a_request_whose_initiator_has_lost_the_role_is_not_carried_out(registry, guild, admin):
    await fund(guild)
    await ruled(guild, ONE_OWNER)
    number = (await pay(guild, await registry.agent(), "20", admin)).json()["request_id"]
    await guild.remove(guild.owner, admin)
    late = (await guild.approve(guild.owner, number)).json()
    assert (late["status"], late["reason"]) == (
        "PENDING",
        "The initiator of the request does not have the role any more that it took.",
    )
    assert (await act(guild, guild.owner, number, "cancel")).json()["status"] == "CANCELLED"


async def test_no_event_of_a_grant_holds_an_address(registry, guild, admin):
    await ruled(guild, {**ONE_OWNER, "from": "admin"})
    await subscribe(guild.owner, "treasury.request_created")
    await invite(guild, admin, "secret.guest@example.org", role="admin")
    queued = await notified_of(registry, guild.created["treasury_did"])
    assert "secret.guest" not in str(queued)
