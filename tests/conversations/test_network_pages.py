"""The registry's own licence and icon in the administration: a network is founded or joined, the icon replaced."""

import pytest

from tests.browsing import BrowserOf, browser_of
from tests.images import JPEG, png
from tests.licences import TestGenesis
from tests.registry import PASSWORD, TestRegistry, at_once

LICENCES, CARD = "/administration/licences", "/administration/registry-card"
MAINFRAME = {"is_central_registry": True, "sovereign_mainframes": ["hansa.local"]}


async def opened(registry: TestRegistry, area: str, path: str) -> BrowserOf:
    browser = await browser_of(registry, await registry.administrator(area))
    await browser.open(path)
    return browser


async def delivered_by(genesis: TestGenesis, registry: TestRegistry) -> tuple[str, str]:
    """A certificate of this registry with its chain, as a genesis delivers them."""
    headers = (await registry.administrator("admin_federation")).headers
    key = (await registry.get("/admin/federation/licences/key", headers=headers)).json()
    return genesis.frame(
        "hansa.local", {name: key[name] for name in ("kty", "crv", "x")}
    ), genesis.certificate


async def held(registry: TestRegistry) -> int:
    return (await registry.http.get("/.well-known/federation-licence.json")).status_code


async def test_a_genesis_certificate_is_issued_once_by_the_form_sent_twice(start_registry):
    registry = await start_registry(**MAINFRAME)
    browser = await opened(registry, "admin_federation", LICENCES)
    assert "This registry holds no certificate." in browser.text
    fields = browser.form(f"{LICENCES}/genesis").fields
    twin = BrowserOf(registry)
    twin.http.cookies = browser.http.cookies
    await at_once(*(each.post(f"{LICENCES}/genesis", fields) for each in (browser, twin)))
    for each in (browser, twin):
        assert "The genesis certificate is issued." in each.text
        assert "Genesis, " in each.text
    assert await held(registry) == 200
    assert f'action="{LICENCES}/genesis"' not in browser.text
    assert f'action="{LICENCES}/install"' not in browser.text
    key = dict(browser.form(LICENCES).fields)["form_key"]
    again = await browser.post(f"{LICENCES}/genesis", form_key=key)
    assert (again.status_code, 'role="alert"' in again.text) == (409, True)


async def test_a_registry_that_is_no_mainframe_is_offered_no_genesis_and_refused_one(registry):
    browser = await opened(registry, "admin_federation", LICENCES)
    assert f'action="{LICENCES}/genesis"' not in browser.text
    key = dict(browser.form(LICENCES).fields)["form_key"]
    assert (await browser.post(f"{LICENCES}/genesis", form_key=key)).status_code == 503
    assert await held(registry) == 404


async def test_a_certificate_is_installed_with_its_chain_and_stated_on_the_card(registry):
    certificate, chain = await delivered_by(TestGenesis("genesis.example"), registry)
    browser = await opened(registry, "admin_federation", LICENCES)
    done = await browser.send(f"{LICENCES}/install", certificate=f" {certificate}\n", chain=f"{chain}\n")
    assert "The certificate is installed" in done.text
    assert "Frame, " in done.text
    assert "genesis.example" in done.text
    assert await held(registry) == 200
    card = (await registry.http.get("/.well-known/registry-card.json")).json()
    assert card["federation"]["licence"]["network"] == "genesis.example"


@pytest.mark.parametrize(
    ("certificate", "chain", "field"),
    [("", "x", "certificate"), ("x", "", "chain"), ("x.y.z", "x", "certificate"), ("x", "a b c d", "chain")],
)
async def test_a_certificate_that_is_none_is_refused_beside_its_field(registry, certificate, chain, field):
    browser = await opened(registry, "admin_federation", LICENCES)
    refused = await browser.send(f"{LICENCES}/install", certificate=certificate, chain=chain)
    assert (refused.status_code, f'id="{field}-trouble"' in refused.text) == (422, True)
    assert await held(registry) == 404


async def test_a_certificate_of_another_registry_is_not_installed(registry):
    genesis = TestGenesis("genesis.example")
    browser = await opened(registry, "admin_federation", LICENCES)
    other = genesis.frame("other.example", genesis.jwk)
    refused = await browser.send(f"{LICENCES}/install", certificate=other, chain=genesis.certificate)
    assert (refused.status_code, "The certificate is for other.example" in refused.text) == (422, True)
    assert await held(registry) == 404


@pytest.mark.parametrize("image", [png(2, 3), JPEG], ids=["png", "jpeg"])
async def test_the_icon_is_replaced_and_the_card_signed_again(registry, image):
    browser = await opened(registry, "admin_platform", CARD)
    done = await browser.upload(f"{CARD}/icon", image)
    assert "The icon is replaced and the card signed." in done.text
    served = await registry.http.get("/registry-card/icon")
    assert (served.status_code, served.headers["content-type"].startswith("image/")) == (200, True)
    card = (await registry.http.get("/.well-known/registry-card.json")).json()
    assert "/registry-card/icon?v=" in card["visual"]["icon_url"]


@pytest.mark.parametrize(
    "file", [b"", b"<svg onload=alert(1)>", b"\x89PNG\r\n\x1a\n", png(2, 2)[:-20], b"GIF89a"], ids=repr
)
async def test_a_file_that_is_no_image_is_refused_beside_its_field(registry, file):
    browser = await opened(registry, "admin_platform", CARD)
    refused = await browser.upload(f"{CARD}/icon", file)
    assert (refused.status_code, 'id="file-trouble"' in refused.text) == (422, True)
    assert (await registry.http.get("/registry-card/icon")).status_code == 404


async def test_a_file_that_is_too_large_is_refused(registry):
    browser = await opened(registry, "admin_platform", CARD)
    assert (await browser.upload(f"{CARD}/icon", png(2, 2) + bytes(500_000))).status_code == 413
    assert (await registry.http.get("/registry-card/icon")).status_code == 404


async def test_an_upload_needs_the_password_of_the_last_ten_minutes_and_leads_back_to_the_form(registry):
    browser = await opened(registry, "admin_platform", CARD)
    await browser.idle(minutes=11)
    unproved = await browser.upload(f"{CARD}/icon", png(1, 1))
    assert unproved.status_code == 403
    await browser.send("/confirm", password=PASSWORD)
    assert browser.page.url.path == CARD
    assert "The icon is replaced" in (await browser.upload(f"{CARD}/icon", png(1, 1))).text


async def test_an_upload_after_the_end_of_the_session_leads_to_the_login_and_back(registry):
    administrator = await registry.administrator("admin_platform")
    browser = await browser_of(registry, administrator)
    await browser.open(CARD)
    page = browser.page
    await browser.idle(minutes=61)
    browser.page = page
    ended = await browser.upload(f"{CARD}/icon", png(1, 1))
    assert (ended.status_code, "a file is not kept" in ended.text) == (401, True)
    await browser.send("/login", email=administrator.email, password=PASSWORD)
    assert browser.page.url.path == CARD


async def test_an_upload_of_another_site_or_without_the_key_of_a_form_or_the_area_changes_nothing(registry):
    browser = await opened(registry, "admin_platform", CARD)
    fields = dict(browser.form(f"{CARD}/icon").fields)
    files = {"file": ("icon.png", png(1, 1))}
    own = {"Origin": registry.settings.base_url, "Sec-Fetch-Site": "same-origin"}
    elsewhere = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    for headers, data, status in ((elsewhere, fields, 403), (own, {"form_key": "x"}, 409)):
        answer = await browser.http.post(f"{CARD}/icon", data=data, files=files, headers=headers)
        assert answer.status_code == status
    stranger = await browser_of(registry)
    await stranger.open("/account/api-keys")
    data = {"form_key": dict(stranger.form("/account/api-keys").fields)["form_key"]}
    assert (await stranger.http.post(f"{CARD}/icon", data=data, files=files, headers=own)).status_code == 403
    assert (await registry.http.get("/registry-card/icon")).status_code == 404
