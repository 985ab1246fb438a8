"""A thief of an administrator's password, without the app, administers nothing where two-factor login is required."""

import pytest

from tests.browsing import BrowserOf
from tests.conversations.person import Person, person, said
from tests.registry import StartRegistry, TestRegistry

ROUTE = "/admin/event-emission-policies"
REFUSED = (403, "ADMIN_2FA_REQUIRED")


@pytest.fixture
async def registry(start_registry: StartRegistry) -> TestRegistry:
    return await start_registry(require_admin_2fa=True)


@pytest.fixture
async def administrator(registry: TestRegistry) -> Person:
    found = await person(registry)
    statement = "UPDATE people_developer SET is_admin = true, areas = '{admin_platform}' WHERE email = $1"
    await registry.database.transaction(lambda tx: tx.execute(statement, found.email))
    return await found.log_in()


async def key_of(who: Person) -> dict[str, str]:
    answer = await who.post("/auth/api-keys", key_name="K")
    assert answer.status_code == 200, answer.text
    return {"Authorization": f"Bearer {answer.json()['plain_api_key']}"}


async def test_what_a_login_without_a_code_gave_administers_nothing_once_the_app_is_on(
    registry: TestRegistry, administrator: Person
):
    thief = await administrator.elsewhere()
    stolen_key = await key_of(thief)
    app, _ = await administrator.use_app()
    for _ in range(2):
        assert said(await thief.get(ROUTE)) == REFUSED
        assert said(await registry.get(ROUTE, headers=stolen_key)) == REFUSED
        key_of_key = await registry.post("/auth/api-keys", json={"key_name": "K"}, headers=stolen_key)
        renewed = {"Authorization": f"Bearer {key_of_key.json()['plain_api_key']}"}
        assert said(await registry.get(ROUTE, headers=renewed)) == REFUSED
        thief.tokens = (await thief.refresh()).json()
    # The session that turned it on began without a code as well.
    assert said(await administrator.get(ROUTE)) == REFUSED
    await administrator.log_in(totp_code=app.code_at(1))
    assert (await administrator.get(ROUTE)).status_code == 200


async def test_a_login_with_a_code_its_refreshed_tokens_and_its_keys_administer(
    registry: TestRegistry, administrator: Person
):
    app, backup_codes = await administrator.use_app()
    await administrator.log_in(totp_code=backup_codes[0])
    assert (await administrator.get(ROUTE)).status_code == 200
    partial = (await administrator.try_login()).json()["partial_token"]
    answer = await registry.post(
        "/auth/2fa/validate", json={"partial_token": partial, "code": app.code_at(1)}
    )
    administrator.tokens = answer.json()
    administrator.tokens = (await administrator.refresh()).json()
    assert (await administrator.get(ROUTE)).status_code == 200
    key = await key_of(administrator)
    assert (await registry.get(ROUTE, headers=key)).status_code == 200


async def test_a_code_of_an_app_that_was_turned_off_counts_no_longer(
    registry: TestRegistry, administrator: Person
):
    _, backup_codes = await administrator.use_app()
    await administrator.log_in(totp_code=backup_codes[0])
    key = await key_of(administrator)
    off = await administrator.post("/auth/2fa/disable", password=administrator.password, code=backup_codes[1])
    assert off.status_code == 200
    for is_on_again in (False, True):
        assert said(await administrator.get(ROUTE)) == REFUSED
        assert said(await registry.get(ROUTE, headers=key)) == REFUSED
        if not is_on_again:
            await administrator.use_app()


async def test_a_browser_that_logged_in_without_a_code_sees_no_page_of_the_administration(
    registry: TestRegistry, administrator: Person
):
    thief = await BrowserOf(registry).log_in(administrator.email)
    _, backup_codes = await administrator.use_app()
    page = await thief.open("/administration")
    assert (page.status_code, "ADMIN_2FA_REQUIRED" in page.text) == (403, True)
    own = await BrowserOf(registry).log_in(administrator.email)
    await own.send("/login/code", code=backup_codes[0])
    assert (await own.open("/administration")).status_code == 200
