"""Accounts: registration, login, sessions, profile, verification of the e-mail address."""

import re
from datetime import datetime

import pytest

from tests.registry import PASSWORD, at_once, text_of

WRONG_PASSWORD = "Correct-Horse-8-Battery"


def application(**changes):
    """A registration that is accepted, with changes; a member changed to None is left out."""
    body = {
        "name": "Ada Lovelace",
        "email": "ada@example.org",
        "password": PASSWORD,
        "tos_accepted": True,
        "age_confirmed": True,
        **changes,
    }
    return {name: value for name, value in body.items() if value is not None}


async def register(registry, **changes):
    return await registry.post("/auth/register", json=application(**changes), headers=registry.elsewhere())


async def log_in(registry, email="ada@example.org", password=PASSWORD, headers=None, **more):
    form = {"username": email, "password": password, **more}
    return await registry.post("/auth/login", data=form, headers=headers or registry.elsewhere())


async def session(registry):
    """The token pair of a newly registered developer."""
    assert (await register(registry)).status_code == 201
    return (await log_in(registry)).json()


async def refresh(registry, refresh_token):
    return await registry.post("/auth/refresh", json={"refresh_token": refresh_token})


async def profile(registry, access_token):
    return await registry.get("/auth/profile", headers={"Authorization": f"Bearer {access_token}"})


def code(answer):
    return answer.status_code, answer.json()["error"]["code"]


def link_in(mail):
    """Return the route of the API with the effect of the link in a verification mail."""
    (token,) = re.findall(r"https?://\S+/verify-email\?token=(\S+)", text_of(mail))
    return f"/auth/verify-email?token={token}"


# Registration


async def test_registration_answers_three_recovery_keys(registry):
    answer = await register(registry)
    assert answer.status_code == 201
    assert set(answer.json()) == {"message", "recovery_keys"}
    keys = answer.json()["recovery_keys"]
    assert len(set(keys)) == 3
    assert all(re.fullmatch(r"avrec-[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{8}", key) for key in keys)


@pytest.mark.parametrize("member", ["name", "email", "password", "tos_accepted", "age_confirmed"])
async def test_a_missing_member_is_a_validation_error_that_names_it(registry, member):
    answer = await register(registry, **{member: None})
    assert answer.status_code == 422
    assert answer.json()["error"]["type"] == "validation_error"
    assert answer.json()["error"]["field"] == member


@pytest.mark.parametrize(
    ("password", "status"),
    [
        ("Short-1-Pass", 201),
        ("Short-1-Pas", 422),
        ("Long-1-" + "x" * 121, 201),
        ("Long-1-" + "x" * 122, 422),
        ("no-upper-case-1", 422),
        ("NO-LOWER-CASE-1", 422),
        ("No-Digit-Here-At-All", 422),
        ("NoSpecialCharacter1", 422),
        ("Tilde-Is-Not-Listed-1~", 400),
        ("Space Is Not-Listed-1", 400),
        ("Accents-Are-Not-Listed-1é", 400),
        ("My-PassWord-Is-1-Long", 400),
        ("The-Admin-Is-1-Here", 400),
        ("123-xQWERTYx-456", 400),
        ("qwertyqwertyqwerty", 422),
        ("All-1!@#$%^&*()_+-=[]{}|;:,.<>?", 201),
    ],
)
async def test_a_password_has_its_length_and_classes_first_and_then_no_stranger_or_common_word(
    registry, password, status
):
    answer = await register(registry, password=password)
    assert answer.status_code == status
    assert password not in answer.text


@pytest.mark.parametrize("value", [False, "true", 1])
async def test_terms_not_accepted_are_a_validation_error_where_consent_is_required(registry, value):
    assert (await register(registry, tos_accepted=value)).status_code == 422


async def test_terms_may_stay_unaccepted_where_no_consent_is_required(start_registry):
    registry = await start_registry(tos_consent_required=False)
    assert (await register(registry, tos_accepted=False)).status_code == 201
    without = await register(registry, tos_accepted=None, name="Other", email="other@example.org")
    assert without.status_code == 201


async def test_age_must_be_confirmed_unless_the_operator_does_not_require_it(registry, start_registry):
    assert code(await register(registry, age_confirmed=False)) == (422, "AGE_CONFIRMATION_REQUIRED")
    lenient = await start_registry(age_confirmation_required=False)
    assert (await register(lenient, age_confirmed=False)).status_code == 201


@pytest.mark.parametrize("value", ["yes", 1, []])
async def test_the_confirmation_of_age_is_a_boolean(registry, value):
    assert (await register(registry, age_confirmed=value)).status_code == 422


@pytest.mark.parametrize(
    "email",
    [
        "",
        "ada",
        "ada@",
        "@example.org",
        "ada@localhost",
        "ada@@example.org",
        "ada lovelace@example.org",
        ".ada@example.org",
        "ada..l@example.org",
        "ada@-example.org",
        "ada@example..org",
        "ada@192.0.2.1",
        "adä@example.org",
        "ada@example.org\r\nBcc: all@example.org",
        "=?utf-8?q?a=0Ab?=@example.org",
        "a" * 65 + "@example.org",
        "ada@" + "a." * 124 + "org",
        42,
    ],
)
async def test_a_malformed_address_is_a_validation_error(registry, email):
    assert (await register(registry, email=email)).status_code == 422


async def test_an_address_can_be_registered_once_whatever_its_case(registry):
    await register(registry)
    again = await register(registry, name="Someone Else", email="ADA@Example.ORG")
    assert code(again) == (400, "EMAIL_REGISTERED")


@pytest.mark.parametrize(
    "name",
    [
        "Ada Lovelace",
        "ada lovelace",
        "  Ada  Lovelace ",
        "Аda Lovelace",
        "Ada LoveIace",
        "Ａｄａ Lovelace",
        "ADA LOVELACE",
    ],
)
async def test_a_display_name_that_reads_like_another_is_taken(registry, name):
    await register(registry)
    again = await register(registry, name=name, email="other@example.org")
    assert code(again) == (409, "DISPLAY_NAME_TAKEN")


async def test_a_registered_address_is_reported_before_a_taken_name(registry):
    await register(registry)
    assert code(await register(registry)) == (400, "EMAIL_REGISTERED")


@pytest.mark.parametrize(
    "name",
    [
        "",
        "   ",
        "Ada\u200bLovelace",
        "Ada\u0007",
        "Ada\nLovelace",
        "\u202eadA",
        "Ada\u3164",
        "A\ufe0fda",
        "---",
        "x" * 65,
    ],
)
async def test_a_display_name_without_visible_characters_alone_is_a_validation_error(registry, name):
    assert (await register(registry, name=name)).status_code == 422


async def test_the_display_name_is_kept_in_nfc(registry):
    await register(registry, name="Jose\u0301")
    tokens = (await log_in(registry)).json()
    assert (await profile(registry, tokens["access_token"])).json()["name"] == "Jos\u00e9"


async def test_where_registration_is_by_invitation_a_missing_code_is_422_and_an_unknown_one_400(
    start_registry,
):
    registry = await start_registry(beta_invite_required=True)
    assert code(await register(registry)) == (422, "INVITE_CODE_MISSING")
    assert code(await register(registry, invite_code="")) == (422, "INVITE_CODE_MISSING")
    assert code(await register(registry, invite_code="x" * 65))[0] == 422
    assert code(await register(registry, invite_code="HANSA-AAAA-BBBB-CCCC-DDDD")) == (
        400,
        "INVITE_CODE_UNKNOWN",
    )


async def test_of_parallel_registrations_of_one_address_exactly_one_wins(registry):
    answers = await at_once(
        *(
            register(registry, name=f"Person {number}x", email=f"{'aA'[number % 2]}da@example.org")
            for number in range(8)
        )
    )
    assert sorted(answer.status_code for answer in answers) == [201] + [400] * 7


async def test_of_parallel_registrations_of_one_name_exactly_one_wins(registry):
    answers = await at_once(
        *(
            register(registry, name=["Ada", "ada", "АDA"][number % 3], email=f"person{number}@example.org")
            for number in range(8)
        )
    )
    assert sorted(answer.status_code for answer in answers) == [201] + [409] * 7


async def test_registration_is_limited_to_five_a_minute_for_each_client_address(registry):
    here = registry.elsewhere()
    statuses = [(await registry.post("/auth/register", json={}, headers=here)).status_code for _ in range(6)]
    assert statuses == [422] * 5 + [429]
    refused = await registry.post("/auth/register", json=application(), headers=here)
    assert refused.status_code == 429
    assert int(refused.headers["Retry-After"]) > 0
    assert (await register(registry)).status_code == 201


async def test_the_registration_config_states_what_a_form_needs(start_registry):
    registry = await start_registry(email_verification_required=True)
    answer = await registry.get("/auth/registration-config")
    assert answer.status_code == 200
    assert answer.json() == {
        "beta_invite_required": False,
        "email_verification_required": True,
        "tos_version": registry.settings.tos_version,
        "documents_version": registry.settings.documents_version,
        "tos_url": f"{registry.settings.base_url}/terms",
        "privacy_url": f"{registry.settings.base_url}/privacy",
    }


# Login


async def test_login_answers_a_pair_of_tokens(registry):
    await register(registry)
    answer = await log_in(registry, "ADA@example.org", grant_type="password", totp_code="123456")
    assert answer.status_code == 200
    body = answer.json()
    assert set(body) == {
        "access_token",
        "token_type",
        "expires_in",
        "refresh_token",
        "requires_2fa",
        "message",
        "partial_token",
    }
    assert body["token_type"] == "bearer"
    assert body["expires_in"] == 90 * 60
    assert body["requires_2fa"] is False
    assert body["partial_token"] is None
    assert body["access_token"]
    assert body["refresh_token"]


async def test_a_wrong_password_and_an_unknown_address_are_refused_alike(registry):
    await register(registry)
    wrong = await log_in(registry, password=WRONG_PASSWORD)
    unknown = await log_in(registry, "nobody@example.org")
    assert wrong.status_code == unknown.status_code == 401
    assert wrong.json() == unknown.json()
    assert wrong.json()["error"]["code"] == "AUTH_FAILED"


async def test_another_grant_type_is_a_validation_error(registry):
    await register(registry)
    assert (await log_in(registry, grant_type="client_credentials")).status_code == 422


async def test_login_takes_a_form_and_not_json(registry):
    answer = await registry.post(
        "/auth/login", json={"username": "a", "password": "b"}, headers=registry.elsewhere()
    )
    assert answer.status_code == 415


@pytest.mark.parametrize("form", [{}, {"username": "ada@example.org"}, {"password": PASSWORD}])
async def test_a_login_without_name_or_password_is_a_validation_error(registry, form):
    answer = await registry.post("/auth/login", data={"x": "y", **form}, headers=registry.elsewhere())
    assert answer.status_code == 422


async def test_login_is_limited_to_ten_a_minute_for_each_client_address(registry):
    here = registry.elsewhere()
    statuses = [
        (await log_in(registry, f"n{number}@example.org", headers=here)).status_code for number in range(11)
    ]
    assert statuses == [401] * 10 + [429]


async def test_login_is_limited_to_ten_a_minute_for_each_account_from_wherever(registry):
    await register(registry)
    statuses = [(await log_in(registry, password=WRONG_PASSWORD)).status_code for _ in range(10)]
    refused = await log_in(registry, "Ada@example.org")
    assert statuses == [401] * 10
    assert refused.status_code == 429


# Sessions


async def test_the_profile_is_the_developers_own(registry):
    tokens = await session(registry)
    answer = await profile(registry, tokens["access_token"])
    assert answer.status_code == 200
    body = answer.json()
    assert isinstance(body.pop("id"), int)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d.*(Z|\+00:00)", body.pop("created_at"))
    assert re.fullmatch("[0-9a-f]{32}", body.pop("recovery_keys_version"))
    assert body.pop("tos_accepted_at") == answer.json()["created_at"]
    assert body == {
        "name": "Ada Lovelace",
        "email": "ada@example.org",
        "role": "developer",
        "is_verified": True,
        "is_admin": False,
        "tos_reconsent_required": False,
    }


async def accept_terms(registry, who, version):
    return await registry.post("/auth/accept-terms", json={"tos_version": version}, headers=who)


async def test_a_developer_who_accepted_older_terms_accepts_the_present_ones(start_registry):
    registry = await start_registry(tos_version="1.1")
    who = {"Authorization": f"Bearer {(await session(registry))['access_token']}"}
    change = "UPDATE people_developer SET tos_version = '1.0'"
    await registry.database.transaction(lambda tx: tx.execute(change))
    before = (await registry.get("/auth/profile", headers=who)).json()
    assert before.pop("tos_reconsent_required") is True
    first_accepted_at = before.pop("tos_accepted_at")
    accepted = await accept_terms(registry, who, "1.1")
    assert accepted.status_code == 200
    accepted_at = accepted.json()["tos_accepted_at"]
    assert accepted.json() == {**before, "tos_reconsent_required": False, "tos_accepted_at": accepted_at}
    assert datetime.fromisoformat(accepted_at) > datetime.fromisoformat(first_accepted_at)
    # A repeated acceptance changes nothing.
    assert (await accept_terms(registry, who, "1.1")).json() == accepted.json()
    assert (await registry.get("/auth/profile", headers=who)).json() == accepted.json()


async def test_a_consent_whose_time_is_not_known_gets_one_when_it_is_repeated(start_registry):
    registry = await start_registry(tos_version="1.1")
    who = {"Authorization": f"Bearer {(await session(registry))['access_token']}"}
    change = "UPDATE people_developer SET tos_accepted_at = NULL"
    await registry.database.transaction(lambda tx: tx.execute(change))
    assert (await registry.get("/auth/profile", headers=who)).json()["tos_accepted_at"] is None
    assert (await accept_terms(registry, who, "1.1")).json()["tos_accepted_at"] is not None


async def test_an_account_without_consent_has_no_time_of_it(start_registry):
    registry = await start_registry(tos_consent_required=False)
    assert (await register(registry, tos_accepted=False)).status_code == 201
    login = await registry.post("/auth/login", data={"username": "ada@example.org", "password": PASSWORD})
    who = {"Authorization": f"Bearer {login.json()['access_token']}"}
    assert (await registry.get("/auth/profile", headers=who)).json()["tos_accepted_at"] is None


@pytest.mark.parametrize("version", ["1.0", "2.0", "1.1 "])
async def test_terms_of_another_version_than_the_present_one_are_not_accepted(start_registry, version):
    registry = await start_registry(tos_version="1.1")
    who = {"Authorization": f"Bearer {(await session(registry))['access_token']}"}
    change = "UPDATE people_developer SET tos_version = '1.0'"
    await registry.database.transaction(lambda tx: tx.execute(change))
    assert code(await accept_terms(registry, who, version)) == (409, "TOS_VERSION_NOT_PRESENT")
    assert (await registry.get("/auth/profile", headers=who)).json()["tos_reconsent_required"] is True


async def test_an_acceptance_of_terms_names_their_version(registry):
    who = {"Authorization": f"Bearer {(await session(registry))['access_token']}"}
    for body in ({}, {"tos_version": None}, {"tos_version": 1}, {"tos_version": ""}):
        assert (await registry.post("/auth/accept-terms", json=body, headers=who)).status_code == 422
    assert (await accept_terms(registry, {}, "1.0")).status_code == 401


@pytest.mark.parametrize("header", [None, "Bearer nonsense", "Bearer a.b.c", "Basic YTpi", "Bearer "])
async def test_without_a_developer_token_the_profile_is_refused(registry, header):
    answer = await registry.get("/auth/profile", headers={"Authorization": header} if header else {})
    assert answer.status_code == 401


async def test_a_refresh_token_is_no_developer_token(registry):
    tokens = await session(registry)
    assert (await profile(registry, tokens["refresh_token"])).status_code == 401


async def test_refresh_answers_a_new_pair(registry):
    first = await session(registry)
    answer = await refresh(registry, first["refresh_token"])
    assert answer.status_code == 200
    second = answer.json()
    assert second["access_token"] != first["access_token"]
    assert second["refresh_token"] != first["refresh_token"]
    assert (second["token_type"], second["expires_in"]) == ("bearer", 90 * 60)
    assert (await profile(registry, second["access_token"])).status_code == 200
    assert (await refresh(registry, second["refresh_token"])).status_code == 200


async def test_an_old_refresh_token_used_again_ends_its_family_and_no_other(registry):
    first = await session(registry)
    other = (await log_in(registry)).json()
    second = (await refresh(registry, first["refresh_token"])).json()
    assert code(await refresh(registry, first["refresh_token"])) == (401, "AUTH_FAILED")
    assert (await refresh(registry, second["refresh_token"])).status_code == 401
    assert (await profile(registry, second["access_token"])).status_code == 401
    assert (await profile(registry, first["access_token"])).status_code == 401
    assert (await profile(registry, other["access_token"])).status_code == 200
    assert (await refresh(registry, other["refresh_token"])).status_code == 200


async def test_of_parallel_refreshes_with_one_token_exactly_one_wins(registry):
    tokens = await session(registry)
    answers = await at_once(*(refresh(registry, tokens["refresh_token"]) for _ in range(8)))
    assert sorted(answer.status_code for answer in answers) == [200] + [401] * 7


async def test_an_unknown_refresh_token_is_401_and_a_missing_one_422(registry):
    assert (await refresh(registry, "hrt_unknown")).status_code == 401
    assert (await registry.post("/auth/refresh", json={})).status_code == 422


async def test_logging_out_ends_every_token_of_the_account(registry):
    here, there = await session(registry), (await log_in(registry)).json()
    answer = await registry.post("/auth/logout", headers={"Authorization": f"Bearer {here['access_token']}"})
    assert answer.status_code == 200
    assert answer.json()["message"]
    for tokens in (here, there):
        assert (await profile(registry, tokens["access_token"])).status_code == 401
        assert (await refresh(registry, tokens["refresh_token"])).status_code == 401
    assert (await log_in(registry)).status_code == 200


async def test_logging_out_leaves_other_accounts_alone(registry):
    ada = await session(registry)
    await register(registry, name="Grace", email="grace@example.org")
    grace = (await log_in(registry, "grace@example.org")).json()
    await registry.post("/auth/logout", headers={"Authorization": f"Bearer {ada['access_token']}"})
    assert (await profile(registry, grace["access_token"])).status_code == 200


# Verification of the address


async def test_without_required_verification_an_account_is_verified_at_once_and_no_mail_is_sent(registry):
    tokens = await session(registry)
    assert (await profile(registry, tokens["access_token"])).json()["is_verified"] is True
    assert await registry.outbox() == []


async def test_the_mailed_link_verifies_and_a_second_visit_says_it_was_done(start_registry):
    registry = await start_registry(
        email_verification_required=True, public_base_url="https://registry.example.org"
    )
    await register(registry)
    (mail,) = await registry.outbox()
    assert mail["To"] == "ada@example.org"
    assert "https://registry.example.org/verify-email?token=" in text_of(mail)

    first = await registry.get(link_in(mail))
    second = await registry.get(link_in(mail))
    assert (first.status_code, first.json()["status"]) == (200, "verified")
    assert (second.status_code, second.json()["status"]) == (200, "already_verified")
    assert "token" not in first.text
    assert (await log_in(registry)).status_code == 200


async def test_the_mailed_link_opens_a_page_and_a_head_request_does_not_use_it(start_registry):
    registry = await start_registry(email_verification_required=True)
    await register(registry)
    (mail,) = await registry.outbox()
    page = "/verify-email" + link_in(mail).partition("/auth/verify-email")[2]
    assert (await registry.http.head(page)).status_code == 405
    assert (await registry.http.head(f"/api/v1{link_in(mail)}")).status_code == 405
    assert code(await log_in(registry)) == (403, "EMAIL_UNVERIFIED")

    verified = await registry.http.get(page)
    assert (verified.status_code, verified.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "E-mail address verified" in verified.text
    assert (await log_in(registry)).status_code == 200
    unknown = await registry.http.get("/verify-email?token=evt_unknown")
    assert (unknown.status_code, "The link is not valid" in unknown.text) == (400, True)
    assert (await registry.http.get("/verify-email")).status_code == 400


async def test_a_second_visit_of_the_mailed_link_shows_that_the_address_was_verified_already(start_registry):
    registry = await start_registry(email_verification_required=True)
    await register(registry)
    (mail,) = await registry.outbox()
    page = "/verify-email" + link_in(mail).partition("/auth/verify-email")[2]
    first, second = await registry.http.get(page), await registry.http.get(page)
    already = "The e-mail address was already verified."
    assert (first.status_code, already in first.text) == (200, False)
    assert (second.status_code, already in second.text) == (200, True)
    assert "E-mail address verified" not in second.text
    assert already == (await registry.get(link_in(mail))).json()["message"]


async def test_an_unverified_login_is_403_after_the_right_password_only(start_registry):
    registry = await start_registry(email_verification_required=True)
    await register(registry)
    assert (await log_in(registry, password=WRONG_PASSWORD)).status_code == 401
    assert len(await registry.outbox()) == 1
    assert code(await log_in(registry)) == (403, "EMAIL_UNVERIFIED")


async def test_a_login_right_after_registration_mails_no_second_link(start_registry):
    registry = await start_registry(email_verification_required=True)
    await register(registry)
    refused = await at_once(*(log_in(registry) for _ in range(4)))
    assert [code(answer) for answer in refused] == [(403, "EMAIL_UNVERIFIED")] * 4
    (only,) = await registry.outbox()
    assert (await registry.get(link_in(only))).json()["status"] == "verified"


async def test_an_unknown_verification_link_is_refused(registry):
    answer = await registry.get("/auth/verify-email", params={"token": "evt_unknown"})
    assert code(answer) == (400, "VERIFICATION_LINK_INVALID")
    assert (await registry.get("/auth/verify-email")).status_code == 422
