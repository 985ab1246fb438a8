"""An agent is judged as it is now, also where its process has read it before (decision 0209)."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import httpx2
import pytest

from hansa.rooms.agents.check import READ_AGENTS
from tests.paying import Payments
from tests.registry import StartRegistry, TestAgent, TestDeveloper, at_once
from tests.rooms.ledger.purses import Purses, start_purses

NOBODY = "did:hansa:hansa.local:7d3c3f6e-0000-4000-8000-000000000000"


@dataclass(frozen=True)
class Scene:
    """Agent that its process has read, the requests it can send, and the accounts that change it."""

    purses: Purses
    payments: Payments
    owner: TestDeveloper
    administrator: TestDeveloper
    unpaid: str
    """A token that the agent may settle."""

    @property
    def agent(self) -> TestAgent:
        return self.payments.caller

    @property
    def is_remembered(self) -> bool:
        return self.agent.did in READ_AGENTS.of(self.purses.registry.runtime)

    async def transfer(
        self, amount: object = "2", to: str | None = None, key: str | None = None
    ) -> httpx2.Response:
        return await self.agent.transfer(to or self.payments.service, amount, key=key)

    async def rotate_secret(self) -> None:
        await self._changed(f"/agents/{self.agent.did}/rotate-secret", self.owner, {})

    async def suspend(self) -> None:
        body = {"agent_dids": [self.agent.did], "reason": "It pays what it should not."}
        await self._changed("/admin/agents/bulk/suspend", self.administrator, body)

    async def reinstate(self) -> None:
        body = {"agent_dids": [self.agent.did], "reason": "It was somebody else."}
        await self._changed("/admin/agents/bulk/reinstate", self.administrator, body)

    async def take_roles(self) -> None:
        await self._authorized({"roles": []})

    async def set_policy(self) -> None:
        await self._authorized({"spend_policy": {"per_tx_max": "0.5"}})

    async def _changed(self, path: str, by: TestDeveloper, body: object) -> None:
        answer = await self.purses.registry.post(path, json=body, headers=by.headers)
        assert answer.status_code == 200, answer.text

    async def _authorized(self, body: object) -> None:
        path = f"/api/v1/agents/{self.agent.did}/authz"
        answer = await self.purses.registry.http.put(path, json=body, headers=self.owner.headers)
        assert answer.status_code == 200, answer.text


@pytest.fixture
async def scene(start_registry: StartRegistry) -> Scene:
    purses = await start_purses(
        start_registry,
        agent_rbac_mode="enforce",
        agent_rbac_default_roles="client",
        rate_limit_writes="off",
    )
    payments = Payments(purses.registry, await purses.agent("100"), await purses.agent())
    unpaid = (await payments.authorized("2"))["token"]
    made = Scene(
        purses, payments, purses.developer, await purses.registry.administrator("admin_enforcement"), unpaid
    )
    assert (await made.transfer("1", key="once")).status_code == 200
    assert made.is_remembered
    return made


CHANGES: dict[str, Callable[[Scene], Awaitable[None]]] = {
    "its secret is replaced": Scene.rotate_secret,
    "it is suspended": Scene.suspend,
    "its roles are taken": Scene.take_roles,
    "a spend policy is set": Scene.set_policy,
}
REQUESTS: dict[str, Callable[[Scene], Awaitable[httpx2.Response]]] = {
    "transfer": Scene.transfer,
    "repeated transfer": lambda scene: scene.transfer("1", key="once"),
    "transfer to nobody": lambda scene: scene.transfer(to=NOBODY),
    "transfer of no amount": lambda scene: scene.transfer("much"),
    "authorize": lambda scene: scene.payments.ask("2"),
    "settle": lambda scene: scene.payments.settle(scene.unpaid, wait=10),
    "settle of an unknown token": lambda scene: scene.payments.settle("apt_" + "0" * 64),
}
# What each change lets each request do; a refusal moves nothing.
EXPECTED: dict[str, dict[str, tuple[int, str | None]]] = {
    "its secret is replaced": dict.fromkeys(REQUESTS, (401, "AUTH_FAILED")),
    "it is suspended": dict.fromkeys(REQUESTS, (403, "AGENT_SUSPENDED")),
    "its roles are taken": {
        **dict.fromkeys(REQUESTS, (403, "PERMISSION_MISSING")),
        "settle": (200, None),
        "settle of an unknown token": (404, "PAYMENT_TOKEN_UNKNOWN"),
    },
    "a spend policy is set": {
        "transfer": (403, "SPEND_OVER_PER_TX_MAX"),
        "repeated transfer": (200, None),
        "transfer to nobody": (403, "SPEND_OVER_PER_TX_MAX"),
        "transfer of no amount": (422, "VALIDATION_ERROR"),
        "authorize": (403, "SPEND_OVER_PER_TX_MAX"),
        "settle": (200, None),
        "settle of an unknown token": (404, "PAYMENT_TOKEN_UNKNOWN"),
    },
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("request_", REQUESTS)
async def test_an_agent_that_was_changed_is_judged_as_it_is_from_the_next_request_on(
    scene: Scene, change: str, request_: str
):
    before = await scene.payments.service.balance()
    await CHANGES[change](scene)
    answer = await REQUESTS[request_](scene)
    status, code = EXPECTED[change][request_]
    assert (answer.status_code, answer.json().get("error", {}).get("code")) == (status, code)
    after = await scene.payments.service.balance()
    assert (after == before) == (request_ != "settle" or status != 200)
    await scene.purses.prove()


async def test_an_agent_that_is_reinstated_pays_again_and_is_read_once_more(scene: Scene):
    await scene.suspend()
    assert (await scene.transfer()).status_code == 403
    assert not scene.is_remembered
    await scene.reinstate()
    assert (await scene.transfer()).status_code == 200
    assert scene.is_remembered


async def test_a_change_that_leaves_an_agent_as_it_was_refuses_nothing(scene: Scene):
    await scene.suspend()
    await scene.reinstate()
    assert scene.is_remembered
    first, second = await scene.transfer(key="twice"), await scene.transfer(key="twice")
    assert (first.status_code, second.status_code) == (200, 200)
    assert second.headers["Idempotent-Replayed"] == "true"
    assert await scene.payments.service.balance() == "3"


async def test_no_transfer_that_is_sent_after_the_secret_was_replaced_is_made(scene: Scene):
    async def until_refused() -> int:
        made = 0
        while (await scene.transfer("0.01")).status_code == 200:
            made += 1
        return made

    async def replaced() -> None:
        await scene.transfer("0.01")
        await scene.rotate_secret()
        answers = await at_once(*(scene.transfer("0.01") for _ in range(20)))
        assert {answer.status_code for answer in answers} == {401}

    *made, _ = await at_once(*(until_refused() for _ in range(8)), replaced())
    paid = 1 + (sum(made) + 1) / 100
    assert float(await scene.payments.service.balance()) == pytest.approx(paid)
    await scene.purses.prove()
