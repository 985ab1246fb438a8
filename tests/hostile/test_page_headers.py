"""Headers that each page sends to the browser, and attacks that sessions and forms withstand."""

import re

import pytest

from tests.browsing import BrowserOf, browser_of
from tests.doors.pages_read import ReadPage
from tests.registry import PASSWORD, TestRegistry

PUBLIC = ("/", "/login", "/sign-up", "/catalogue", "/events", "/supply", "/docs", "/guides", "/no-such-page")
PRIVATE = ("/account", "/account/sessions", "/account/agents/new", "/account/two-factor")
TOKEN = re.compile(r"hbs_([0-9a-f]+)")
# An account logs in ten times a minute at most.
SESSIONS = 8


async def test_a_page_is_text_of_a_stated_encoding_that_no_other_site_frames_or_reads(registry: TestRegistry):
    browser = await browser_of(registry)
    browser.http.headers["Origin"] = "https://evil.example"
    for path in (*PUBLIC, *PRIVATE):
        headers = (await browser.open(path)).headers
        assert headers["content-type"] == "text/html; charset=utf-8", path
        assert headers["x-content-type-options"] == "nosniff", path
        assert headers["referrer-policy"] in {"no-referrer", "same-origin"}, path
        assert "frame-ancestors 'none'" in headers["content-security-policy"], path
        assert "access-control-allow-origin" not in headers, path
        assert not {"server", "x-powered-by"} & set(headers), path


async def test_no_address_on_a_page_holds_the_token_of_the_session(registry: TestRegistry):
    browser = await browser_of(registry)
    for path in PRIVATE:
        page = await browser.open(path)
        assert TOKEN.search(page.text) is None, path
        assert not any("hbs_" in address for address in ReadPage(page.text).addresses), path


async def test_tokens_of_sessions_have_128_bits_or_more_and_no_two_are_alike(registry: TestRegistry):
    developer = await registry.developer()
    tokens = {
        TOKEN.fullmatch((await BrowserOf(registry).log_in(developer.email)).http.cookies["hansa_session"])[1]
        for _ in range(SESSIONS)
    }
    assert len(tokens) == SESSIONS
    assert min(len(token) * 4 for token in tokens) >= 128


async def test_of_a_field_that_comes_twice_the_last_value_counts_for_the_key_and_for_the_act(
    registry: TestRegistry,
):
    browser = await browser_of(registry)
    await browser.open("/account/api-keys")
    key = dict(browser.form("/account/api-keys").fields)["form_key"]
    forged = [
        ("form_key", key),
        ("key_name", "Before"),
        ("key_name", "After"),
        ("scopes", "*"),
        ("form_key", "forged"),
    ]
    assert (await browser.post("/account/api-keys", forged)).status_code == 409
    assert (await browser.post("/account/api-keys", [*forged, ("form_key", key)])).status_code == 200
    listed = (await browser.open("/account/api-keys")).text
    assert ("After" in listed, "Before" in listed) == (True, False)


@pytest.mark.parametrize("name", ["is_admin", "admin_flags", "grants_admin", "id", "email_verified", "areas"])
async def test_a_field_that_a_form_does_not_have_changes_nothing(registry: TestRegistry, name: str):
    browser = BrowserOf(registry)
    await browser.open("/sign-up")
    fields = {
        "name": "Ada",
        "email": "ada@example.org",
        "password": PASSWORD,
        "tos_accepted": "true",
        "age_confirmed": "true",
    }
    await browser.send("/sign-up", **fields, **{name: "true"})
    await browser.log_in("ada@example.org")
    assert "/administration" not in browser.text
    assert (await browser.open("/administration")).status_code == 403
