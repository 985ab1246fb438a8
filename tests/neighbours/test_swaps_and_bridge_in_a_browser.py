"""Swaps with a bound and transfers over the bridge by the forms of an owner."""

import re
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest

from tests.browsing import BrowserOf, browser_of
from tests.neighbours.pool_scene import Currencies, currencies
from tests.neighbours.two_registries import Neighbour, Neighbours, neighbours
from tests.registry import DatabaseFarm, TestAgent

MAINFRAME = {"is_central_registry": True, "sovereign_mainframes": ["a.example", "b.example"]}


class Owner:
    """An owner at a browser with an agent of one of two registries."""

    def __init__(self, browser: BrowserOf, agent: TestAgent) -> None:
        self.browser, self.agent = browser, agent

    def path(self, page: str) -> str:
        return f"/account/agents/{self.agent.did}/wallet/{page}"

    async def read(self, path: str) -> Any:
        answer = await self.agent.registry.get(path, headers=self.agent.headers)
        assert answer.status_code == 200, answer.text
        return answer.json()


async def owner_at(one: Neighbour) -> Owner:
    developer = await one.registry.developer()
    agent = await developer.agent()
    return Owner(await browser_of(one.registry, developer), agent)


@pytest.fixture(scope="module")
async def scene(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Currencies]:
    async with currencies(database_farm, tmp_path_factory.mktemp("swapped")) as scene:
        await scene.open_pool("10000", "20000")
        yield scene


@pytest.fixture(scope="module")
async def pair(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Neighbours]:
    async with neighbours(
        database_farm, tmp_path_factory.mktemp("bridged"), a=MAINFRAME, b=MAINFRAME
    ) as pair:
        yield pair


async def test_a_swap_below_the_bound_of_its_form_moves_nothing(scene: Currencies):
    owner, bob = await owner_at(scene.a), await scene.b.registry.agent()
    await owner.browser.open(owner.path("send"))
    fields = {"receiver": bob.did, "amount": "10", "min_amount_out": "19,95"}
    refused = await owner.browser.send(owner.path("send/check"), **fields)
    assert (refused.status_code, 'id="min_amount_out-trouble"' in refused.text) == (409, True), refused.text
    assert await owner.agent.balance() == "100"
    assert dict(owner.browser.form(owner.path("send/check")).fields)["min_amount_out"] == "19,95"


async def test_a_swap_states_its_bound_before_it_is_sent_and_keeps_it(scene: Currencies):
    owner, bob = await owner_at(scene.a), await scene.b.registry.agent()
    await owner.browser.open(owner.path("send"))
    fields = {"receiver": bob.did, "amount": "10", "min_amount_out": "19,5"}
    page = await owner.browser.send(owner.path("send/check"), **fields)
    assert re.search(r"At least.{0,3}19,5.{0,3} BOB, or nothing is moved", re.sub(r"<[^>]+>", "", page.text))
    received = re.search(r"The receiver gets</dt><dd>([\d.]+) BOB", page.text)
    assert received is not None
    sent = await owner.browser.send(owner.path("send"))
    assert "The units were sent." in sent.text
    await scene.settle()
    assert await owner.agent.balance() == "90"
    assert float(await bob.balance()) == pytest.approx(100 + float(received[1]))


async def held(agent: TestAgent) -> dict[str, str]:
    answer = await agent.registry.get("/bridge/wrapped", headers=agent.headers)
    return {one["wrapped_currency"]: one["amount"] for one in answer.json()["items"]}


async def test_units_cross_the_bridge_and_come_back_by_forms_that_state_their_effect(pair: Neighbours):
    alice, bob = await owner_at(pair.a), await owner_at(pair.b)
    await alice.browser.open(alice.path("bridge"))
    assert "The units leave the liquid balance at once" in alice.browser.text
    form = alice.browser.form(alice.path("bridge/lock"))
    kept = [pair for pair in form.fields if pair[0] == "form_key"]
    for _ in range(2):
        page = await alice.browser.post(form.action, kept, receiver=bob.agent.did, amount="10,5")
        assert "The transfer has begun." in page.text
        assert "<strong>Completed</strong>" in page.text
    saga_id = str(page.url).rpartition("/")[2].partition("?")[0]
    assert (await alice.read(f"/bridge/status/{saga_id}"))["state"] == "COMPLETED"
    assert (await alice.agent.balance(), await held(bob.agent)) == ("89.5", {"AVT.a.example": "10.5"})

    await bob.browser.open(bob.path("bridge"))
    assert "AVT.a.example (10.5)" in bob.browser.text
    fields = {"wrapped_currency": "AVT.a.example", "redeemed": "4", "home_receiver": alice.agent.did}
    page = await bob.browser.send(bob.path("bridge/redeem"), **fields)
    assert "<strong>Completed</strong>" in page.text
    assert await held(bob.agent) == {"AVT.a.example": "6.5"}
    assert await alice.agent.balance() == "93.5"
    await bob.browser.open(bob.path("bridge"))
    assert "Redeemed</a>" in bob.browser.text


async def test_what_the_bridge_refuses_stands_beside_its_field(pair: Neighbours):
    alice, bob = await owner_at(pair.a), await owner_at(pair.b)
    neighbour = await pair.a.registry.agent()
    for fields, status, field in (
        ({"receiver": neighbour.did, "amount": "1"}, 400, "receiver"),
        ({"receiver": f"did:hansa:nowhere.example:{uuid4()}", "amount": "1"}, 404, "receiver"),
        ({"receiver": bob.agent.did, "amount": "1000"}, 402, "amount"),
        ({"receiver": bob.agent.did, "amount": "1,500"}, 422, "amount"),
    ):
        await alice.browser.open(alice.path("bridge"))
        page = await alice.browser.send(alice.path("bridge/lock"), **fields)
        assert (fields, page.status_code) == (fields, status), page.text
        assert f'id="{field}-trouble"' in page.text
    assert await alice.agent.balance() == "100"
    key = dict(alice.browser.form(alice.path("bridge/lock")).fields)["form_key"]
    page = await alice.browser.post(
        alice.path("bridge/redeem"),
        form_key=key,
        wrapped_currency="BOB.nowhere.example",
        redeemed="1",
        home_receiver=bob.agent.did,
    )
    assert (page.status_code, 'role="alert"' in page.text) == (404, True)


async def test_a_saga_without_an_answer_is_asked_about_again_by_its_sender_alone(pair: Neighbours):
    alice, stranger = await owner_at(pair.a), await owner_at(pair.a)
    saga_id = await pair.a.registry.database.transaction(
        lambda tx: tx.fetchval(
            "INSERT INTO transfers_bridge_saga (saga_id, direction, peer, frame, sender_did, receiver_did, amount, currency,"
            " state, history, deadline, next_at) VALUES (gen_random_uuid(), 'redeem', 'spiffe://gone.example/registry',"
            " 'gone.example', $1, 'did:hansa:gone.example:x', 100, 'BOB', 'UNLOCK_REQUESTED', '[]',"
            " now() + interval '1 day', now() + interval '1 day') RETURNING saga_id",
            alice.agent.did,
        )
    )
    page = await alice.browser.open(alice.path(f"bridge/{saga_id}"))
    assert "The home is asked to unlock" in page.text
    asked = await alice.browser.send(alice.path(f"bridge/{saga_id}/ask"))
    assert "The other registry was asked again." in asked.text
    assert (await stranger.browser.open(stranger.path(f"bridge/{saga_id}"))).status_code == 404


async def test_a_lock_that_needs_an_approval_is_approved_on_the_same_page(pair: Neighbours):
    developer = await pair.a.registry.developer()
    agent, bob = await developer.agent(), await pair.b.registry.agent()
    alice = Owner(await browser_of(pair.a.registry, developer), agent)
    policy = {"spend_policy": {"approval_over": "5"}}
    path = f"/api/v1/agents/{agent.did}/authz"
    assert (await pair.a.registry.http.put(path, json=policy, headers=developer.headers)).is_success
    await alice.browser.open(alice.path("bridge"))
    asked = await alice.browser.send(alice.path("bridge/lock"), receiver=bob.did, amount="6")
    assert (asked.status_code, "Approval required" in asked.text) == (202, True)
    assert await agent.balance() == "100"
    page = await alice.browser.send(alice.path("bridge/lock"))
    assert "<strong>Completed</strong>" in page.text
    assert (await agent.balance(), await held(bob)) == ("94", {"AVT.a.example": "6"})


async def test_a_registry_without_a_bridge_says_so_and_has_no_tab_for_it(scene: Currencies):
    owner = await owner_at(scene.a)
    assert "wallet/bridge" not in (await owner.browser.open(owner.path("stakes"))).text
    page = await owner.browser.open(owner.path("bridge"))
    assert "This registry has no bridge" in page.text
    assert owner.path("bridge/lock") not in page.text
