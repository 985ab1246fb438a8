"""Two requests that replace one secret at once: no answer shows a secret that is dead already."""

import asyncio
from collections.abc import Awaitable, Callable

import httpx2
import pytest

from hansa.foundation.plumbing.storage.database import Tx
from tests.operation.registry_process import until_async
from tests.registry import PASSWORD, TestDeveloper, TestRegistry

WAITING = (
    "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
)

Ask = Callable[[], Awaitable[httpx2.Response]]


@pytest.fixture
async def owner(registry: TestRegistry) -> TestDeveloper:
    return await registry.developer()


async def at_once(registry: TestRegistry, lock: str, subject: object, ask: Ask) -> httpx2.Response:
    """The answer that carried the request out; both have read before either writes, and the other one is refused."""
    begun: list[asyncio.Task[httpx2.Response]] = []

    async def are_waiting() -> bool:
        return await registry.database.query(lambda tx: tx.fetchval(WAITING)) >= len(begun)

    async def held(tx: Tx) -> None:
        await tx.execute(lock, subject)
        begun.extend(asyncio.ensure_future(ask()) for _ in range(2))
        await until_async(are_waiting)

    await registry.database.transaction(held)
    done, refused = sorted(await asyncio.gather(*begun), key=lambda answer: answer.status_code)
    assert (done.status_code, refused.status_code) == (200, 409), refused.text
    assert refused.json()["error"]["code"] == "SECRET_REPLACED"
    return done


async def test_every_secret_of_an_agent_that_was_shown_buys_tokens(
    registry: TestRegistry, owner: TestDeveloper
):
    agent = await owner.agent()
    path = f"/agents/{agent.did}/rotate-secret"
    lock = "SELECT FROM agents_agent WHERE did = $1 FOR NO KEY UPDATE"
    shown = await at_once(registry, lock, agent.did, lambda: registry.post(path, headers=owner.headers))
    form = {"username": shown.json()["client_id"], "password": shown.json()["client_secret"]}
    bought = await registry.post("/auth/agent/token", data=form, headers=registry.elsewhere())
    assert bought.status_code == 200
    assert (await registry.post(path, headers=owner.headers)).status_code == 200


async def test_the_former_secret_of_a_webhook_stays_the_one_that_its_receiver_has(
    registry: TestRegistry, owner: TestDeveloper
):
    body = {"url": "https://receiver.example.com/hook", "event_types": ["*"]}
    made = await registry.post("/developers/webhooks", json=body, headers=owner.headers)
    assert made.status_code == 201, made.text
    hook_id = made.json()["id"]
    sealed = "SELECT sealed_secret, sealed_former_secret FROM notifications_webhook WHERE id = $1"
    before = await registry.database.query(lambda tx: tx.fetchrow(sealed, hook_id))
    lock = "SELECT FROM notifications_webhook WHERE id = $1 FOR NO KEY UPDATE"
    path = f"/developers/webhooks/{hook_id}/rotate-secret"
    await at_once(registry, lock, hook_id, lambda: registry.post(path, headers=owner.headers))
    after = await registry.database.query(lambda tx: tx.fetchrow(sealed, hook_id))
    assert after["sealed_former_secret"] == before["sealed_secret"]


async def test_every_recovery_key_that_was_shown_recovers_the_account(
    registry: TestRegistry, owner: TestDeveloper
):
    lock = "SELECT FROM people_developer WHERE email = $1 FOR NO KEY UPDATE"
    shown = await at_once(
        registry,
        lock,
        owner.email,
        lambda: registry.post("/auth/recovery-keys", json={"password": PASSWORD}, headers=owner.headers),
    )
    for key in shown.json()["recovery_keys"]:
        body = {"email": owner.email, "recovery_key": key}
        answer = await registry.post("/auth/recover-account", json=body, headers=registry.elsewhere())
        assert answer.status_code == 200, answer.text
