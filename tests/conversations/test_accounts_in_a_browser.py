"""An account by its pages: sign up, access that was lost, two-factor login, deletion. Secrets are shown once."""

import re
from urllib.parse import unquote

import pyotp
import pytest

from tests.browsing import BrowserOf, browser_of, turn_on_two_factors
from tests.conversations.person import person
from tests.registry import PASSWORD, at_once, text_of

NEW_PASSWORD = "Another-Horse-9-Stable"
SIGN_UP = {
    "name": "Ada Lovelace",
    "email": "ada@example.org",
    "password": PASSWORD,
    "tos_accepted": "true",
    "age_confirmed": "true",
}


def secrets_on(browser):
    """Return the secrets that the page shows once."""
    return re.findall(r"<li><code>([^<]+)</code></li>", browser.text)


async def sign_up(registry, **fields):
    browser = BrowserOf(registry)
    await browser.open("/sign-up")
    await browser.send("/sign-up", **{**SIGN_UP, **fields})
    return browser


async def signed_up_twice(registry, **fields):
    """The page after the same form was sent by two clicks, and again by a reload."""
    browser = BrowserOf(registry)
    await browser.open("/sign-up")
    fields = {**dict(browser.form("/sign-up").fields), **SIGN_UP, **fields}
    twins = [BrowserOf(registry) for _ in range(2)]
    await at_once(*(twin.post("/sign-up", **fields) for twin in twins))
    await browser.post("/sign-up", **fields)
    return [secrets_on(each) for each in (*twins, browser)]


async def test_who_signs_up_sees_three_recovery_keys_and_logs_in(registry):
    browser = await sign_up(registry)
    keys = secrets_on(browser)
    assert len(keys) == 3
    assert browser.page.headers["cache-control"] == "no-store"
    (file,) = re.findall(r'href="data:text/plain;charset=utf-8,([^"]+)"', browser.text)
    assert unquote(file).split() == keys
    await browser.log_in(SIGN_UP["email"])
    assert browser.page.url.path == "/account"


async def test_a_form_of_sign_up_that_is_sent_again_makes_one_account_and_shows_the_same_keys(registry):
    first, second, reloaded = await signed_up_twice(registry)
    assert first == second == reloaded
    assert len(first) == 3


@pytest.mark.parametrize(
    ("fields", "field", "sentence"),
    [
        ({"name": ""}, "name", "This field is required."),
        ({"email": "nobody"}, "email", "Must be an e-mail address, such as name@example.org."),
        ({"password": "Short-1"}, "password", "At least 12 characters."),
        ({"password": "My-PassWord-Is-1-Long"}, "password", "The password contains a common word."),
        ({"age_confirmed": ""}, "age_confirmed", "Confirm that you are old enough for an account."),
        (
            {"tos_accepted": ""},
            "tos_accepted",
            "Accept the terms of use and the privacy statement to sign up.",
        ),
        ({"invite_code": "unknown"}, "invite_code", "invit"),
    ],
    ids=str,
)
async def test_a_refused_sign_up_says_why_beside_the_field_and_keeps_the_rest(
    registry, fields, field, sentence
):
    browser = await sign_up(registry, **fields)
    assert browser.page.status_code in {400, 404, 422}
    assert "<title>Error: Sign up" in browser.text
    (beside,) = re.findall(rf'id="{field}-trouble">([^<]+)<', browser.text)
    assert sentence in beside
    kept = dict(browser.form("/sign-up").fields)
    assert kept["password"] == ""
    assert kept["email"] == {**SIGN_UP, **fields}["email"]
    assert {**SIGN_UP, **fields}["password"] not in browser.text
    await browser.send("/sign-up", **{**SIGN_UP, "invite_code": ""})
    assert len(secrets_on(browser)) == 3


async def test_an_invitation_code_in_a_query_is_ignored_and_a_sign_up_without_a_code_refused(start_registry):
    registry = await start_registry(beta_invite_required=True)
    browser = BrowserOf(registry)
    for name in ("invite", "invite_code"):
        await browser.open(f"/sign-up?{name}=some-code")
        assert dict(browser.form("/sign-up").fields)["invite_code"] == ""
        assert "some-code" not in browser.text
    await browser.send("/sign-up", **{**SIGN_UP, "invite_code": ""})
    assert "This registry requires an invitation code." in browser.text


async def test_a_form_of_sign_up_without_a_key_of_the_registry_makes_no_account(registry):
    browser = BrowserOf(registry)
    await browser.post("/sign-up", **SIGN_UP)
    assert (browser.page.status_code, "FORM_EXPIRED" in browser.text) == (409, True)
    await browser.log_in(SIGN_UP["email"])
    assert browser.page.status_code == 401


async def test_the_mailed_link_verifies_the_address_and_a_login_before_says_so(start_registry):
    registry = await start_registry(email_verification_required=True)
    browser = await sign_up(registry)
    assert "Open it before you log in." in browser.text
    await browser.log_in(SIGN_UP["email"])
    assert browser.page.status_code == 403
    link = re.findall(r"http\S+", text_of((await registry.outbox())[0]))[0]
    await browser.open(link.removeprefix(registry.settings.base_url))
    assert "E-mail address verified" in browser.text
    await browser.log_in(SIGN_UP["email"])
    assert browser.page.url.path == "/account"


async def test_a_forgotten_password_is_answered_the_same_for_every_address(registry):
    ada = await person(registry)
    browser = BrowserOf(registry)
    pages = []
    for email in (ada.email, "nobody@example.org"):
        await browser.open("/forgot-password")
        await browser.send("/forgot-password", email=email)
        pages.append((browser.page.status_code, browser.text))
    assert pages[0] == pages[1]
    assert pages[0][0] == 200
    mails = await registry.outbox()
    assert len(mails) == 1
    assert "/set-password#token=" in text_of(mails[0])


async def test_a_recovery_key_sets_a_new_password_once(registry):
    ada = await person(registry)
    browser = BrowserOf(registry)
    await browser.open("/recover")
    await browser.send("/recover", email=ada.email, recovery_key="avrec-wrong")
    assert browser.page.status_code == 401
    assert "avrec-wrong" not in browser.text
    await browser.send("/recover", email=ada.email, recovery_key=ada.recovery_keys[0])
    await browser.send("/set-password", new_password="short")
    assert browser.page.status_code == 422
    form = browser.form("/set-password").fields
    await browser.send("/set-password", new_password=NEW_PASSWORD)
    assert "The password is set." in browser.text
    await browser.post("/set-password", form, new_password=PASSWORD)
    assert browser.page.status_code == 401
    assert "has been used or has expired" in browser.text
    await browser.log_in(ada.email, NEW_PASSWORD)
    assert browser.page.url.path == "/account"


async def test_a_form_with_a_recovery_key_that_is_sent_twice_uses_the_key_up_once(registry):
    ada = await person(registry)
    browser = BrowserOf(registry)
    await browser.open("/recover")
    kept = browser.form("/recover").fields
    twins = [BrowserOf(registry) for _ in range(2)]
    fields = {"email": ada.email, "recovery_key": ada.recovery_keys[0]}
    await at_once(
        *(
            twin.post("/recover", [kept[0], ("email", ada.email)], recovery_key=fields["recovery_key"])
            for twin in twins
        )
    )
    assert [twin.page.status_code for twin in twins] == [200, 200]
    tokens = {dict(twin.form("/set-password").fields)["password_token"] for twin in twins}
    assert len(tokens) == 1


async def test_a_right_to_set_a_password_that_the_registry_did_not_give_is_refused(registry):
    browser = BrowserOf(registry)
    for token in ("", "x", "é", "A" * 3000):
        await browser.post("/set-password", password_token=token, new_password=NEW_PASSWORD)
        assert browser.page.status_code == 401


async def test_who_lost_the_app_turns_two_factor_login_off_with_a_recovery_key(registry):
    ada = await (await person(registry)).log_in()
    await ada.use_app()
    browser = BrowserOf(registry)
    await browser.open("/recover/two-factor")
    await browser.send("/recover/two-factor", recovery_key=ada.recovery_keys[0])
    assert browser.page.status_code == 401
    await browser.log_in(ada.email)
    await browser.open("/recover/two-factor")
    await browser.send("/recover/two-factor", recovery_key="avrec-wrong")
    assert browser.page.status_code == 401
    await browser.send("/recover/two-factor", recovery_key=ada.recovery_keys[0])
    assert "Two-factor login is off." in browser.text
    await browser.log_in(ada.email)
    assert browser.page.url.path == "/account"


async def test_two_factor_login_is_set_up_with_a_picture_and_turned_on_with_a_code(registry):
    developer = await registry.developer()
    browser = await browser_of(registry, developer)
    await browser.open("/account/two-factor")
    await browser.send("/account/two-factor/set-up")
    assert browser.text.count('class="qr"') == 1
    (seed,) = re.findall(r'class="secret"[^>]*><code>([A-Z2-7]+)</code>', browser.text)
    await browser.send("/account/two-factor/turn-on", code="000")
    assert browser.page.status_code == 401
    assert seed not in browser.text
    form = browser.form("/account/two-factor/turn-on").fields
    code = pyotp.TOTP(seed).now()
    await browser.send("/account/two-factor/turn-on", code=code)
    codes = secrets_on(browser)
    assert len(codes) == 10
    # A reload of the page shows the same codes again, and no other form does.
    await browser.post("/account/two-factor/turn-on", form, code=code)
    assert secrets_on(browser) == codes
    await browser.open("/account/two-factor")
    assert "Two-factor login is on" in browser.text
    await browser.send("/account/two-factor/turn-off", password=PASSWORD, code=codes[0])
    assert "Two-factor login is off." in browser.text


async def test_two_factor_login_stays_on_without_the_password_or_a_code(registry):
    developer = await registry.developer()
    _, codes = await turn_on_two_factors(registry, developer)
    browser = BrowserOf(registry)
    await browser.log_in(developer.email)
    await browser.send("/login/code", code=codes[0])
    await browser.open("/account/two-factor")
    await browser.send("/account/two-factor/turn-off", password="Wrong-Secret-99!", code=codes[1])
    assert browser.page.status_code == 401
    await browser.send("/account/two-factor/turn-off", password=PASSWORD, code="wrong")
    assert browser.page.status_code == 401
    await browser.open("/account/two-factor")
    assert "Two-factor login is on" in browser.text


async def test_a_changed_password_ends_the_session_and_leads_to_the_login(registry):
    developer = await registry.developer()
    browser = await browser_of(registry, developer)
    await browser.open("/account/change-password")
    await browser.send("/account/change-password", current_password="x", new_password=NEW_PASSWORD)
    assert browser.page.status_code == 401
    await browser.send("/account/change-password", current_password=PASSWORD, new_password=NEW_PASSWORD)
    assert "The password is set." in browser.text
    await browser.log_in(developer.email, NEW_PASSWORD)
    assert browser.page.url.path == "/account"


async def test_new_recovery_keys_are_shown_once_and_replace_the_former_ones(registry):
    ada = await person(registry)
    browser = await BrowserOf(registry).log_in(ada.email)
    await browser.open("/account/recovery-keys")
    await browser.send("/account/recovery-keys", password="Wrong-Secret-99!")
    assert browser.page.status_code == 401
    await browser.send("/account/recovery-keys", password=PASSWORD)
    new = secrets_on(browser)
    assert len(new) == 3
    await browser.open("/recover")
    await browser.send("/recover", email=ada.email, recovery_key=ada.recovery_keys[0])
    assert browser.page.status_code == 401
    await browser.send("/recover", email=ada.email, recovery_key=new[0])
    assert browser.page.status_code == 200


async def test_a_deletion_cools_off_and_is_cancelled(registry):
    browser = await browser_of(registry)
    await browser.open("/account/deletion")
    await browser.send("/account/deletion/request-deletion")
    assert "The account will be deleted on" in browser.text
    await browser.send("/account/deletion/cancel")
    assert "The account will be deleted on" not in browser.text
    key = dict(browser.form("/account/deletion/request-deletion").fields)["form_key"]
    await browser.post("/account/deletion/cancel", form_key=key)
    assert browser.page.status_code == 409


async def test_a_deletion_that_units_prevent_names_what_holds_them(registry):
    developer = await registry.developer()
    agent = await developer.agent()
    browser = await browser_of(registry, developer)
    await browser.open("/account/deletion")
    assert agent.did in browser.text
    assert "What prevents the deletion" in browser.text
    # No button beside what prevents it; a form that was opened before is refused.
    request = "/account/deletion/request-deletion"
    assert request not in browser.text
    await browser.open("/account/change-password")
    key = dict(browser.form("/account/change-password").fields)["form_key"]
    await browser.post(request, form_key=key)
    assert browser.page.status_code == 409
    assert "What prevents the deletion" in browser.text


async def test_the_deletion_asks_for_the_password_again_and_then_goes_on(registry):
    browser = await browser_of(registry)
    await browser.idle(minutes=11)
    await browser.open("/account/deletion")
    await browser.send("/account/deletion/request-deletion")
    assert (browser.page.status_code, "<h1>Confirm your password</h1>" in browser.text) == (403, True)
    await browser.send("/confirm", password=PASSWORD)
    await browser.send("/account/deletion/request-deletion")
    assert "The account will be deleted on" in browser.text
