"""Ends of children with units under way to another registry, or with wrapped units of one: each waits, and the books are exact."""

from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any

import pytest

from hansa.rooms import transfers
from tests.neighbours.crossing_scene import LostCalls, across, run, settle
from tests.neighbours.two_registries import Neighbour, Neighbours, neighbours
from tests.registry import DatabaseFarm, TestAgent
from tests.running_jobs import run_due, run_scheduled_transactions, time_passes
from tests.spawning import audited, child_of, children, end_those_due, ended

DELIVERY, DUE = transfers.BRIDGE_OUTBOX.kinds
MAINFRAME = {"is_central_registry": True, "sovereign_mainframes": ["a.example", "b.example"]}


@pytest.fixture(scope="module")
async def pair(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Neighbours]:
    directory = tmp_path_factory.mktemp("children")
    async with neighbours(database_farm, directory, a=MAINFRAME, b=MAINFRAME) as pair:
        yield pair


@pytest.fixture
async def parent(pair: Neighbours) -> TestAgent:
    """An agent with 100 units that may send to other registries."""
    owner = await pair.a.registry.developer()
    agent = await owner.agent(name="Parent")
    given = await owner.registry.http.put(
        f"/api/v1/agents/{agent.did}/authz", json={"roles": ["trader"]}, headers=owner.headers
    )
    assert given.status_code == 200, given.text
    return agent


def reasons(answer: dict[str, Any]) -> list[str]:
    return [reason["kind"] for reason in answer["waits_for"]]


async def is_swept(one: Neighbour, parent: TestAgent, before: str) -> Decimal:
    """The child has ended; returns the units that went back to the parent."""
    await end_those_due(one.registry)
    (read,) = await children(parent)
    assert (read["state"], read["balance"], read["held"]) == ("ended", "0", "0")
    returned = Decimal(read["returned"])
    assert Decimal(await parent.balance()) == Decimal(before) + returned
    await audited(one.registry)
    return returned


@pytest.mark.parametrize(("lost", "state"), [("commit", "committed"), ("answer", "aborted")])
async def test_a_transfer_to_a_child_that_is_under_way_keeps_it_until_it_is_decided(
    pair: Neighbours, parent: TestAgent, calls: LostCalls, lost: str, state: str
) -> None:
    giver, child = await pair.b.registry.agent(), await child_of(parent, funding="20")
    # The first call prepares the payee's registry. Without its answer the sender gives up, with it the transfer is committed.
    calls.loses = lambda number: "answer" if lost == "answer" else ("request" if number > 1 else None)
    sent = await across(giver, child.did, "10")
    assert sent.status_code == (200 if state == "committed" else 503), sent.text
    before = await parent.balance()
    answer = await ended(child, parent)
    assert (answer["state"], reasons(answer)) == ("ending", ["crossing"])
    await end_those_due(pair.a.registry)
    assert (await children(parent))[0]["state"] == "ending"
    calls.loses = lambda _: None
    await settle(pair.a, pair.b)
    returned = await is_swept(pair.a, parent, before)
    credited = Decimal("9.95") if state == "committed" else Decimal(0)
    assert 19 + credited < returned < 20 + credited
    assert await giver.balance() == ("90" if state == "committed" else "100")
    await audited(pair.b.registry)


async def what_is_due_happens(pair: Neighbours) -> None:
    for one in (pair.a, pair.b):
        await time_passes(one.registry.runtime, 3600)
        await run(one, "UPDATE transfers_bridge_saga SET next_at = now() WHERE next_at IS NOT NULL")
        await run_scheduled_transactions(one.registry.runtime, DUE)
        await run_due(one.registry.runtime, DELIVERY)


async def test_wrapped_units_keep_a_child_until_their_redemption_is_decided(
    pair: Neighbours, parent: TestAgent, calls: LostCalls
) -> None:
    giver, child = await pair.b.registry.agent(), await child_of(parent, funding="20")
    body = {"receiver_did": child.did, "amount": "5"}
    wrapped = await pair.b.registry.post("/bridge/transfer", json=body, headers=giver.headers)
    assert wrapped.json()["state"] == "COMPLETED", wrapped.text
    calls.loses = lambda _: "answer"
    back = {"wrapped_currency": "AVT.b.example", "amount": "5", "receiver_did": giver.did}
    redeemed = await pair.a.registry.post("/bridge/redeem", json=back, headers=child.headers)
    assert redeemed.json()["state"] == "UNLOCK_REQUESTED", redeemed.text
    before = await parent.balance()
    answer = await ended(child, parent)
    assert (answer["state"], reasons(answer)) == ("ending", ["agreements"])
    assert "wrapped" in answer["waits_for"][0]["detail"]
    # A stranger does not keep it by units that are wrapped for it now.
    calls.loses = lambda _: None
    more = await pair.b.registry.post("/bridge/transfer", json=body, headers=giver.headers)
    assert more.json()["state"] == "REFUNDED", more.text
    calls.loses = lambda _: "answer"
    await end_those_due(pair.a.registry)
    assert (await children(parent))[0]["state"] == "ending"
    calls.loses = lambda _: None
    await what_is_due_happens(pair)
    assert await is_swept(pair.a, parent, before) > 19
    assert await giver.balance() == "100"
    await audited(pair.b.registry)


async def test_a_child_that_is_ending_gives_wrapped_units_back_to_those_who_wrapped_them(
    pair: Neighbours, parent: TestAgent
) -> None:
    giver, other = await pair.b.registry.agent(), await pair.b.registry.agent()
    child = await child_of(parent, funding="20")
    body = {"receiver_did": child.did, "amount": "5"}
    wrapped = await pair.b.registry.post("/bridge/transfer", json=body, headers=giver.headers)
    assert wrapped.json()["state"] == "COMPLETED", wrapped.text
    before = await parent.balance()
    assert reasons(await ended(child, parent)) == ["agreements"]

    async def redeem(receiver: TestAgent) -> Any:
        asked = {"wrapped_currency": "AVT.b.example", "amount": "5", "receiver_did": receiver.did}
        return await pair.a.registry.post("/bridge/redeem", json=asked, headers=child.headers)

    stranger = await redeem(other)
    assert (stranger.status_code, stranger.json()["error"]["code"]) == (409, "CHILD_ENDING")
    assert (await redeem(giver)).json()["state"] == "COMPLETED"
    assert await is_swept(pair.a, parent, before) > 19
    assert (await giver.balance(), await other.balance()) == ("100", "100")
    await audited(pair.b.registry)
