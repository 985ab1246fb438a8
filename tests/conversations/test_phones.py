"""Logins that are approved on a phone with a passkey: enrolment, approval, refusals, limits, and logins without the phone."""

import html
import json
import re

import pytest

from tests.browsing import BrowserOf
from tests.conversations.person import WRONG_PASSWORD, Person, person, said
from tests.conversations.test_account_deletion import let_time_pass, sweep
from tests.passkeys import PRESENT, Authenticator
from tests.phones import BASE_URL, COOKIE, authenticator_of, begin_login, enrol, number_of, other_than
from tests.registry import at_once

HOME = "<h1>Home</h1>"
LEFT = " + ".join(
    f"(SELECT count(*) FROM {table})"
    for table in (
        "people_phone_account",
        "people_phone_device",
        "people_phone_login",
        "people_passkey_challenge",
    )
)
SIXTH = "No phone is asked about this login"


@pytest.fixture
async def registry(start_registry):
    return await start_registry(public_base_url=BASE_URL)


@pytest.fixture
async def ada(registry) -> Person:
    return await (await person(registry, "ada@example.org")).log_in()


async def change(registry, statement):
    await registry.database.transaction(lambda tx: tx.execute(statement))


async def waits(phone):
    (login,) = await phone.waiting()
    return login


# Enrolment


async def test_a_phone_is_enrolled_listed_and_removed(registry, ada):
    options = (await ada.post("/auth/phone/devices/options")).json()["publicKey"]
    assert options["rp"] == {"id": "registry.example", "name": "hansa"}
    assert options["authenticatorSelection"]["userVerification"] == "required"
    assert ada.email == options["user"]["name"]
    phone = await enrol(ada)
    listed = (await ada.get("/auth/phone/devices")).json()
    assert [set(one) for one in listed["items"]] == [{"id", "name", "created_at", "last_used_at"}]
    assert (listed["items"][0]["id"], listed["items"][0]["name"], listed["next"]) == (
        phone.id,
        "Ada's phone",
        None,
    )
    assert (await ada.delete(f"/auth/phone/devices/{phone.id}")).json() == {"id": phone.id, "deleted": True}
    assert (await ada.delete(f"/auth/phone/devices/{phone.id}")).status_code == 404
    assert (await ada.try_login()).status_code == 200
    subjects = [mail["Subject"] for mail in await registry.outbox()]
    assert subjects[-2:] == ["A phone was added to your account", "A phone was removed from your account"]


async def test_the_cookie_of_a_phone_is_sent_by_pages_of_the_registry_alone_for_180_days(ada):
    options = (await ada.post("/auth/phone/devices/options")).json()["publicKey"]
    credential = authenticator_of(ada.registry).create(options)
    answer = await ada.post("/auth/phone/devices", name="Phone", credential=credential)
    parts = {part.strip() for part in answer.headers["set-cookie"].split(";")}
    assert {"HttpOnly", "Secure", "Path=/", "SameSite=strict", f"Max-Age={180 * 86400}"} <= parts


async def test_a_sixth_phone_is_refused(ada):
    for number in range(5):
        await enrol(ada, f"Phone {number}")
    assert said(await ada.post("/auth/phone/devices/options")) == (429, "QUOTA_REACHED")


async def test_phones_are_managed_in_a_session_with_the_password_of_the_last_ten_minutes(registry, ada):
    key = (await ada.post("/auth/api-keys", key_name="K")).json()["plain_api_key"]
    by_key = {"Authorization": f"Bearer {key}"}
    refused = (403, "LOGIN_SESSION_REQUIRED")
    assert said(await registry.post("/auth/phone/devices/options", json={}, headers=by_key)) == refused
    assert said(await registry.get("/auth/phone/devices", headers=by_key)) == refused
    phone = await enrol(ada)
    await change(registry, "UPDATE people_session SET opened_at = now() - interval '11 minutes'")
    old = (403, "RECENT_PASSWORD_REQUIRED")
    assert said(await ada.post("/auth/phone/devices/options")) == old
    assert said(await ada.post("/auth/phone/devices", name="P", credential={})) == old
    assert said(await ada.delete(f"/auth/phone/devices/{phone.id}")) == old
    assert (await ada.get("/auth/phone/devices")).status_code == 200
    assert (await ada.post("/auth/phone/devices/options", password=WRONG_PASSWORD)).status_code == 401
    assert (await ada.post("/auth/phone/devices/options", password=ada.password)).status_code == 200


async def test_with_an_authenticator_app_a_phone_is_added_and_removed_with_a_code_alone(registry, ada):
    _, codes = await ada.use_app()
    assert (await ada.post("/auth/phone/devices/options")).status_code == 401
    assert (await ada.post("/auth/phone/devices/options", totp_code="000000")).status_code == 401
    phone = await enrol(ada, totp_code=codes[0])
    assert (await ada.delete(f"/auth/phone/devices/{phone.id}")).status_code == 401
    removed = await registry.http.request(
        "DELETE", f"/api/v1/auth/phone/devices/{phone.id}", json={"totp_code": codes[1]}, headers=ada.headers
    )
    assert removed.status_code == 200, removed.text


@pytest.mark.parametrize(
    "changed",
    [
        {"origin": "https://registry.example.org"},
        {"origin": "http://registry.example"},
        {"host": "example"},
        {"flags": PRESENT},
    ],
)
async def test_a_passkey_of_another_origin_or_host_or_without_user_verification_is_not_enrolled(ada, changed):
    options = (await ada.post("/auth/phone/devices/options")).json()["publicKey"]
    made = Authenticator(**{"origin": BASE_URL, "host": "registry.example", **changed})
    body = {"name": "Phone", "credential": made.create(options)}
    assert said(await ada.post("/auth/phone/devices", **body)) == (403, "PASSKEY_REFUSED")


async def test_a_challenge_is_answered_once_in_its_session_alone(ada):
    other = await ada.elsewhere()
    options = (await ada.post("/auth/phone/devices/options")).json()["publicKey"]
    made = authenticator_of(ada.registry)
    body = {"name": "Phone", "credential": made.create(options)}
    assert said(await other.post("/auth/phone/devices", **body)) == (403, "PASSKEY_REFUSED")
    answers = await at_once(*[ada.post("/auth/phone/devices", **body) for _ in range(3)])
    assert sorted(answer.status_code for answer in answers) == [201, 403, 403]


async def test_no_body_of_a_passkey_makes_the_registry_fail(ada):
    for credential in (
        {},
        {"id": "x"},
        {"id": 1, "response": []},
        {"id": "AA", "rawId": "AA", "response": {"clientDataJSON": "e30"}, "type": "public-key"},
    ):
        await ada.post("/auth/phone/devices/options")
        answer = await ada.post("/auth/phone/devices", name="Phone", credential=credential)
        assert said(answer) == (403, "PASSKEY_REFUSED")


async def test_a_registry_at_an_ip_address_has_no_passkeys(start_registry):
    registry = await start_registry(public_base_url="http://127.0.0.1:8000")
    someone = await (await person(registry)).log_in()
    assert said(await someone.post("/auth/phone/devices/options")) == (409, "PASSKEYS_UNAVAILABLE")


# Approval


async def test_a_phone_approves_a_login_by_the_number_of_its_page_and_the_passkey(registry, ada):
    phone = await enrol(ada)
    browser = await begin_login(ada)
    assert browser.page.status_code == 200
    assert 'data-requires-push-approval="true"' in browser.text
    login = await waits(phone)
    assert set(login) == {"id", "challenge", "address", "user_agent", "at", "expires_at"}
    assert (await browser.http.get("/login/phone/state")).json() == {"state": "pending"}
    await browser.send("/login/phone")
    assert browser.page.url.path == "/login/phone"
    answer = await phone.approve(login, number_of(browser))
    assert answer.json() == {"id": login["id"], "status": "approved"}
    assert answer.headers["set-cookie"].startswith(f"{COOKIE}={phone.cookie};")
    assert (await browser.http.get("/login/phone/state")).json() == {"state": "approved"}
    await browser.send("/login/phone")
    assert HOME in browser.text
    assert await phone.waiting() == []
    # The approval was used up.
    other = BrowserOf(registry)
    await other.post("/login/phone")
    assert "log in again" in other.text


async def test_a_program_with_the_right_password_is_refused_and_pointed_to_an_api_key(ada):
    phone = await enrol(ada)
    answer = await ada.try_login()
    assert said(answer) == (401, "PUSH_APPROVAL_REQUIRED")
    assert "API key" in answer.json()["detail"]
    assert (await ada.try_login(WRONG_PASSWORD)).json()["error"]["code"] == "AUTH_FAILED"
    assert await phone.waiting() == []


async def test_a_wrong_number_ends_the_login_and_a_second_one_pauses_phones_and_mails(registry, ada):
    phone = await enrol(ada)
    for _ in range(2):
        browser = await begin_login(ada)
        login, number = await waits(phone), number_of(browser)
        assert said(await phone.approve(login, other_than(number))) == (403, "NUMBER_WRONG")
        assert said(await phone.approve(login, number)) == (409, "PHONE_LOGIN_ENDED")
        await browser.send("/login/phone")
        assert "The number that was typed on the phone was wrong" in browser.text
    assert "Logins by phone are paused" in [mail["Subject"] for mail in await registry.outbox()]
    browser = await begin_login(ada)
    assert SIXTH in browser.text
    assert await phone.waiting() == []
    await change(registry, "UPDATE people_phone_account SET paused_until = now()")
    await begin_login(ada)
    assert len(await phone.waiting()) == 1


async def test_a_login_that_is_denied_as_not_me_ends_and_counts_with_a_wrong_number(registry, ada):
    phone = await enrol(ada)
    browser = await begin_login(ada)
    await phone.approve(await waits(phone), other_than(number_of(browser)))
    browser = await begin_login(ada)
    assert (await phone.deny(await waits(phone), not_me=True)).json()["status"] == "denied"
    await browser.send("/login/phone")
    assert "denied on the phone" in browser.text
    assert SIXTH in (await begin_login(ada)).text


async def test_an_ordinary_denial_and_refusals_apart_from_an_approval_pause_nothing(registry, ada):
    phone = await enrol(ada)
    for _ in range(2):
        await begin_login(ada)
        await phone.deny(await waits(phone))
    browser = await begin_login(ada)
    await phone.deny(await waits(phone), not_me=True)
    browser = await begin_login(ada)
    await phone.approve(await waits(phone), number_of(browser))
    await change(registry, "UPDATE people_phone_login SET asked_at = asked_at - interval '2 hours'")
    await begin_login(ada)
    await phone.deny(await waits(phone), not_me=True)
    await begin_login(ada)
    assert len(await phone.waiting()) == 1


async def test_one_login_waits_at_a_time_and_five_are_sent_in_an_hour(registry, ada):
    phone = await enrol(ada)
    await begin_login(ada)
    assert SIXTH in (await begin_login(ada)).text
    await phone.deny(await waits(phone))
    for _ in range(4):
        await begin_login(ada)
        await phone.deny(await waits(phone))
    assert SIXTH in (await begin_login(ada)).text
    assert await phone.waiting() == []


async def test_a_login_that_no_phone_answers_within_two_minutes_has_expired(registry, ada):
    phone = await enrol(ada)
    browser = await begin_login(ada)
    login, number = await waits(phone), number_of(browser)
    await change(
        registry,
        "UPDATE people_phone_login SET asked_at = asked_at - interval '2 minutes', expires_at = expires_at - interval '2 minutes'",
    )
    assert await phone.waiting() == []
    assert said(await phone.approve(login, number)) == (409, "PHONE_LOGIN_ENDED")
    await browser.send("/login/phone")
    assert "No phone answered in time." in browser.text
    await begin_login(ada)
    assert len(await phone.waiting()) == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"origin": "https://registry.example.org"},
        {"host": "example"},
        {"flags": PRESENT},
        {"credential_id": b"another"},
        {"key": Authenticator("", "").key},
        {"sign_count": 0},
    ],
)
async def test_an_answer_of_another_passkey_origin_or_host_or_with_an_old_counter_approves_nothing(
    ada, changed
):
    phone = await enrol(ada)
    browser = await begin_login(ada)
    await phone.approve(await waits(phone), number_of(browser))
    browser = await begin_login(ada)
    login, number = await waits(phone), number_of(browser)
    assert said(await phone.approve(login, number, **changed)) == (403, "PASSKEY_REFUSED")
    await browser.send("/login/phone")
    assert HOME not in browser.text


async def test_an_answer_to_the_challenge_of_another_login_approves_nothing(ada):
    phone = await enrol(ada)
    await begin_login(ada)
    former = await waits(phone)
    await phone.deny(former)
    browser = await begin_login(ada)
    login = await waits(phone)
    stale = {**login, "challenge": former["challenge"]}
    assert said(await phone.approve(stale, number_of(browser))) == (403, "PASSKEY_REFUSED")


async def test_a_phone_of_another_account_sees_and_decides_nothing(registry, ada):
    phone = await enrol(ada)
    stranger = await enrol(await (await person(registry)).log_in())
    browser = await begin_login(ada)
    login = await waits(phone)
    assert await stranger.waiting() == []
    assert (await stranger.approve(login, number_of(browser))).status_code == 404
    assert (await stranger.deny(login, not_me=True)).status_code == 404
    assert await phone.waiting() == [login]


async def test_the_cookie_of_a_phone_opens_nothing_else_and_no_other_credential_opens_its_routes(
    registry, ada
):
    phone = await enrol(ada)
    for path in ("/auth/profile", "/auth/phone/devices", "/auth/sessions"):
        assert (await registry.get(path, headers=phone.headers)).status_code == 401
    assert (await registry.http.get("/account", headers=phone.headers)).status_code == 303
    assert (await ada.get("/auth/phone/sessions")).status_code == 401
    bearer = {"Authorization": f"Bearer {phone.cookie}"}
    assert (await registry.get("/auth/phone/sessions", headers=bearer)).status_code == 401
    await change(registry, "UPDATE people_phone_device SET cookie_ends_at = now()")
    assert (await registry.get("/auth/phone/sessions", headers=phone.headers)).status_code == 401


async def test_only_the_hash_of_the_token_of_a_phone_is_stored(registry, ada):
    phone = await enrol(ada)
    row = await registry.database.read(lambda tx: tx.fetchval("SELECT d::text FROM people_phone_device d"))
    assert phone.cookie not in row


# Beside the phone


async def test_the_passkey_of_the_browser_that_logs_in_finishes_the_login(ada):
    phone = await enrol(ada)
    browser = await begin_login(ada)
    await send_passkey(browser, phone.authenticator)
    assert HOME in browser.text
    # The phone is asked no more.
    assert await phone.waiting() == []


async def test_a_passkey_answers_the_challenge_of_its_own_login_once(registry, ada):
    phone = await enrol(ada)
    browser, other = await begin_login(ada), await begin_login(ada)
    stolen = phone.authenticator.get(options_of(other)["challenge"])
    await browser.send("/login/passkey", credential=as_text(stolen))
    assert browser.page.status_code == 403
    await send_passkey(browser, Authenticator(BASE_URL, "registry.example"))
    assert browser.page.status_code == 403
    await send_passkey(browser, phone.authenticator)
    assert HOME in browser.text


async def test_codes_and_backup_codes_stay_good_beside_a_phone(registry, ada):
    app, codes = await ada.use_app()
    phone = await enrol(ada, totp_code=codes[0])
    browser = await begin_login(ada)
    await browser.send("/login/code", code=codes[1])
    assert HOME in browser.text
    assert await phone.waiting() == []
    assert (await ada.try_login(totp_code=app.code_at(1))).status_code == 200
    # The phone is paused or busy: the form of a code remains.
    await begin_login(ada)
    browser = await begin_login(ada)
    assert SIXTH in browser.text
    await browser.send("/login/code", code=codes[2])
    assert HOME in browser.text


async def test_a_recovery_key_removes_the_phones(registry, ada):
    phone = await enrol(ada)
    browser = await begin_login(ada)
    await browser.open("/recover/two-factor")
    await browser.send("/recover/two-factor", recovery_key=ada.recovery_keys[0])
    assert "Two-factor login is off" in browser.text
    assert (await ada.try_login()).status_code == 200
    assert (await registry.get("/auth/phone/sessions", headers=phone.headers)).status_code == 401


async def test_a_change_of_the_password_ends_the_login_that_waits(ada):
    phone = await enrol(ada)
    browser = await begin_login(ada)
    login, number = await waits(phone), number_of(browser)
    await ada.post("/auth/change-password", current_password=ada.password, new_password=WRONG_PASSWORD)
    assert said(await phone.approve(login, number)) == (409, "PHONE_LOGIN_ENDED")
    await browser.send("/login/phone")
    assert HOME not in browser.text


async def test_an_approval_by_phone_counts_where_two_factor_login_is_required_of_administrators(
    start_registry,
):
    registry = await start_registry(public_base_url=BASE_URL, require_admin_2fa=True)
    administrator = await person(registry)
    statement = f"UPDATE people_developer SET is_admin = true, areas = '{{admin_platform}}' WHERE email = '{administrator.email}'"
    await change(registry, statement)
    await administrator.log_in()
    phone = await enrol(administrator)
    refused = said(await administrator.get("/admin/event-emission-policies"))
    assert refused == (403, "ADMIN_2FA_REQUIRED")
    browser = await begin_login(administrator)
    await phone.approve(await waits(phone), number_of(browser))
    await browser.send("/login/phone")
    assert (await browser.open("/administration")).status_code == 200
    await registry.http.delete(f"/api/v1/auth/phone/devices/{phone.id}", headers=administrator.headers)
    assert (await browser.open("/administration")).status_code == 403


async def test_the_end_of_an_account_ends_its_phones_and_erases_them(registry, ada):
    phone = await enrol(ada)
    await begin_login(ada)
    assert (await ada.post("/account/request-deletion")).status_code == 200
    await let_time_pass(registry, 15)
    await sweep(registry, times=1)
    assert (await registry.get("/auth/phone/sessions", headers=phone.headers)).status_code == 401
    await let_time_pass(registry, 1)
    await sweep(registry)
    left = await registry.database.read(lambda tx: tx.fetchval(f"SELECT {LEFT}"))
    assert left == 0


async def test_a_phone_is_added_and_removed_in_the_browser(registry, ada):
    browser = BrowserOf(registry)
    await browser.open("/login")
    await browser.send("/login", email=ada.email, password=ada.password)
    await browser.open("/account/phones")
    await browser.send("/account/phones/add")
    made = authenticator_of(registry)
    await browser.send(
        "/account/phones", name="<b>Phone</b>", credential=as_text(made.create(options_of(browser)))
    )
    assert "This browser approves logins from now on." in browser.text
    assert "<b>Phone" not in browser.text
    assert browser.http.cookies[COOKIE]
    await browser.open("/phone")
    assert "This browser is the phone" in browser.text
    await browser.open("/account/phones")
    (phone,) = (await ada.get("/auth/phone/devices")).json()["items"]
    await browser.send(f"/account/phones/{phone['id']}/remove")
    assert "The phone is removed." in browser.text
    await browser.open("/phone")
    assert "This browser approves no logins." in browser.text


def options_of(browser):
    return json.loads(html.unescape(re.search(r'data-options="([^"]*)"', browser.text)[1]))


def as_text(credential):
    return json.dumps(credential)


async def send_passkey(browser, authenticator):
    await browser.send(
        "/login/passkey", credential=as_text(authenticator.get(options_of(browser)["challenge"]))
    )
