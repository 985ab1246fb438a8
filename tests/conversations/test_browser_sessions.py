"""Log in in a browser: sessions, forms that survive, and requests that a browser is refused."""

import re

import pytest

from hansa.doors.console.access.pages import own_path
from hansa.foundation.values.secrets import fingerprint
from tests.browsing import BrowserOf, browser_of, turn_on_two_factors
from tests.registry import PASSWORD, at_once

COOKIE = "hansa_session"
ACCOUNT = "<h1>Home</h1>"


def is_at_login(browser):
    return browser.page.url.path == "/login" and "<h1>Log in</h1>" in browser.text


async def test_a_person_logs_in_and_sees_the_account(registry):
    developer = await registry.developer("Ada")
    browser = BrowserOf(registry)
    await browser.open("/account/sessions")
    assert is_at_login(browser)
    await browser.send("/login", email=developer.email, password=PASSWORD)
    assert (browser.page.status_code, browser.page.url.path) == (200, "/account/sessions")
    await browser.open("/account")
    assert ACCOUNT in browser.text
    assert developer.email in browser.text
    await browser.open("/login")
    assert browser.page.url.path == "/account"


async def test_a_wrong_password_keeps_the_address_and_shows_no_password(registry):
    developer = await registry.developer()
    browser = BrowserOf(registry)
    await browser.open("/login")
    await browser.send("/login", email=developer.email, password="Wrong-Secret-99!")
    assert browser.page.status_code == 401
    assert "The e-mail address or the password is wrong." in browser.text
    assert developer.email in browser.text
    assert "Wrong-Secret-99!" not in browser.text
    assert COOKIE not in browser.http.cookies


async def test_the_cookie_is_out_of_reach_of_scripts_and_of_other_sites(start_registry):
    registry = await start_registry(public_base_url="https://registry.example")
    browser = await browser_of(registry)
    answer = browser.page.history[0]
    cookie, sign = answer.headers.get_list("set-cookie")
    # A script reads that there is a session, and nothing of it.
    assert sign.startswith("__Host-hansa_person=1; ")
    assert cookie.startswith("__Host-hansa_session=hbs_")
    assert {"HttpOnly", "Secure", "Path=/", "SameSite=lax"} <= {part.strip() for part in cookie.split(";")}
    assert "domain" not in cookie.lower()


async def test_over_http_a_person_logs_in_by_a_loopback_address_only(start_registry):
    registry = await start_registry(public_base_url="http://registry.example")
    developer = await registry.developer()
    browser = BrowserOf(registry)
    await browser.open("/login")
    await browser.send("/login", email=developer.email, password=PASSWORD)
    assert browser.page.status_code == 403
    assert "requires https" in browser.text
    assert "set-cookie" not in browser.page.headers


async def test_only_the_hash_of_a_session_token_is_stored(registry):
    browser = await browser_of(registry)
    token = browser.http.cookies[COOKIE]
    stored = await registry.database.read(
        lambda tx: tx.fetchval(
            "SELECT browser_token_hash FROM people_session WHERE browser_token_hash IS NOT NULL"
        )
    )
    assert stored == fingerprint(token)


async def test_a_login_never_takes_the_token_that_the_browser_brought(registry):
    developer = await registry.developer()
    browser = BrowserOf(registry)
    browser.http.cookies.set(COOKIE, "hbs_" + "0" * 64, domain="127.0.0.1", path="/")
    await browser.log_in(developer.email)
    first = browser.http.cookies[COOKIE]
    assert first != "hbs_" + "0" * 64
    # Logged in a second time, the browser has a new session, and the first one has ended.
    await browser.post("/login", email=developer.email, password=PASSWORD)
    assert browser.http.cookies[COOKIE] != first
    stale = BrowserOf(registry)
    stale.http.cookies.set(COOKIE, first, domain="127.0.0.1", path="/")
    await stale.open("/account")
    assert is_at_login(stale)


async def test_a_session_ends_after_an_hour_without_a_request(registry):
    browser = await browser_of(registry)
    await browser.idle(minutes=59)
    await browser.open("/account")
    assert ACCOUNT in browser.text
    await browser.idle(minutes=59)
    await browser.open("/account")
    assert ACCOUNT in browser.text
    await browser.idle(minutes=61)
    await browser.open("/account")
    assert is_at_login(browser)


async def test_a_session_ends_twelve_hours_after_the_login_however_much_it_is_used(registry):
    browser = await browser_of(registry)
    for _ in range(12):
        await browser.idle(minutes=59)
        await browser.open("/account")
        assert ACCOUNT in browser.text
    await browser.idle(minutes=13)
    await browser.open("/account")
    assert is_at_login(browser)


async def test_a_change_of_the_password_ends_every_session(registry):
    developer = await registry.developer()
    browser = await browser_of(registry, developer)
    body = {"current_password": PASSWORD, "new_password": "Another-Secret-77!"}
    changed = await registry.post("/auth/change-password", json=body, headers=developer.headers)
    assert changed.status_code == 200
    await browser.open("/account")
    assert is_at_login(browser)


async def test_sessions_are_listed_and_ended(registry):
    developer = await registry.developer()
    here, there = [await browser_of(registry, developer) for _ in range(2)]
    await here.open("/account/sessions")
    assert here.text.count("(this session)") == 1
    ends = re.findall(r'action="(/account/sessions/[0-9a-f-]{36}/end)"', here.text)
    assert len(ends) == 3
    own = re.search(r"\(this session\).*?action=\"([^\"]+)\"", here.text, re.DOTALL)[1]
    for end in ends:
        if end != own:
            await here.open("/account/sessions")
            await here.send(end)
            assert "The session has ended." in here.text
    await there.open("/account")
    assert is_at_login(there)
    gone = await registry.get("/auth/profile", headers=developer.headers)
    assert gone.status_code == 401
    await here.send(own)
    assert "You are logged out." in here.text


async def test_a_person_ends_no_session_of_another_account(registry):
    other = await browser_of(registry)
    await other.open("/account/sessions")
    end = re.search(r"\(this session\).*?action=\"([^\"]+)\"", other.text, re.DOTALL)[1]
    browser = await browser_of(registry)
    await browser.open("/account/sessions")
    key = dict(browser.form("/account/sessions/end-all").fields)["form_key"]
    await browser.post(end, form_key=key)
    assert (await other.open("/account")).url.path == "/account"


async def test_log_out_everywhere_ends_every_session(registry):
    developer = await registry.developer()
    here, there = [await browser_of(registry, developer) for _ in range(2)]
    await here.open("/account/sessions")
    await here.send("/account/sessions/end-all")
    assert "You are logged out." in here.text
    assert is_at_login(there) or is_at_login((await there.open("/account"), there)[1])


async def test_log_out_ends_the_session_and_its_cookie(registry):
    browser = await browser_of(registry)
    token = browser.http.cookies[COOKIE]
    await browser.open("/account")
    await browser.send("/logout")
    assert "You are logged out." in browser.text
    assert COOKIE not in browser.http.cookies
    browser.http.cookies.set(COOKIE, token, domain="127.0.0.1", path="/")
    await browser.open("/account")
    assert is_at_login(browser)


async def test_an_ended_session_is_not_among_the_open_ones(registry):
    developer = await registry.developer()
    browser = await browser_of(registry, developer)
    listed = (await registry.get("/auth/sessions", headers=developer.headers)).json()
    assert listed["pagination"]["total_items"] == 2
    await browser.idle(minutes=61)
    listed = (await registry.get("/auth/sessions", headers=developer.headers)).json()
    assert listed["pagination"]["total_items"] == 1


async def test_two_factor_login_asks_for_a_code_before_there_is_a_session(registry):
    developer = await registry.developer()
    _, backup_codes = await turn_on_two_factors(registry, developer)
    browser = BrowserOf(registry)
    await browser.open("/login?next=/account/sessions")
    await browser.send("/login", email=developer.email, password=PASSWORD)
    assert "<h1>Enter a code</h1>" in browser.text
    assert COOKIE not in browser.http.cookies
    await browser.send("/login/code", code="not a code")
    assert browser.page.status_code == 401
    assert "The code is wrong" in browser.text
    await browser.send("/login/code", code=backup_codes[0])
    assert browser.page.url.path == "/account/sessions"
    assert "hansa_login" not in browser.http.cookies


async def test_a_code_without_a_password_logs_nobody_in(registry):
    developer = await registry.developer()
    app, _ = await turn_on_two_factors(registry, developer)
    browser = BrowserOf(registry)
    await browser.post("/login/code", code=app.now())
    assert browser.page.status_code == 401
    assert COOKIE not in browser.http.cookies


async def test_private_pages_are_kept_by_no_cache(registry):
    browser = await browser_of(registry)
    for path in ("/account", "/account/sessions"):
        answer = await browser.open(path)
        assert answer.headers["cache-control"] == "no-store"
        assert "Cookie" in answer.headers["vary"]


async def test_pages_with_forms_cannot_be_framed_and_send_forms_here_alone(registry):
    browser = await browser_of(registry)
    for path in ("/account", "/account/sessions"):
        policy = (await browser.open(path)).headers["content-security-policy"]
        assert "frame-ancestors 'none'" in policy
        assert "form-action 'self'" in policy
        assert "unsafe-inline" not in policy


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": "http://127.0.0.1:8000", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "https://evil.example", "Sec-Fetch-Site": "same-origin"},
        {"Origin": "http://127.0.0.1:8000.evil.example"},
        {"Origin": "https://127.0.0.1:8000"},
    ],
    ids=str,
)
async def test_a_form_from_another_site_changes_nothing(registry, headers):
    browser = await browser_of(registry)
    await browser.open("/account/sessions")
    fields = dict(browser.form("/account/sessions/end-all").fields)
    for path in ("/account/sessions/end-all", "/logout", "/login"):
        answer = await browser.http.post(path, data=fields, headers=headers)
        assert answer.status_code == 403, (path, answer.text)
        assert "CROSS_SITE_FORM" in answer.text
    await browser.open("/account")
    assert ACCOUNT in browser.text


async def test_the_origin_that_the_browser_sees_is_accepted_also_where_the_registry_has_another_name(
    registry,
):
    browser = await browser_of(registry)
    await browser.open("/account")
    headers = {"Host": "localhost:8000", "Origin": "http://localhost:8000"}
    answer = await browser.http.post("/logout", data={"a": "b"}, headers=headers)
    assert answer.status_code == 303


@pytest.mark.parametrize("key", [None, "", "x", "é" * 10, "A" * 60, "A" * 10_000])
async def test_a_form_without_a_key_of_the_registry_changes_nothing(registry, key):
    browser = await browser_of(registry)
    await browser.post("/account/sessions/end-all", **({} if key is None else {"form_key": key}))
    assert browser.page.status_code == 409
    assert "FORM_EXPIRED" in browser.text
    await browser.open("/account")
    assert ACCOUNT in browser.text


async def test_a_form_that_another_account_opened_changes_nothing(registry):
    browser, other = [await browser_of(registry) for _ in range(2)]
    await other.open("/account/sessions")
    key = dict(other.form("/account/sessions/end-all").fields)["form_key"]
    await browser.post("/account/sessions/end-all", form_key=key)
    assert browser.page.status_code == 409


@pytest.mark.parametrize(
    "address",
    [
        "https://evil.example/",
        "//evil.example/",
        "/\\evil.example",
        "\\\\evil.example",
        "javascript:alert(1)",
        "/\t/evil.example",
        "/a\r\nSet-Cookie: a=b",
        "http:evil.example",
        "evil",
        "",
        "/ /evil.example",
        "///evil.example",
    ],
)
async def test_a_login_leads_to_no_other_site(registry, address):
    assert own_path(address) == "/account"
    developer = await registry.developer()
    browser = BrowserOf(registry)
    await browser.post("/login", email=developer.email, password=PASSWORD, next=address)
    assert str(browser.page.url) == registry.settings.base_url + "/account"


async def test_a_form_survives_the_login_after_an_ended_session(registry):
    developer = await registry.developer()
    _, backup_codes = await turn_on_two_factors(registry, developer)
    browser, other = BrowserOf(registry), BrowserOf(registry)
    for each, code in zip((browser, other), backup_codes, strict=False):
        await each.log_in(developer.email)
        await each.send("/login/code", code=code)
    await browser.open("/account/sessions")
    page = browser.page
    await browser.idle(minutes=61)
    browser.page = page
    await browser.send("/account/sessions/end-all")
    assert browser.page.status_code == 401
    assert "it was not lost" in browser.text
    await browser.send("/login", email=developer.email, password="Wrong-Secret-99!")
    await browser.send("/login", email=developer.email, password=PASSWORD)
    await browser.send("/login/code", code="wrong")
    await browser.send("/login/code", code=backup_codes[2])
    assert "<h1>Continue</h1>" in browser.text
    await browser.send("/account/sessions/end-all")
    assert "You are logged out." in browser.text


async def test_a_kept_form_that_the_registry_did_not_make_is_ignored(registry):
    developer = await registry.developer()
    browser = BrowserOf(registry)
    for resume in ("x", "A" * 80, "é"):
        await browser.post("/login", email=developer.email, password=PASSWORD, resume=resume)
        assert browser.page.url.path == "/account"


async def test_a_password_given_again_opens_what_is_dangerous(registry):
    browser = await browser_of(registry)
    await browser.idle(minutes=11)
    await browser.open("/account/sessions")
    key = dict(browser.form("/account/sessions/end-all").fields)["form_key"]
    await browser.post("/confirm", form_key=key, password="Wrong-Secret-99!")
    assert browser.page.status_code == 401
    assert "The password is wrong." in browser.text
    await browser.send("/confirm", password=PASSWORD)
    assert browser.page.url.path == "/account"


async def test_a_login_under_load_of_equal_forms_opens_sessions_and_crashes_nothing(registry):
    developer = await registry.developer()
    browsers = [BrowserOf(registry) for _ in range(4)]
    await at_once(*(browser.log_in(developer.email) for browser in browsers))
    assert [browser.page.url.path for browser in browsers] == ["/account"] * 4


@pytest.mark.parametrize("body", [b"\xff=\xfe", b"a=%00", b"email=%ff", b"&".join([b"a=b"] * 1001)])
async def test_a_form_that_cannot_be_read_is_refused_in_one_sentence(registry, body):
    headers = {
        "Origin": registry.settings.base_url,
        "Content-Type": "application/x-www-form-urlencoded",
        **registry.elsewhere(),
    }
    answer = await registry.http.post("/login", content=body, headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "BODY_INVALID")
