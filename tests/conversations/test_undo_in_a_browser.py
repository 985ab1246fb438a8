"""Undo of a revoked API key and of a deleted webhook: for ten seconds, by the same person, decided by the registry."""

import re

import pytest

from hansa.rooms.notifications.webhooks import forget_old_deliveries
from tests.browsing import BrowserOf, browser_of
from tests.registry import TestDeveloper, TestRegistry, at_once

HOOK = {"url": "https://receiver.example.com/hook", "event_types": ["*"]}
TOO_LATE = {
    "api-keys": "UPDATE people_api_key SET revoked_at = revoked_at - interval '10 seconds' WHERE revoked_at IS NOT NULL",
    "webhooks": "UPDATE notifications_webhook SET deleted_at = deleted_at - interval '10 seconds'"
    " WHERE deleted_at IS NOT NULL",
}


@pytest.fixture(scope="module")
def registry(registry_of_file: TestRegistry) -> TestRegistry:
    return registry_of_file


class Owner:
    """A person at a browser with a key and a webhook."""

    def __init__(self, registry: TestRegistry, developer: TestDeveloper, browser: BrowserOf) -> None:
        self.registry, self.developer, self.browser = registry, developer, browser
        self.key = self.webhook = ""
        self.key_id = 0

    async def make(self) -> "Owner":
        made = await self.registry.post("/auth/api-keys", json="Nightly", headers=self.developer.headers)
        self.key, self.key_id = made.json()["plain_api_key"], made.json()["api_key_info"]["id"]
        made = await self.registry.post("/developers/webhooks", json=HOOK, headers=self.developer.headers)
        self.webhook = made.json()["id"]
        return self

    def action(self, page: str, act: str) -> str:
        return f"/account/{page}/{self.key_id if page == 'api-keys' else self.webhook}/{act}"

    async def end(self, page: str) -> str:
        """Revoke the key or delete the webhook; returns the address of the undo."""
        if page == "api-keys":
            await self.browser.open("/account/api-keys")
            await self.browser.send(self.action(page, "revoke"))
        else:
            await self.browser.open(f"/account/webhooks/{self.webhook}")
            await self.browser.send(self.action(page, "delete"))
        return self.action(page, "restore")

    async def is_there(self, page: str) -> bool:
        if page == "api-keys":
            headers = {"Authorization": f"Bearer {self.key}"}
            return (await self.registry.get("/auth/profile", headers=headers)).status_code == 200
        path = f"/developers/webhooks/{self.webhook}"
        return (await self.registry.get(path, headers=self.developer.headers)).status_code == 200

    async def execute(self, statement: str, *values: object) -> None:
        await self.registry.database.transaction(lambda tx: tx.execute(statement, *values))


@pytest.fixture
async def owner(registry: TestRegistry) -> Owner:
    developer = await registry.developer()
    return await Owner(registry, developer, await browser_of(registry, developer)).make()


SAME_ORIGIN = {"Sec-Fetch-Site": "same-origin"}
PAGES = pytest.mark.parametrize("page", ["api-keys", "webhooks"])


@PAGES
async def test_the_end_counts_at_once_and_its_undo_brings_the_same_thing_back(owner, page):
    restore = await owner.end(page)
    assert not await owner.is_there(page)
    assert "Possible for 10 seconds." in owner.browser.text
    await owner.browser.send(restore)
    assert re.search("The key is active again|The webhook is back", owner.browser.text)
    assert "Possible for 10 seconds." not in owner.browser.text
    assert await owner.is_there(page)


@PAGES
async def test_after_ten_seconds_the_page_offers_no_undo_and_a_late_one_changes_nothing(owner, page):
    restore = await owner.end(page)
    form = owner.browser.form(restore).fields
    await owner.execute(TOO_LATE[page])
    await owner.browser.open(f"/account/{page}")
    assert restore not in owner.browser.text
    await owner.browser.post(restore, form)
    assert "can no longer be undone" in owner.browser.text
    assert not await owner.is_there(page)


@PAGES
async def test_another_person_cannot_undo_it(owner, page):
    restore = await owner.end(page)
    stranger = await browser_of(owner.registry)
    await stranger.open(f"/account/{page}")
    assert restore not in stranger.text
    await stranger.post(restore, stranger.form(f"/account/{page}").fields)
    assert "can no longer be undone" in stranger.text
    assert not await owner.is_there(page)


@PAGES
async def test_an_undo_that_is_sent_twice_is_no_trouble(owner, page):
    restore = await owner.end(page)
    form = owner.browser.form(restore).fields
    await at_once(*(owner.browser.http.post(restore, data=dict(form), headers=SAME_ORIGIN) for _ in range(2)))
    assert await owner.is_there(page)


async def test_a_key_comes_back_only_while_the_account_may_have_another_one(owner):
    restore = await owner.end("api-keys")
    for number in range(20):
        made = await owner.registry.post(
            "/auth/api-keys", json=f"Key {number}", headers=owner.developer.headers
        )
        assert made.status_code == 200, made.text
    await owner.browser.open("/account/api-keys")
    answer = await owner.browser.send(restore)
    assert answer.status_code == 409
    assert not await owner.is_there("api-keys")


async def test_an_undo_and_a_new_key_at_the_same_moment_leave_no_more_keys_than_an_account_may_have(owner):
    restore = await owner.end("api-keys")
    form = dict(owner.browser.form(restore).fields)
    for number in range(19):
        await owner.registry.post("/auth/api-keys", json=f"Key {number}", headers=owner.developer.headers)
    undone, made = await at_once(
        owner.browser.http.post(restore, data=form, headers=SAME_ORIGIN),
        owner.registry.post("/auth/api-keys", json="One more", headers=owner.developer.headers),
    )
    assert (undone.status_code, made.status_code) in {(303, 409), (409, 200)}
    keys = (await owner.registry.get("/auth/api-keys?limit=100", headers=owner.developer.headers)).json()
    assert sum(key["is_active"] for key in keys["items"]) == 20


async def test_a_key_that_has_expired_meanwhile_stays_revoked(owner):
    restore = await owner.end("api-keys")
    await owner.execute(
        "UPDATE people_api_key SET expires_at = clock_timestamp() WHERE id = $1", owner.key_id
    )
    await owner.browser.send(restore)
    assert "can no longer be undone" in owner.browser.text
    assert not await owner.is_there("api-keys")


async def test_a_deleted_webhook_leaves_its_place_and_comes_back_only_to_a_free_one(owner):
    restore = await owner.end("webhooks")
    for _ in range(20):
        made = await owner.registry.post("/developers/webhooks", json=HOOK, headers=owner.developer.headers)
        assert made.status_code == 201, made.text
    await owner.browser.open("/account/webhooks")
    answer = await owner.browser.send(restore)
    assert (answer.status_code, await owner.is_there("webhooks")) == (409, False)


async def test_an_undo_and_a_new_webhook_at_the_same_moment_share_no_place(owner):
    restore = await owner.end("webhooks")
    form = dict(owner.browser.form(restore).fields)
    for _ in range(19):
        await owner.registry.post("/developers/webhooks", json=HOOK, headers=owner.developer.headers)
    undone, made = await at_once(
        owner.browser.http.post(restore, data=form, headers=SAME_ORIGIN),
        owner.registry.post("/developers/webhooks", json=HOOK, headers=owner.developer.headers),
    )
    assert (undone.status_code, made.status_code) in {(303, 409), (409, 201)}
    hooks = (await owner.registry.get("/developers/webhooks", headers=owner.developer.headers)).json()
    assert len(hooks["items"]) == 20


async def test_a_deleted_webhook_receives_nothing_and_its_waiting_deliveries_go_on_after_the_undo(owner):
    headers = owner.developer.headers
    path = f"/developers/webhooks/{owner.webhook}"
    await owner.registry.post(f"{path}/test", headers=headers)

    async def jobs() -> int:
        return await owner.registry.database.transaction(
            lambda tx: tx.fetchval("SELECT count(*) FROM plumbing_job WHERE key = $1", owner.webhook)
        )

    assert await jobs() == 1
    restore = await owner.end("webhooks")
    assert await jobs() == 0
    assert (await owner.registry.post(f"{path}/test", headers=headers)).status_code == 404
    assert (await owner.registry.http.put(f"/api/v1{path}", json=HOOK, headers=headers)).status_code == 404
    await owner.browser.send(restore)
    assert await jobs() == 1
    deliveries = (await owner.registry.get(f"{path}/deliveries", headers=headers)).json()["items"]
    assert len(deliveries) == 1


async def test_a_webhook_that_can_no_longer_come_back_is_deleted_with_its_deliveries_by_the_sweep(owner):
    await owner.registry.post(f"/developers/webhooks/{owner.webhook}/test", headers=owner.developer.headers)
    await owner.end("webhooks")

    async def rows() -> int:
        return await owner.registry.database.transaction(
            lambda tx: tx.fetchval(
                "SELECT (SELECT count(*) FROM notifications_webhook WHERE id = $1)"
                " + (SELECT count(*) FROM notifications_webhook_delivery WHERE webhook_id = $1)",
                owner.webhook,
            )
        )

    await owner.registry.database.transaction(forget_old_deliveries)
    assert await rows() == 2
    await owner.execute(TOO_LATE["webhooks"])
    await owner.registry.database.transaction(forget_old_deliveries)
    assert await rows() == 0
