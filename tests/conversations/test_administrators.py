"""Administrators: made by the operator, held to their areas at every decision."""

from datetime import UTC, datetime
from typing import Annotated

import asyncpg
import httpx2
import pytest

from hansa.doors.http.app import build_app
from hansa.foundation.plumbing.web.caller import Developer, admin_holding
from hansa.foundation.values.areas import ADMIN_AREAS
from hansa.foundation.values.errors import MemberInvalid
from hansa.rooms import people
from hansa.rooms.people.errors import PasswordRefused
from tests.browsing import BrowserOf
from tests.registry import PASSWORD, TestDeveloper

EMAIL = "ops@example.org"


async def administrator(registry, *areas):
    """An administrator made by the operator, logged in."""
    admitted = await people.admit_administrator(name="Ops", email=EMAIL, password=PASSWORD, areas=areas)
    await registry.database.transaction(lambda tx: people.create_administrator(tx, admitted))
    form = {"username": EMAIL, "password": PASSWORD}
    login = await registry.post("/auth/login", data=form, headers=registry.elsewhere())
    assert login.status_code == 200, login.text
    return TestDeveloper(registry, EMAIL, login.json()["access_token"])


async def set_developer(registry, developer, assignment):
    statement = f"UPDATE people_developer SET {assignment} WHERE email = $1"
    assert (
        await registry.database.transaction(lambda tx: tx.execute(statement, developer.email)) == "UPDATE 1"
    )


async def profile(registry, developer):
    answer = await registry.get("/auth/profile", headers=developer.headers)
    assert answer.status_code == 200
    return answer.json()


def treasury_of(registry):
    """The registry with one more route, which is for administrators of the treasury."""
    app = build_app(registry.runtime)

    @app.get("/treasury")
    async def treasury(who: Annotated[Developer, admin_holding("admin_treasury")]) -> list[str]:
        return sorted(who.areas)

    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://registry.test")


async def test_an_administrator_logs_in_like_any_developer_and_is_shown_as_one(registry):
    shown = await profile(registry, await administrator(registry, *ADMIN_AREAS))
    assert (shown["name"], shown["email"], shown["role"]) == ("Ops", EMAIL, "admin")
    assert (shown["is_admin"], shown["is_verified"]) == (True, True)


async def test_the_administrator_has_yet_to_accept_the_terms(registry):
    shown = await profile(registry, await administrator(registry, *ADMIN_AREAS))
    assert shown["tos_reconsent_required"] is True


async def test_the_administrator_accepts_the_terms_in_a_browser(registry):
    await administrator(registry, *ADMIN_AREAS)
    browser = await BrowserOf(registry).log_in(EMAIL)
    await browser.open("/account")
    assert "You have not accepted version 1.0 of the terms of use." in browser.text
    await browser.open("/account/terms")
    await browser.send("/account/terms")
    assert browser.page.status_code == 422
    await browser.send("/account/terms", tos_version="0.9")
    assert (browser.page.status_code, "not the version of the present terms" in browser.text) == (409, True)
    await browser.send("/account/terms", tos_version="1.0")
    assert (browser.page.status_code, browser.page.url.path) == (200, "/account")
    assert "You have not accepted" not in browser.text


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"password": "Short-1"}, MemberInvalid),
        ({"password": "no-upper-case-here-1"}, MemberInvalid),
        ({"password": "Space between 1 and-2"}, PasswordRefused),
        ({"password": "My-Qwerty-Keyboard-1"}, PasswordRefused),
        ({"email": "ops"}, MemberInvalid),
        ({"name": " "}, MemberInvalid),
        ({"name": "O\u200bps"}, MemberInvalid),
        ({"name": "\udcff"}, MemberInvalid),
    ],
)
async def test_the_operator_is_held_to_the_rules_of_registration(change, error):
    asked = {"name": "Ops", "email": EMAIL, "password": PASSWORD, "areas": ADMIN_AREAS, **change}
    with pytest.raises(error) as refusal:
        await people.admit_administrator(**asked)
    assert refusal.value.field in change
    assert asked["password"] not in refusal.value.detail


async def test_an_administrator_needs_no_verification_mail(start_registry):
    registry = await start_registry(email_verification_required=True)
    assert (await profile(registry, await administrator(registry, "admin_support")))["is_verified"] is True
    assert await registry.outbox() == []


async def test_areas_without_the_operators_act_show_the_role_and_no_more(registry):
    developer = await registry.developer()
    await set_developer(registry, developer, "areas = '{admin_support}'")
    shown = await profile(registry, developer)
    assert (shown["role"], shown["is_admin"]) == ("admin", False)


async def test_nobody_registers_as_an_administrator(registry):
    body = {
        "name": "Climber",
        "email": "climber@example.org",
        "password": PASSWORD,
        "tos_accepted": True,
        "age_confirmed": True,
        "is_admin": True,
        "role": "admin",
        "areas": list(ADMIN_AREAS),
    }
    assert (await registry.post("/auth/register", json=body, headers=registry.elsewhere())).status_code == 201
    form = {"username": "climber@example.org", "password": PASSWORD}
    login = await registry.post("/auth/login", data=form, headers=registry.elsewhere())
    climber = TestDeveloper(registry, "climber@example.org", login.json()["access_token"])
    shown = await profile(registry, climber)
    assert (shown["role"], shown["is_admin"]) == ("developer", False)


async def test_a_route_of_an_area_is_for_administrators_of_that_area(registry):
    treasurer = await administrator(registry, "admin_treasury", "admin_support")
    developer = await registry.developer()
    agent = await developer.agent()
    async with treasury_of(registry) as http:
        entered = await http.get("/treasury", headers=treasurer.headers)
        assert (entered.status_code, entered.json()) == (200, ["admin_support", "admin_treasury"])
        refused = await http.get("/treasury", headers=developer.headers)
        assert refused.status_code == 403
        assert refused.json()["error"]["code"] == "AREA_MISSING"
        assert refused.json()["error"]["context"] == {"area": "admin_treasury"}
        assert (await http.get("/treasury", headers=agent.headers)).status_code == 401
        assert (await http.get("/treasury")).status_code == 401


async def test_areas_are_read_at_the_decision_and_never_from_the_token(registry):
    treasurer = await administrator(registry, "admin_treasury")
    developer = await registry.developer()
    async with treasury_of(registry) as http:
        await set_developer(registry, treasurer, "areas = '{admin_support}'")
        assert (await http.get("/treasury", headers=treasurer.headers)).status_code == 403
        await set_developer(registry, developer, "areas = '{admin_treasury}'")
        assert (await http.get("/treasury", headers=developer.headers)).status_code == 200
        await set_developer(registry, treasurer, "areas = '{}'")
        assert (await profile(registry, treasurer))["role"] == "developer"


async def test_an_administrator_who_logged_out_administers_nothing(registry):
    treasurer = await administrator(registry, "admin_treasury")
    assert (await registry.post("/auth/logout", headers=treasurer.headers)).status_code == 200
    async with treasury_of(registry) as http:
        assert (await http.get("/treasury", headers=treasurer.headers)).status_code == 401


async def test_the_database_holds_no_area_that_does_not_exist(registry):
    developer = await registry.developer()
    for areas in ("{admin_everything}", "{admin_support,NULL}"):
        with pytest.raises(asyncpg.CheckViolationError):
            await set_developer(registry, developer, f"areas = '{areas}'")


async def set_second_factor(registry, developer, enabled_at):
    """Two-factor login is on since then, or off; the session and the key stay those of a login with a code."""
    own = "(SELECT id FROM people_developer WHERE email = $1)"
    enable = (
        f"INSERT INTO people_second_factor (developer_id, sealed_seed, enabled_at) SELECT {own}, 'sealed', $2::timestamptz"
        " ON CONFLICT (developer_id) DO UPDATE SET enabled_at = excluded.enabled_at"
    )

    async def change(tx):
        await tx.execute(enable, developer.email, enabled_at)
        for table in ("people_session", "people_api_key"):
            await tx.execute(
                f"UPDATE {table} SET second_factor_at = clock_timestamp() WHERE developer_id = {own}",
                developer.email,
            )

    await registry.database.transaction(change)


async def test_where_two_factor_login_is_required_of_administrators_one_without_it_does_nothing(
    start_registry,
):
    registry = await start_registry(require_admin_2fa=True)
    treasurer = await administrator(registry, "admin_treasury")
    by_key = await treasurer.api_key()
    developer = await registry.developer()
    async with treasury_of(registry) as http:
        for timestamp, status in ((None, 403), (datetime.now(UTC), 200), (None, 403)):
            await set_second_factor(registry, treasurer, timestamp)
            for who in (treasurer, by_key):
                answer = await http.get("/treasury", headers=who.headers)
                assert answer.status_code == status
                if status == 403:
                    assert answer.json()["error"]["code"] == "ADMIN_2FA_REQUIRED"
                    assert "2FA" in answer.json()["detail"]
        refused = await http.get("/treasury", headers=developer.headers)
        assert refused.json()["error"]["code"] == "AREA_MISSING"
    assert (await profile(registry, treasurer))["role"] == "admin"


async def test_where_it_is_not_required_an_administrator_needs_no_second_factor(registry):
    treasurer = await administrator(registry, "admin_treasury")
    async with treasury_of(registry) as http:
        assert (await http.get("/treasury", headers=treasurer.headers)).status_code == 200
