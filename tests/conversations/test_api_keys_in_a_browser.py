"""API keys and webhooks by their pages: secrets are shown once, objects of another account are unknown."""

import re

import pytest

from tests.browsing import browser_of
from tests.registry import PASSWORD, TestRegistry, at_once

URL = "https://receiver.example.com/hook"
MARKUP = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"


@pytest.fixture(scope="module")
def registry(registry_of_file: TestRegistry) -> TestRegistry:
    return registry_of_file


def secret_on(browser):
    (secret,) = re.findall(r'class="secret"[^>]*><code>([^<]+)</code>', browser.text)
    return secret


async def webhook_of(browser, **fields):
    """The path of a new webhook."""
    await browser.open("/account/webhooks")
    await browser.send("/account/webhooks", **{"url": URL, **fields})
    assert browser.page.status_code == 200, browser.text
    return re.search(r"/account/webhooks/whk_\w+", browser.text)[0]


async def test_a_key_with_chosen_scopes_is_shown_once_and_authenticates(registry):
    browser = await browser_of(registry)
    await browser.open("/account/api-keys")
    assert "admin:" not in browser.text
    await browser.send("/account/api-keys", key_name="Nightly", scopes=["profile:read"], expires_in_days="7")
    assert browser.page.headers["cache-control"] == "no-store"
    key = secret_on(browser)
    headers = {"Authorization": f"Bearer {key}"}
    assert (await registry.get("/auth/profile", headers=headers)).status_code == 200
    assert (await registry.get("/developers/webhooks", headers=headers)).status_code == 403
    await browser.open("/account/api-keys")
    assert key not in browser.text
    assert "Nightly" in browser.text
    assert "profile:read" in browser.text


async def test_a_form_of_a_key_sent_twice_makes_one_key_and_shows_it_again(registry):
    browser = await browser_of(registry)
    await browser.open("/account/api-keys")
    fields = browser.form("/account/api-keys").fields
    sent = [pair for pair in fields if pair[0] != "key_name"]
    await browser.post("/account/api-keys", sent, key_name="Once", scopes=["*"])
    first = secret_on(browser)
    await browser.post("/account/api-keys", sent, key_name="Once", scopes=["*"])
    assert secret_on(browser) == first
    await browser.open("/account/api-keys")
    assert browser.text.count("/revoke") == 1


async def test_a_revoked_key_is_refused_and_a_second_revocation_is_no_trouble(registry):
    browser = await browser_of(registry)
    await browser.open("/account/api-keys")
    await browser.send("/account/api-keys", key_name="Short", scopes=["*"])
    headers = {"Authorization": f"Bearer {secret_on(browser)}"}
    await browser.open("/account/api-keys")
    (action,) = re.findall(r'action="(/account/api-keys/\d+/revoke)"', browser.text)
    form = browser.form(action).fields
    await browser.send(action)
    assert "The key is revoked" in browser.text
    assert (await registry.get("/auth/profile", headers=headers)).status_code == 401
    await browser.post(action, form)
    assert "revoked already" in browser.text


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"key_name": " ", "scopes": ["*"]}, "key_name"),
        ({"key_name": "x" * 101, "scopes": ["*"]}, "key_name"),
        ({"key_name": "x", "scopes": ["*"], "expires_in_days": "-1"}, "expires_in_days"),
        ({"key_name": "x", "scopes": ["*"], "expires_in_days": "١"}, "expires_in_days"),
        ({"key_name": "x", "scopes": ["*"], "expires_in_days": "99999"}, "expires_in_days"),
        ({"key_name": "x", "scopes": ["nothing"]}, "scopes"),
        ({"key_name": "x"}, "scopes"),
    ],
    ids=str,
)
async def test_a_refused_key_says_why_beside_the_field(registry, fields, field):
    browser = await browser_of(registry)
    await browser.open("/account/api-keys")
    await browser.send("/account/api-keys", **fields)
    assert browser.page.status_code == 422
    assert f'id="{field}-trouble"' in browser.text
    assert "pattern" not in re.search(rf'id="{field}-trouble">([^<]+)<', browser.text)[1]


async def test_a_scope_of_an_area_that_one_does_not_administer_is_refused(registry):
    browser = await browser_of(registry)
    await browser.open("/account/api-keys")
    await browser.send("/account/api-keys", key_name="x", scopes=["admin:admin_treasury"])
    assert browser.page.status_code == 403


async def test_a_key_of_another_account_is_not_revoked(registry):
    owner, other = [await browser_of(registry) for _ in range(2)]
    await owner.open("/account/api-keys")
    await owner.send("/account/api-keys", key_name="Mine", scopes=["*"])
    key = secret_on(owner)
    await owner.open("/account/api-keys")
    (action,) = re.findall(r'action="(/account/api-keys/\d+/revoke)"', owner.text)
    await other.open("/account/api-keys")
    form_key = dict(other.form("/account/api-keys").fields)["form_key"]
    await other.post(action, form_key=form_key)
    profile = await registry.get("/auth/profile", headers={"Authorization": f"Bearer {key}"})
    assert profile.status_code == 200


async def test_a_key_needs_the_password_again_and_the_form_survives(registry):
    browser = await browser_of(registry)
    await browser.idle(minutes=11)
    await browser.open("/account/api-keys")
    await browser.send("/account/api-keys", key_name="Late", scopes=["profile:read", "agents:read"])
    assert browser.page.status_code == 403
    await browser.send("/confirm", password=PASSWORD)
    await browser.send("/account/api-keys")
    assert "Scopes: profile:read, agents:read." in browser.text


async def test_a_webhook_is_made_tested_rotated_and_deleted(registry):
    browser = await browser_of(registry)
    path = await webhook_of(browser, description="Books", event_types=["agent.onboarded"])
    first = secret_on(browser)
    await browser.open(path)
    assert first not in browser.text
    assert "agent.onboarded" in browser.text
    await browser.send(f"{path}/test")
    assert "The delivery is queued." in browser.text
    assert "webhook.test" in browser.text
    (resend,) = re.findall(rf'action="({path}/deliveries/msg_\w+/resend)"', browser.text)
    await browser.send(resend)
    assert "The delivery is queued." in browser.text
    await browser.send(f"{path}/rotate-secret")
    assert secret_on(browser) != first
    await browser.open(path)
    form = browser.form(f"{path}/delete").fields
    await browser.send(f"{path}/delete")
    assert "The webhook is deleted" in browser.text
    await browser.post(f"{path}/delete", form)
    assert "deleted already" in browser.text


async def test_a_test_that_two_clicks_sent_is_queued_once(registry):
    browser = await browser_of(registry)
    path = await webhook_of(browser)
    await browser.open(path)
    fields = browser.form(f"{path}/test").fields
    await at_once(*(browser.post(f"{path}/test", fields) for _ in range(2)))
    await browser.open(path)
    assert browser.text.count("/resend") == 1


async def test_a_webhook_is_changed_stopped_and_activated(registry):
    browser = await browser_of(registry)
    path = await webhook_of(browser, description="Books", event_types=["agent.onboarded"])
    await browser.open(path)
    await browser.send(f"{path}/stop")
    assert "The webhook is stopped." in browser.text
    await browser.send(f"{path}/change", url=f"{URL}/2", description="", event_types=["bond.slashed"])
    assert "The webhook is changed." in browser.text
    assert "Stopped" in browser.text
    fields = browser.form(f"{path}/change").fields
    assert [value for name, value in fields if name == "event_types"] == ["bond.slashed"]
    assert dict(fields)["url"] == f"{URL}/2"
    assert "Books" not in browser.text
    await browser.send(f"{path}/activate")
    assert "The webhook is active." in browser.text
    for refused in ({"url": "http://127.0.0.1/"}, {"event_types": []}, {"event_types": ["nothing"]}):
        await browser.send(f"{path}/change", **refused)
        assert browser.page.status_code == 422
        await browser.open(path)
        assert "bond.slashed" in browser.text


@pytest.mark.parametrize("url", ["http://127.0.0.1/", "ftp://example.com", "x", ""])
async def test_a_webhook_to_an_address_that_is_not_public_is_refused_beside_the_field(registry, url):
    browser = await browser_of(registry)
    await browser.open("/account/webhooks")
    await browser.send("/account/webhooks", url=url)
    assert browser.page.status_code == 422
    assert 'id="url-trouble"' in browser.text


async def test_a_webhook_of_another_account_is_unknown(registry):
    owner, other = [await browser_of(registry) for _ in range(2)]
    path = await webhook_of(owner)
    await other.open("/account/webhooks")
    form_key = dict(other.form("/account/webhooks").fields)["form_key"]
    assert (await other.open(path)).status_code == 404
    for act in ("test", "rotate-secret", "activate", "stop", "change"):
        fields = {"form_key": form_key, "url": URL, "event_types": "*"}
        await other.post(f"{path}/{act}", **fields)
        assert other.page.status_code == 404
    await other.post(f"{path}/delete", form_key=form_key)
    assert (await owner.open(path)).status_code == 200


async def test_what_a_person_writes_is_text_on_every_page_that_shows_it(registry):
    browser = await browser_of(registry)
    await browser.open("/account/api-keys")
    await browser.send("/account/api-keys", key_name=MARKUP, scopes=["*"])
    pages = [browser.text, (await browser.open("/account/api-keys")).text]
    path = await webhook_of(browser, url=f"{URL}?a=<script>x", description=MARKUP)
    pages += [browser.text, (await browser.open("/account/webhooks")).text, (await browser.open(path)).text]
    for page in pages:
        assert "<script>" not in page
        assert "<img src=x" not in page
