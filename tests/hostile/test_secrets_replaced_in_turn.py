"""Two requests that replace one secret, one after the other: the version that the sender has read decides."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

import httpx2
import pytest

from tests.browsing import BrowserOf
from tests.registry import PASSWORD, TestDeveloper, TestRegistry

WEBHOOK = {"url": "https://receiver.example.com/hook", "event_types": ["*"]}


class Route(NamedTuple):
    """A route that shows a new secret once, and the version that the holder of the secret shows."""

    rotate: Callable[[dict[str, str]], Awaitable[httpx2.Response]]
    version: Callable[[], Awaitable[str]]
    secret_in: Callable[[httpx2.Response], object]


async def _agent_secret(registry: TestRegistry, owner: TestDeveloper) -> Route:
    agent = await owner.agent()

    async def version() -> str:
        (shown,) = (await registry.get("/agents", headers=owner.headers)).json()["items"]
        return shown["secret_version"]

    return Route(
        lambda more: registry.post(f"/agents/{agent.did}/rotate-secret", headers=owner.headers | more),
        version,
        lambda answer: answer.json()["client_secret"],
    )


async def _signing_key(registry: TestRegistry, owner: TestDeveloper) -> Route:
    agent = await owner.agent()

    async def version() -> str:
        shown = await registry.get("/agents/me", headers=agent.headers)
        return shown.json()["public_key_jwk"]["kid"]

    return Route(
        lambda more: registry.post("/agents/me/rotate-signing-key", json={}, headers=agent.headers | more),
        version,
        lambda answer: answer.json()["private_key_pem"],
    )


async def _webhook_secret(registry: TestRegistry, owner: TestDeveloper) -> Route:
    made = await registry.post("/developers/webhooks", json=WEBHOOK, headers=owner.headers)
    assert made.status_code == 201, made.text
    hook = f"/developers/webhooks/{made.json()['id']}"

    async def version() -> str:
        return (await registry.get(hook, headers=owner.headers)).json()["secret_version"]

    return Route(
        lambda more: registry.post(f"{hook}/rotate-secret", headers=owner.headers | more),
        version,
        lambda answer: answer.json()["secret"],
    )


async def _recovery_keys(registry: TestRegistry, owner: TestDeveloper) -> Route:
    async def version() -> str:
        return (await registry.get("/auth/profile", headers=owner.headers)).json()["recovery_keys_version"]

    return Route(
        lambda more: registry.post(
            "/auth/recovery-keys", json={"password": PASSWORD}, headers=owner.headers | more
        ),
        version,
        lambda answer: answer.json()["recovery_keys"],
    )


@pytest.fixture
async def owner(registry: TestRegistry) -> TestDeveloper:
    return await registry.developer()


@pytest.fixture(params=[_agent_secret, _signing_key, _webhook_secret, _recovery_keys])
async def route(request: pytest.FixtureRequest, registry: TestRegistry, owner: TestDeveloper) -> Route:
    return await request.param(registry, owner)


def naming(version: str) -> dict[str, str]:
    return {"If-Match": f'"{version}"'}


async def test_a_second_replacement_that_names_the_version_before_it_changes_nothing(route: Route):
    seen = await route.version()
    first = await route.rotate(naming(seen))
    assert first.status_code == 200, first.text
    after = await route.version()
    assert after != seen
    for _ in range(2):
        late = await route.rotate(naming(seen))
        assert (late.status_code, late.json()["error"]["code"]) == (412, "PRECONDITION_FAILED"), late.text
    assert await route.version() == after
    next_one = await route.rotate(naming(after))
    assert next_one.status_code == 200, next_one.text
    assert route.secret_in(next_one) != route.secret_in(first)


async def test_a_replacement_without_a_version_replaces_any_secret(route: Route):
    for more in ({}, {"If-Match": "*"}, {}):
        answer = await route.rotate(more)
        assert answer.status_code == 200, answer.text


@pytest.mark.parametrize(
    "header",
    ['W/"{}"', "{}", '"{}x"', '"x{}"', '""', "", '"1.{}"', "'{}'"],
    ids=["weak", "bare", "longer", "prefixed", "empty tag", "empty", "dotted", "apostrophes"],
)
async def test_a_header_that_does_not_name_the_version_replaces_nothing(route: Route, header: str):
    seen = await route.version()
    refused = await route.rotate({"If-Match": header.format(seen)})
    assert refused.status_code == 412, refused.text
    assert await route.version() == seen
    listed = await route.rotate({"If-Match": f'"other", "{seen}"'})
    assert listed.status_code == 200, listed.text


async def test_a_form_that_was_opened_before_a_replacement_replaces_nothing(
    registry: TestRegistry, owner: TestDeveloper
):
    agent = await owner.agent(name="Rotated")
    made = await registry.post("/developers/webhooks", json=WEBHOOK, headers=owner.headers)
    hook = f"/account/webhooks/{made.json()['id']}"
    base = f"/account/agents/{agent.did}"
    forms = {
        f"{base}/rotate-secret": (f"{base}/credentials", {"typed_name": "Rotated"}),
        f"{base}/rotate-signing-key": (f"{base}/credentials", {}),
        f"{hook}/rotate-secret": (hook, {}),
        "/account/recovery-keys": ("/account/recovery-keys", {"password": PASSWORD}),
    }
    one = await BrowserOf(registry).log_in(owner.email)
    other = await BrowserOf(registry).log_in(owner.email)
    for action, (page, typed) in forms.items():
        await one.open(page)
        await other.open(page)
        await one.send(action, **typed)
        assert one.page.status_code == 200, (action, one.text)
        await other.send(action, **typed)
        assert other.page.status_code == 412, (action, other.text)
        assert "replaced after you read its version" in other.text
        await other.send(action, **typed)
        assert other.page.status_code == 200, (action, other.text)


async def test_a_form_without_a_version_replaces_nothing(registry: TestRegistry, owner: TestDeveloper):
    agent = await owner.agent(name="Rotated")
    base = f"/account/agents/{agent.did}"
    browser = await BrowserOf(registry).log_in(owner.email)
    await browser.open(f"{base}/credentials")
    fields = [pair for pair in browser.form(f"{base}/rotate-secret").fields if pair[0] != "version"]
    await browser.post(f"{base}/rotate-secret", fields, typed_name="Rotated")
    assert browser.page.status_code == 412
    assert (await registry.get("/agents/me", headers=agent.headers)).status_code == 200
