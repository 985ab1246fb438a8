"""Invitations: made by administrators, used at registration, never worth more than their author."""

import re
from datetime import datetime, timedelta

import httpx2
import pytest

from hansa.foundation.values.areas import ADMIN_AREAS
from tests.registry import PASSWORD, StartRegistry, TestDeveloper, TestRegistry, at_once

INVITES = "/admin/invite-codes"
CODE = re.compile(r"HANSA(-[0-9A-HJKMNP-TV-Z]{4}){4}")


@pytest.fixture
async def admin(registry: TestRegistry) -> TestDeveloper:
    return await registry.administrator("admin_support")


async def generate(who: TestDeveloper, **body: object) -> httpx2.Response:
    return await who.registry.post(f"{INVITES}/generate", json=body, headers=who.headers)


async def made(who: TestDeveloper, **body: object) -> list[dict]:
    answer = await generate(who, **body)
    assert answer.status_code == 201, answer.text
    return answer.json()


async def one_code(who: TestDeveloper, **body: object) -> str:
    return (await made(who, **body))[0]["code"]


async def revoke(who: TestDeveloper, code: str) -> httpx2.Response:
    return await who.registry.http.delete(f"/api/v1{INVITES}/{code}", headers=who.headers)


async def listed(who: TestDeveloper) -> list[dict]:
    answer = await who.registry.get(INVITES, headers=who.headers)
    assert answer.status_code == 200, answer.text
    return answer.json()["items"]


async def register(registry: TestRegistry, name: str, code: str | None, **more: object) -> httpx2.Response:
    body = {
        "name": name,
        "email": f"{name.lower()}@example.org",
        "password": PASSWORD,
        "tos_accepted": True,
        "age_confirmed": True,
        "invite_code": code,
        **more,
    }
    return await registry.post("/auth/register", json=body, headers=registry.elsewhere())


async def registers(registry: TestRegistry, name: str, code: str | None) -> int:
    answer = await register(registry, name, code)
    if answer.status_code == 400:
        assert answer.json()["error"]["code"] == "INVITE_CODE_UNKNOWN"
    return answer.status_code


async def logged_in(registry: TestRegistry, name: str) -> TestDeveloper:
    form = {"username": f"{name.lower()}@example.org", "password": PASSWORD}
    answer = await registry.post("/auth/login", data=form, headers=registry.elsewhere())
    assert answer.status_code == 200, answer.text
    return TestDeveloper(registry, form["username"], answer.json()["access_token"])


async def change(registry: TestRegistry, statement: str) -> None:
    await registry.database.transaction(lambda tx: tx.execute(statement))


async def areas_of(registry: TestRegistry, name: str) -> list[str]:
    return await registry.database.read(
        lambda tx: tx.fetchval("SELECT areas FROM people_developer WHERE name = $1", name)
    )


async def test_codes_are_made_in_numbers_and_each_has_an_address(admin: TestDeveloper):
    invites = await made(admin, count=3, max_uses=2, expires_days=7, note="For the pilots")
    assert len({invite["code"] for invite in invites}) == 3
    for invite in invites:
        assert CODE.fullmatch(invite["code"])
        sign_up = f"{admin.registry.settings.base_url}/sign-up"
        assert invite["invite_url"] == f"{sign_up}#invite_code={invite['code']}"
        assert (invite["state"], invite["uses"], invite["max_uses"]) == ("active", 0, 2)
        assert (invite["note"], invite["grants_admin"], invite["admin_flags"]) == (
            "For the pilots",
            False,
            [],
        )
        made_at, ends_at = (datetime.fromisoformat(invite[name]) for name in ("created_at", "expires_at"))
        assert ends_at - made_at == timedelta(days=7)


async def test_without_a_word_one_code_is_made_for_one_use_within_thirty_days(admin: TestDeveloper):
    (invite,) = await made(admin)
    assert (invite["max_uses"], invite["note"]) == (1, None)
    made_at, ends_at = (datetime.fromisoformat(invite[name]) for name in ("created_at", "expires_at"))
    assert ends_at - made_at == timedelta(days=30)
    assert (await made(admin, expires_days=None))[0]["expires_at"] is None


async def test_an_invitation_that_makes_no_sense_is_not_made(admin: TestDeveloper):
    for body in (
        *({"count": count} for count in (0, -1, 101, 10**20, "1", True)),
        *({"max_uses": uses} for uses in (0, -1, 10_001)),
        *({"expires_days": days} for days in (0, -1, 3651, "7")),
        *(
            {"grants_admin": True, "admin_flags": flags}
            for flags in (["admin_everything"], "admin_support", [1])
        ),
        {"admin_flags": ["admin_support"]},
        {"note": "n" * 501},
    ):
        assert (await generate(admin, **body)).status_code == 422, body
    assert await listed(admin) == []


async def test_a_code_is_kept_as_a_hash_and_the_list_shows_how_it_begins(
    registry: TestRegistry, admin: TestDeveloper
):
    codes = [invite["code"] for invite in await made(admin, count=2)]
    rows = await registry.database.read(lambda tx: tx.fetch("SELECT i::text AS row FROM people_invite i"))
    shown = (await registry.get(INVITES, headers=admin.headers)).text
    for code in codes:
        assert code not in shown
        assert code not in str(rows)
    invites = await listed(admin)
    assert [invite["code_prefix"] for invite in invites] == [code[:10] for code in reversed(codes)]
    assert {invite["created_by_name"] for invite in invites} == {admin.email.partition("@")[0]}


async def test_registration_by_invitation_takes_a_code_of_ours_and_no_other(start_registry: StartRegistry):
    registry = await start_registry(beta_invite_required=True)
    admin = await registry.administrator("admin_support")
    code = await one_code(admin)
    assert (await register(registry, "Ada", None)).status_code == 422
    assert (await register(registry, "Ada", "")).status_code == 422
    for wrong in ("HANSA-0000-0000-0000-0000", code[:-1], code + "0", code.replace("-", ""), "x"):
        assert await registers(registry, "Ada", wrong) == 400
    assert await registers(registry, "Ada", f" {code.lower()} ") == 201
    assert await registers(registry, "Bob", code) == 400


async def test_a_code_is_judged_and_used_up_where_none_is_required_as_well(
    registry: TestRegistry, admin: TestDeveloper
):
    code = await one_code(admin)
    assert await registers(registry, "Ada", "HANSA-0000-0000-0000-0000") == 400
    assert await registers(registry, "Ada", code) == 201
    assert await registers(registry, "Bob", code) == 400
    assert await registers(registry, "Bob", None) == 201
    assert await registers(registry, "Cyd", "") == 201
    assert [(invite["uses"], invite["state"]) for invite in await listed(admin)] == [(1, "used_up")]


async def test_a_registration_that_is_refused_uses_nothing_up(registry: TestRegistry, admin: TestDeveloper):
    code = await one_code(admin)
    assert await registers(registry, "Ada", None) == 201
    taken = await register(registry, "Ada", code)
    assert (taken.status_code, taken.json()["error"]["code"]) == (400, "EMAIL_REGISTERED")
    taken = await register(registry, "Ada", code, email="other@example.org")
    assert taken.status_code == 409
    assert (await register(registry, "Bob", code, password="short")).status_code == 422
    assert await registers(registry, "Bob", code) == 201


async def test_of_many_who_register_at_once_as_many_come_in_as_the_code_admits(
    registry: TestRegistry, admin: TestDeveloper
):
    for uses in (1, 3):
        code = await one_code(admin, max_uses=uses)
        statuses = await at_once(*(registers(registry, f"Rival{uses}{n}", code) for n in range(7)))
        assert sorted(statuses) == [201] * uses + [400] * (7 - uses)
        assert (await listed(admin))[0]["uses"] == uses


async def test_a_code_ends_by_the_databases_clock(registry: TestRegistry, admin: TestDeveloper):
    code = await one_code(admin, max_uses=2, expires_days=1)
    for shift, status in (("23 hours 59 minutes", 201), ("1 minute", 400)):
        await change(
            registry,
            f"UPDATE people_invite SET created_at = created_at - interval '{shift}',"
            f" expires_at = expires_at - interval '{shift}'",
        )
        assert await registers(registry, f"Late{status}", code) == status
    assert (await listed(admin))[0]["state"] == "expired"


async def test_a_revoked_code_is_good_no_more(registry: TestRegistry, admin: TestDeveloper):
    other = await registry.administrator("admin_support")
    by_code, by_id = await made(admin, count=2)
    for invite, name in ((by_code, by_code["code"].lower()), (by_id, by_id["id"])):
        revoked = await revoke(other, name)
        assert (revoked.status_code, revoked.json()["state"]) == (200, "revoked")
        assert await registers(registry, "Ada", invite["code"]) == 400
        assert (await revoke(admin, name)).status_code == 404


async def test_what_is_left_of_a_code_can_be_revoked_and_nothing_of_one_that_is_used_up(
    registry: TestRegistry, admin: TestDeveloper
):
    once, twice = await one_code(admin), await one_code(admin, max_uses=2)
    assert [await registers(registry, f"Ada{n}", code) for n, code in enumerate((once, twice))] == [201, 201]
    assert (await revoke(admin, once)).status_code == 404
    assert (await revoke(admin, twice)).status_code == 200
    assert await registers(registry, "Bob", twice) == 400


@pytest.mark.parametrize(
    "code", ["HANSA-0000-0000-0000-0000", "inv-999999999", "inv-0", "inv-01", "x", "%20"]
)
async def test_a_code_that_was_never_made_cannot_be_revoked(admin: TestDeveloper, code: str):
    answer = await revoke(admin, code)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "INVITE_UNKNOWN")


async def test_who_comes_by_an_administrators_code_administers_its_areas_and_is_not_made_by_the_operator(
    registry: TestRegistry,
):
    author = await registry.administrator(*ADMIN_AREAS)
    for name, flags, areas in (
        ("Ada", ["admin_treasury", "admin_support", "admin_support"], ["admin_treasury", "admin_support"]),
        ("Bob", None, list(ADMIN_AREAS)),
        ("Cyd", [], list(ADMIN_AREAS)),
    ):
        (invite,) = await made(author, grants_admin=True, admin_flags=flags)
        assert (invite["grants_admin"], invite["admin_flags"]) == (True, areas)
        assert await registers(registry, name, invite["code"]) == 201
        assert sorted(await areas_of(registry, name)) == sorted(areas)
        profile = await registry.get("/auth/profile", headers=(await logged_in(registry, name)).headers)
        assert (profile.json()["is_admin"], profile.json()["role"]) == (False, "admin")
    assert await made(await logged_in(registry, "Bob"))


async def test_an_invitation_without_the_word_makes_no_administrator(
    registry: TestRegistry, admin: TestDeveloper
):
    assert await registers(registry, "Ada", await one_code(admin)) == 201
    assert await areas_of(registry, "Ada") == []
    assert (await generate(await logged_in(registry, "Ada"))).status_code == 403


async def test_nobody_gives_an_area_that_they_do_not_administer(registry: TestRegistry):
    author = await registry.administrator("admin_support", "admin_treasury")
    narrow = await author.api_key("admin:admin_support")
    for who, flags, lacks in (
        (author, ["admin_support", "admin_platform"], ["admin_platform"]),
        (author, None, ["admin_enforcement", "admin_federation", "admin_platform"]),
        (narrow, ["admin_treasury"], ["admin_treasury"]),
    ):
        answer = await generate(who, grants_admin=True, admin_flags=flags)
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "AREA_OVERREACH")
        assert answer.json()["error"]["context"] == {"areas": lacks}
    assert await listed(author) == []
    assert await made(narrow, grants_admin=True, admin_flags=["admin_support"])


async def test_what_its_author_has_ceased_to_administer_a_code_gives_no_more(registry: TestRegistry):
    author = await registry.administrator("admin_support", "admin_treasury")
    code = await one_code(author, grants_admin=True, admin_flags=["admin_support", "admin_treasury"])
    await change(registry, "UPDATE people_developer SET areas = '{admin_support,admin_platform}'")
    assert await registers(registry, "Ada", code) == 201
    assert await areas_of(registry, "Ada") == ["admin_support"]


async def test_invitations_are_logged_by_their_ids_and_never_by_their_codes(registry: TestRegistry):
    admin = await registry.administrator("admin_support", "admin_platform")
    first, last = await made(admin, count=2, note="For ada@example.org")
    await revoke(admin, first["code"])
    log = await registry.get("/admin/audit-log", headers=admin.headers)
    assert [(act["act"], act["subject"]) for act in log.json()["items"]] == [
        ("invite.revoke", first["id"]),
        ("invite.make", f"{first['id']} to {last['id']}"),
    ]
    assert "HANSA-" not in log.text
    assert "ada@" not in log.text


async def test_only_those_who_give_support_make_see_and_revoke_invitations(
    registry: TestRegistry, admin: TestDeveloper
):
    code = await one_code(admin)
    for who in (await registry.developer(), await registry.administrator("admin_platform")):
        assert (await generate(who)).status_code == 403
        assert (await registry.get(INVITES, headers=who.headers)).status_code == 403
        assert (await revoke(who, code)).status_code == 403
    assert await registers(registry, "Ada", code) == 201
