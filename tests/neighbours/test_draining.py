"""Specification 6 W 9: a removed peer is trusted no longer, and pending operations with it are decided all the same."""

from collections.abc import AsyncIterator

import pytest

from hansa.foundation.plumbing.outgoing import OutgoingTrouble
from hansa.rooms import federation, transfers
from hansa.rooms.federation.peers import PeerUnknown, finish_removals, pause_peer, remove_peer
from hansa.rooms.transfers.crossing import HIGH_WATER
from tests.neighbours.crossing_scene import LostCalls, across, deadlines_pass, open_rows, refusal, settle
from tests.neighbours.one_frame import join
from tests.neighbours.two_registries import Neighbour, Neighbours, neighbours
from tests.operation.registry_process import until_async
from tests.registry import DatabaseFarm, TestAgent

BALANCES_AFTER = ("90", "109.95")


@pytest.fixture
async def pair(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Neighbours]:
    """Two registries for each test: a removal ends the pair."""
    async with neighbours(database_farm, tmp_path_factory.mktemp("pair")) as pair:
        yield pair


async def remove(one: Neighbour, other: Neighbour) -> bool:
    """Remove the peer, and return whether its row is gone too."""
    runtime = one.registry.runtime
    _, is_gone = await runtime.database.transaction(
        lambda tx: remove_peer(tx, None, runtime, other.trust_domain)
    )
    await one.trust_followed()
    return is_gone


async def is_gone(one: Neighbour, other: Neighbour) -> bool:
    await one.registry.database.transaction(lambda tx: finish_removals(tx, one.registry.runtime))
    try:
        await one.peer(other)
    except PeerUnknown:
        return True
    return False


async def begun(pair: Neighbours, monkeypatch: pytest.MonkeyPatch) -> tuple[TestAgent, TestAgent]:
    """A transfer of a that b promised to credit; its COMMIT is recorded and has not reached b."""
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    with monkeypatch.context() as patch:
        calls = LostCalls(patch)
        calls.loses = lambda made: "request" if made > 1 else None
        assert (await across(alice, bob.did, "10")).status_code == 200
        # The COMMIT is sent once its caller has its answer.
        await until_async(lambda: _is_lost(calls))
    assert (await alice.balance(), await bob.balance()) == ("90", "100")
    return alice, bob


async def _is_lost(calls: LostCalls) -> bool:
    return calls.made > 1


@pytest.mark.parametrize("remover", ["sender", "receiver"])
async def test_after_a_removal_decisions_are_taken_as_signed_messages_until_both_receipts_exist(
    pair: Neighbours, monkeypatch: pytest.MonkeyPatch, remover: str
):
    alice, bob = await begun(pair, monkeypatch)
    one, other = (pair.a, pair.b) if remover == "sender" else (pair.b, pair.a)
    assert not await remove(one, other)
    peer = await one.peer(other)
    assert (peer.status, peer.removing) == ("inactive", True)
    # Its certificate counts no longer: it neither reads nor sends anything here by itself.
    await federation.PEER_CALLS.of(other.registry.runtime).close()
    with pytest.raises(OutgoingTrouble):
        await other.call(one, "GET", "/api/v1/federation/agent-cards")
    payer, payee = (alice, bob) if remover == "sender" else (bob, alice)
    assert (await refusal(await across(payer, payee.did, "1")))[0] == 404
    await settle(one)
    assert (await alice.balance(), await bob.balance()) == BALANCES_AFTER
    assert (await open_rows(pair.a), await open_rows(pair.b)) == (0, 0)
    assert await is_gone(one, other)
    for side in (pair.a, pair.b):
        supply = await side.registry.supply()
        assert (supply["status"], supply["delta"]) == ("OK", "0")


async def test_where_both_removed_each_other_an_invitation_ends_both_removals_and_what_is_under_way_is_decided(
    pair: Neighbours, monkeypatch: pytest.MonkeyPatch
):
    alice, bob = await begun(pair, monkeypatch)
    for one, other in ((pair.a, pair.b), (pair.b, pair.a)):
        assert not await remove(one, other)
        await federation.PEER_CALLS.of(one.registry.runtime).close()
    await settle(pair.a, pair.b)
    assert await bob.balance() == "100"
    assert not await is_gone(pair.a, pair.b)
    await join(pair.a, pair.b)
    for one, other in ((pair.a, pair.b), (pair.b, pair.a)):
        peer = await one.peer(other)
        assert (peer.status, peer.removing) == ("active", False)
    await settle(pair.a, pair.b)
    assert (await alice.balance(), await bob.balance()) == BALANCES_AFTER
    assert await remove(pair.a, pair.b)


async def test_after_the_loss_of_a_registry_what_was_reserved_returns_and_what_was_committed_does_not(
    pair: Neighbours, monkeypatch: pytest.MonkeyPatch
):
    """The steps of the guide "When a peer misbehaves", from the first to the last."""
    await HIGH_WATER.of(pair.a.registry.runtime).compare()
    alice, bob = await begun(pair, monkeypatch)
    calls = LostCalls(monkeypatch)
    calls.loses = lambda _: "request"
    assert (await across(alice, bob.did, "5", backend="async")).status_code == 200
    runtime, name = pair.a.registry.runtime, pair.b.trust_domain
    await runtime.database.transaction(lambda tx: pause_peer(tx, None, name))
    assert await refusal(await across(alice, bob.did, "1")) == (409, "PEER_PAUSED")

    async def undecided() -> list[str]:
        found = await runtime.database.read(transfers.undecided_transfers)
        return [one.state for one in found]

    assert await undecided() == ["reserved"]
    await deadlines_pass(pair.a)
    await settle(pair.a)
    assert (await undecided(), await alice.balance()) == ([], "90")
    assert not await remove(pair.a, pair.b)
    assert not await is_gone(pair.a, pair.b)
    _, is_ended = await runtime.database.transaction(
        lambda tx: remove_peer(tx, None, runtime, name, abandon=True)
    )
    assert is_ended
    acts = await runtime.database.query(
        lambda tx: tx.fetch("SELECT act FROM plumbing_admin_act WHERE act LIKE 'peer.%' ORDER BY id")
    )
    assert [row["act"] for row in acts] == ["peer.pause", "peer.remove", "peer.abandon"]
    assert (await refusal(await across(alice, bob.did, "1")))[0] == 404
    supply = await pair.a.registry.supply()
    assert (supply["status"], supply["delta"]) == ("OK", "0")
