"""Owners whom an administrator appoints, where too few owners can act: a week after notice to the members, unless an owner vetoes."""

from datetime import datetime, timedelta

import pytest

from hansa.rooms.organizations.appointments import CARRYING_OUT
from tests.organizations import code, found, id_of
from tests.registry import at_once, text_of
from tests.running_jobs import run_scheduled_transactions


@pytest.fixture
async def registry(registry_of_file):
    return registry_of_file


@pytest.fixture
async def guild(registry):
    return await found(registry)


@pytest.fixture
async def support(registry):
    return await registry.administrator("admin_support")


async def suspend(registry, who):
    enforcer = await registry.administrator("admin_enforcement")
    path = f"/admin/developers/{await id_of(who)}"
    answer = await registry.post(
        f"{path}/suspend", json={"reason": "Spam."}, headers={**enforcer.headers, **registry.elsewhere()}
    )
    assert answer.status_code == 200, answer.text


async def reinstate(registry, who):
    enforcer = await registry.administrator("admin_enforcement")
    path = f"/admin/developers/{await id_of(who)}/reinstate"
    assert (await registry.post(path, json={}, headers=enforcer.headers)).status_code == 200


async def appoint(support, guild, who, *, key=None, reason="The owner is lost."):
    return await support.registry.post(
        f"/admin/organizations/{guild.slug}/owners",
        json={"developer_id": await id_of(who), "reason": reason},
        headers={**support.headers, **({"Idempotency-Key": key} if key else {})},
    )


async def appointed(support, guild, who):
    answer = await appoint(support, guild, who)
    assert answer.status_code == 201, answer.text
    return answer.json()


async def veto(who, guild, **headers):
    return await who.registry.post(
        f"/organizations/{guild.slug}/owners/veto", headers={**who.headers, **headers}
    )


async def let_the_notice_end(registry, appointment):
    await registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE organizations_appointment SET effective_at = now() WHERE id = $1::text::uuid",
            appointment["id"],
        )
    )


async def carry_out(registry, appointment):
    """Let the notice end and the job run; returns the status of the appointment."""
    await let_the_notice_end(registry, appointment)
    await run_scheduled_transactions(registry.runtime, CARRYING_OUT)
    return await status_of(registry, appointment)


async def status_of(registry, appointment):
    return await registry.database.query(
        lambda tx: tx.fetchval(
            "SELECT status FROM organizations_appointment WHERE id = $1::text::uuid", appointment["id"]
        )
    )


async def roles(registry, guild):
    rows = await registry.database.query(
        lambda tx: tx.fetch(
            "SELECT developer_id, role FROM organizations_member WHERE organization_id = $1::text::uuid AND role IS NOT NULL",
            guild.created["id"],
        )
    )
    return {row["developer_id"]: row["role"] for row in rows}


async def test_an_owner_is_appointed_a_week_after_the_notice(registry, guild, support):
    member = await guild.member()
    await suspend(registry, guild.owner)
    appointment = await appointed(support, guild, member)
    assert appointment == {
        "id": appointment["id"],
        "organization_id": guild.created["id"],
        "developer_id": await id_of(member),
        "reason": "The owner is lost.",
        "status": "PENDING",
        "created_at": appointment["created_at"],
        "effective_at": appointment["effective_at"],
        "ended_at": None,
    }
    begun, effective = (datetime.fromisoformat(appointment[name]) for name in ("created_at", "effective_at"))
    assert effective - begun == timedelta(days=7)
    await run_scheduled_transactions(registry.runtime, CARRYING_OUT)
    assert (await roles(registry, guild))[await id_of(member)] == 2
    assert await carry_out(registry, appointment) == "EXECUTED"
    assert (await roles(registry, guild))[await id_of(member)] == 4


async def test_one_who_is_no_member_joins_as_an_owner(registry, guild, support):
    outsider = await registry.developer()
    await suspend(registry, guild.owner)
    assert await carry_out(registry, await appointed(support, guild, outsider)) == "EXECUTED"
    profile = await guild.read(outsider)
    assert (profile["role"], profile["counts"]["members"]) == ("owner", 2)
    acts = (await guild.read(outsider, "/audit"))["items"]
    assert [(one["act"], one["credential"]) for one in acts[:2]] == [
        ("member.join", "administrator"),
        ("owner.appoint", "administrator"),
    ]


async def test_every_member_and_the_appointed_get_a_mail(registry, guild, support):
    members = [guild.owner, await guild.member(), await guild.member("viewer")]
    outsider, stranger = await registry.developer(), await registry.developer()
    await suspend(registry, guild.owner)
    appointment = await appointed(support, guild, outsider)
    received = {
        mail["to"]: text_of(mail)
        for mail in await registry.outbox()
        if mail["subject"] == "An owner is appointed to an organization"
    }
    assert {one.email for one in [*members, outsider]} <= received.keys()
    assert stranger.email not in received
    text = received[members[1].email]
    assert f"appointed the developer {appointment['developer_id']}" in " ".join(text.split())
    assert "The owner is lost." in text
    assert f"{guild.slug}/owners/veto" in text
    assert members[2].email not in text


async def test_an_owner_who_can_act_vetoes(registry, guild, support):
    second, member = await guild.member("owner"), await guild.member()
    await suspend(registry, guild.owner)
    appointment = await appointed(support, guild, member)
    assert code(await veto(member, guild)) == (403, "ORG_ROLE_REQUIRED")
    assert code(await veto(await registry.developer(), guild)) == (404, "ORGANIZATION_UNKNOWN")
    assert code(await veto(guild.owner, guild)) == (403, "DEVELOPER_SUSPENDED")
    vetoed = await veto(second, guild)
    assert (vetoed.status_code, vetoed.json()["status"]) == (200, "VETOED")
    assert vetoed.json()["ended_at"] is not None
    assert code(await veto(second, guild)) == (404, "APPOINTMENT_UNKNOWN")
    assert await carry_out(registry, appointment) == "VETOED"
    assert (await roles(registry, guild))[await id_of(member)] == 2
    assert (await guild.read(second, "/audit"))["items"][0]["act"] == "owner.veto"


async def test_a_repeated_veto_has_the_first_answer(registry, guild, support):
    second, member = await guild.member("owner"), await guild.member()
    await suspend(registry, guild.owner)
    await appointed(support, guild, member)
    first, again = [await veto(second, guild, **{"Idempotency-Key": "veto-1"}) for _ in range(2)]
    assert (first.status_code, again.json()) == (200, first.json())
    assert again.headers["idempotent-replayed"] == "true"


async def test_owners_who_can_act_need_no_administrator(registry, guild, support):
    member = await guild.member()
    assert code(await appoint(support, guild, member)) == (409, "OWNERS_CAN_ACT")
    second = await guild.member("owner")
    refused = await appoint(support, guild, member)
    assert refused.json()["error"]["context"] == {"state": "active", "owners": 2, "able": 2}
    # More than half of two owners are both.
    await suspend(registry, second)
    assert (await appoint(support, guild, member)).status_code == 201


async def test_owners_who_can_act_again_end_the_appointment(registry, guild, support):
    member = await guild.member()
    await suspend(registry, guild.owner)
    appointment = await appointed(support, guild, member)
    await reinstate(registry, guild.owner)
    assert await carry_out(registry, appointment) == "LAPSED"
    assert (await roles(registry, guild))[await id_of(member)] == 2
    newest = (await guild.read(guild.owner, "/audit"))["items"][0]
    assert newest["act"] == "owner.appointment.lapse"


async def test_one_who_is_suspended_meanwhile_is_no_owner(registry, guild, support):
    member = await guild.member()
    await suspend(registry, guild.owner)
    appointment = await appointed(support, guild, member)
    await suspend(registry, member)
    assert await carry_out(registry, appointment) == "LAPSED"


async def test_a_suspended_organization_gets_no_owner(registry, guild, support):
    member = await guild.member()
    await suspend(registry, guild.owner)
    appointment = await appointed(support, guild, member)
    enforcer = await registry.administrator("admin_enforcement")
    path = f"/admin/organizations/{guild.slug}/suspend"
    assert (await registry.post(path, json={"reason": "Spam."}, headers=enforcer.headers)).is_success
    assert await carry_out(registry, appointment) == "LAPSED"
    assert code(await appoint(support, guild, member)) == (409, "ORGANIZATION_NOT_ACTIVE")


async def test_an_administrator_appoints_neither_itself_nor_to_an_own_organization(registry, guild, support):
    await suspend(registry, guild.owner)
    assert code(await appoint(support, guild, support)) == (403, "APPOINTMENT_OF_CALLER")
    own = await found(registry, support)
    assert code(await appoint(support, own, guild.owner)) == (403, "OWN_AGENT")


async def test_who_cannot_be_an_owner_is_refused(registry, guild, support):
    barred = await guild.member()
    await suspend(registry, guild.owner)
    await suspend(registry, barred)
    assert code(await appoint(support, guild, barred)) == (409, "NOT_APPOINTABLE")
    assert code(await appoint(support, guild, guild.owner)) == (409, "NOT_APPOINTABLE")
    unknown = await registry.post(
        f"/admin/organizations/{guild.slug}/owners",
        json={"developer_id": 10**12, "reason": "Lost."},
        headers=support.headers,
    )
    assert code(unknown) == (404, "APPOINTEE_UNKNOWN")
    absent = await registry.post(
        "/admin/organizations/absent/owners",
        json={"developer_id": 1, "reason": "Lost."},
        headers=support.headers,
    )
    assert code(absent) == (404, "ORGANIZATION_UNKNOWN")
    for body in (
        {"developer_id": 0, "reason": "x"},
        {"developer_id": 1, "reason": "  "},
        {"developer_id": 1},
    ):
        refused = await registry.post(
            f"/admin/organizations/{guild.slug}/owners", json=body, headers=support.headers
        )
        assert refused.status_code == 422


async def test_of_two_appointments_at_once_one_is_pending(registry, guild, support):
    one, other = await guild.member(), await guild.member()
    await suspend(registry, guild.owner)
    answers = await at_once(*(appoint(support, guild, who) for who in (one, other)))
    assert sorted(answer.status_code for answer in answers) == [201, 409]
    (refused,) = [answer for answer in answers if answer.status_code == 409]
    assert refused.json()["error"]["code"] == "APPOINTMENT_PENDING"


async def test_a_repeated_appointment_has_the_first_answer_and_is_recorded_once(registry, guild, support):
    member = await guild.member()
    await suspend(registry, guild.owner)
    first, again = [await appoint(support, guild, member, key="appoint-1") for _ in range(2)]
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json() == first.json()
    other = await appoint(support, guild, member, key="appoint-1", reason="Another reason.")
    assert code(other) == (422, "IDEMPOTENCY_KEY_REUSED")
    recorded = await registry.database.query(
        lambda tx: tx.fetchval(
            "SELECT count(*) FROM plumbing_admin_act WHERE act = 'organization.appoint_owner' AND subject = $1",
            guild.created["id"],
        )
    )
    assert recorded == 1


async def test_it_takes_the_area_of_support(registry, guild):
    member = await guild.member()
    await suspend(registry, guild.owner)
    enforcer = await registry.administrator("admin_enforcement")
    assert (await appoint(enforcer, guild, member)).status_code == 403
    assert (await appoint(member, guild, member)).status_code == 403


async def test_an_interrupted_job_appoints_nobody_and_the_next_one_does(registry, guild, support):
    outsider = await registry.developer()
    await suspend(registry, guild.owner)
    appointment = await appointed(support, guild, outsider)
    await let_the_notice_end(registry, appointment)
    number = await id_of(outsider)

    async def forbid(tx):
        await tx.execute(
            f"ALTER TABLE organizations_member ADD CONSTRAINT interrupted CHECK (developer_id <> {number})"
        )

    await registry.database.transaction(forbid)
    with pytest.raises(Exception, match="interrupted"):
        await run_scheduled_transactions(registry.runtime, CARRYING_OUT)
    assert await status_of(registry, appointment) == "PENDING"
    await registry.database.transaction(
        lambda tx: tx.execute("ALTER TABLE organizations_member DROP CONSTRAINT interrupted")
    )
    await run_scheduled_transactions(registry.runtime, CARRYING_OUT)
    assert await status_of(registry, appointment) == "EXECUTED"
    assert (await roles(registry, guild))[number] == 4
