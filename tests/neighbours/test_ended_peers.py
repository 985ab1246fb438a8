"""Every state that waits for another registry has an owner that ends it: with the peer gone, an administrator who abandons it."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID, uuid4

import pytest

from hansa.foundation.plumbing.outgoing import Answer, HostUnreachable
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import transfers
from hansa.rooms.commerce.slash_settlements.settlement import Claim, Direction, Settlement, Status
from hansa.rooms.commerce.slash_settlements.store import add as add_settlement
from hansa.rooms.commerce.slash_settlements.store import write as write_settlement
from hansa.rooms.federation.mailbox import channel
from hansa.rooms.federation.peers import pause_peer, remove_peer
from hansa.rooms.federation.peers.acts import quarantine_peer
from hansa.rooms.transfers.bridge.sagas import ENDED, State
from hansa.rooms.transfers.crossing import HIGH_WATER, HighWater
from hansa.rooms.transfers.crossing.high_water import FILE
from hansa.rooms.transfers.crossing.messages import Body, Message, MessageType
from hansa.rooms.transfers.crossing.states import ReceivedState, SentState
from tests.conversations.test_bridge import MAINFRAME, ask, holds
from tests.neighbours.crossing_scene import (
    LostCalls,
    across,
    crossing_of,
    deadlines_pass,
    run,
    said,
    sent_once,
    settle,
    written,
)
from tests.neighbours.paying_scene import Abroad, abroad
from tests.neighbours.pool_scene import currencies
from tests.neighbours.two_registries import Neighbour, Neighbours, befriend, neighbours
from tests.operation.registry_process import until_async
from tests.registry import DatabaseFarm, TestAgent
from tests.running_jobs import run_due, run_scheduled_transactions

SAGAS, SAGAS_DUE = transfers.BRIDGE_OUTBOX.kinds
UNIT_OF_B = "AVT.b.example"
OPEN_SETTLEMENTS = (
    (Direction.OUTGOING, Status.PENDING_SLASH, Status.FAILED),
    (Direction.OUTGOING, Status.SLASHING, Status.FAILED),
    (Direction.INCOMING, Status.PENDING_SLASH, Status.FAILED),
    (Direction.INCOMING, Status.SLASHING, Status.FAILED),
    (Direction.INCOMING, Status.SLASHED, Status.SETTLED),
    (Direction.AWARDED, Status.SLASHED, Status.FAILED),
)


@pytest.fixture
async def pair(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Neighbours]:
    directory = tmp_path_factory.mktemp("ended")
    async with neighbours(database_farm, directory, a=MAINFRAME, b=MAINFRAME) as pair:
        yield pair


async def abandon(pair: Neighbours, *, at: Neighbour | None = None) -> None:
    one, other = (pair.b, pair.a) if at is pair.b else (pair.a, pair.b)
    runtime = one.registry.runtime
    name = other.registry.settings.ledger_id
    _, is_gone = await runtime.database.transaction(
        lambda tx: remove_peer(tx, None, runtime, name, abandon=True)
    )
    assert is_gone


async def rows(one: Neighbour, statement: str, *values: object) -> list[Any]:
    found = await one.registry.database.query(lambda tx: tx.fetch(statement, *values))
    return [tuple(row) for row in found]


class Silent:
    """From now on no call between the registries arrives."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        LostCalls(patch).loses = lambda _: "request"
        LostCalls(patch).loses = lambda _: "request"


async def restored_without_file(pair: Neighbours) -> None:
    """a is served without its file of high-water marks: it awaits the heads."""
    runtime = pair.a.registry.runtime
    (runtime.settings.data_dir / "keys" / FILE).unlink(missing_ok=True)
    HIGH_WATER.put(runtime, HighWater(runtime))
    await HIGH_WATER.of(runtime).compare()


async def paused(pair: Neighbours) -> None:
    await pair.a.registry.database.transaction(
        lambda tx: pause_peer(tx, None, pair.b.registry.settings.ledger_id)
    )


async def quarantined(pair: Neighbours) -> None:
    name = pair.b.registry.settings.ledger_id
    await pair.a.registry.database.transaction(lambda tx: quarantine_peer(tx, None, name, "It lies."))


async def renamed(pair: Neighbours) -> None:
    await run(pair.a, "UPDATE federation_peer SET registry_name = 'another-name'")


async def gone(pair: Neighbours) -> None:
    """It does not answer, and nothing else is known."""
    assert await pair.a.peer(pair.b)


class Scene:
    """At a something is in every state that waits for b."""

    def __init__(self, pair: Neighbours, alice: TestAgent, bob: TestAgent) -> None:
        self.pair, self.alice, self.bob = pair, alice, bob
        self.paying: Abroad | None = None
        self.token = ""
        self.settlements: dict[int, Status] = {}

    @classmethod
    async def of(cls, pair: Neighbours, monkeypatch: pytest.MonkeyPatch) -> "Scene":
        scene = cls(pair, await pair.a.registry.agent(), await pair.b.registry.agent())
        # Units of b that an agent of a holds wrapped.
        assert (await ask(scene.bob, "transfer", receiver_did=scene.alice.did, amount="9")).status_code == 200
        assert await holds(scene.alice) == {UNIT_OF_B: "9"}
        assert (await across(scene.alice, scene.bob.did, "1")).status_code == 200
        await settle(pair.a, pair.b)
        await HIGH_WATER.of(pair.a.registry.runtime).compare()
        await scene._prepared()
        Silent(monkeypatch)
        await scene._reserved()
        await scene._sagas()
        await scene._settlements()
        await scene._in_doubt()
        return scene

    async def _prepared(self) -> None:
        """A transfer that a promised to credit."""
        body = Body(str(uuid4()), self.bob.did, self.alice.did, 10**8, "AVT")
        (answer,) = await said(
            self.pair.b,
            self.pair.a,
            await written(self.pair.b, self.pair.a, Message(MessageType.PREPARE, body)),
        )
        assert answer.type is MessageType.PREPARED, answer.code

    async def _reserved(self) -> None:
        """A transfer and a payment token."""
        assert (await across(self.alice, self.bob.did, "5", backend="async")).status_code == 200
        self.paying = await abroad(self.pair)
        self.token = (await self.paying.authorized("3"))["token"]
        settled = await self.paying.settle(self.token)
        assert settled.json()["status"] == "settling", settled.text

    async def _in_doubt(self) -> None:
        """A transfer and a saga that were committed before a restore and have no units now."""
        await self._saga("transfer", State.IN_DOUBT, receiver_did=self.bob.did, amount="1")
        doubt = (uuid4(), (await self.pair.a.peer(self.pair.b)).spiffe_id, self.alice.did, self.bob.did)
        await run(
            self.pair.a,
            "INSERT INTO transfers_sent (transfer_id, peer, frame, sender_did, receiver_did, amount, currency, state, expected_fee,"
            " backend, deadline, decided_at) VALUES ($1, $2, 'b.example', $3, $4, 7, 'AVT', 'in_doubt', 0, '2pc', now(), now())",
            *doubt,
        )

    async def _sagas(self) -> None:
        for state in (State.LOCKED, State.MINT_REQUESTED, State.TIMED_OUT):
            await self._saga("transfer", state, receiver_did=self.bob.did, amount="1")
        for state in (State.BURNED, State.UNLOCK_REQUESTED, State.TIMED_OUT):
            await self._saga(
                "redeem", state, receiver_did=self.bob.did, amount="1", wrapped_currency=UNIT_OF_B
            )

    async def _saga(self, act: str, state: State, **body: Any) -> None:
        begun = await ask(self.alice, act, **body)
        assert begun.status_code == 200, begun.text
        saga_id = UUID(begun.json()["saga_id"])
        if state is not State.IN_DOUBT:
            await run(
                self.pair.a,
                "UPDATE transfers_bridge_saga SET state = $2 WHERE saga_id = $1",
                saga_id,
                state.value,
            )
            return
        # A saga that this registry forgot has no hold: as it is written after a restore.
        await run(
            self.pair.a,
            "INSERT INTO transfers_bridge_saga (saga_id, direction, peer, frame, sender_did, receiver_did, amount, currency, state,"
            " history, deadline) SELECT gen_random_uuid(), direction, peer, frame, sender_did, receiver_did, amount, currency,"
            " 'IN_DOUBT', history, now() FROM transfers_bridge_saga WHERE saga_id = $1",
            saga_id,
        )

    async def _settlements(self) -> None:
        peer = (await self.pair.a.peer(self.pair.b)).spiffe_id or ""
        for number, (direction, status, ended) in enumerate(OPEN_SETTLEMENTS, 1):
            is_here = direction in {Direction.INCOMING, Direction.AWARDED}
            own, other = self.alice.did, self.bob.did
            claim = Claim(number, own if is_here else other, other if is_here else own, 10**8, "AVT")
            slashed = 10**8 if status is Status.SLASHED else 0
            new = Settlement(claim, direction, status, 4e9, slashed=slashed)

            async def written_down(tx: Any, new: Settlement = new) -> int:
                settlement_id = await add_settlement(tx, peer, "b.example", new, None, is_due=True)
                await write_settlement(tx, settlement_id, new)
                return settlement_id

            self.settlements[await self.pair.a.registry.database.transaction(written_down)] = ended

    async def require_open(self) -> None:
        """Every state that is not an end occurs."""
        sent = {state for (state,) in await rows(self.pair.a, "SELECT DISTINCT state FROM transfers_sent")}
        assert {SentState.RESERVED, SentState.IN_DOUBT} <= sent
        taken = {
            state for (state,) in await rows(self.pair.a, "SELECT DISTINCT state FROM transfers_received")
        }
        assert ReceivedState.PREPARED in taken
        sagas = {
            state for (state,) in await rows(self.pair.a, "SELECT DISTINCT state FROM transfers_bridge_saga")
        }
        assert set(State) - ENDED <= sagas

    async def require_ended(self) -> None:
        """Everything that was set aside is back, and nothing is open."""
        a = self.pair.a
        assert (
            await rows(
                a, "SELECT DISTINCT state FROM transfers_sent WHERE state NOT IN ('committed', 'aborted')"
            )
            == []
        )
        assert await rows(a, "SELECT 1 FROM transfers_received WHERE state = 'prepared'") == []
        ended = [state.value for state in ENDED]
        assert await rows(a, "SELECT 1 FROM transfers_bridge_saga WHERE state <> ALL ($1)", ended) == []
        assert await a.registry.database.read(transfers.undecided_transfers) == []
        found = dict(await rows(a, "SELECT settlement_id, status FROM commerce_settlement"))
        assert found == {number: status.value for number, status in self.settlements.items()}
        assert await self.alice.balance() == "99"
        assert await holds(self.alice) == {UNIT_OF_B: "9"}
        assert self.paying is not None
        assert await self.paying.caller.balance() == "100"
        assert (await self.paying.verify(self.token))["error"] == "Token status: failed"
        room = await rows(a, "SELECT 1 FROM ledger_crossing WHERE state = 'reserved'")
        assert room == []
        supply = await a.registry.supply()
        assert (supply["status"], supply["delta"]) == ("OK", "0"), supply


@pytest.mark.parametrize("befalls", [gone, paused, quarantined, restored_without_file, renamed])
async def test_abandoning_a_peer_ends_everything_that_waits_for_it_in_one_transaction(
    pair: Neighbours, monkeypatch: pytest.MonkeyPatch, befalls: Any
):
    scene = await Scene.of(pair, monkeypatch)
    await scene.require_open()
    await befalls(pair)
    await abandon(pair)
    await scene.require_ended()


async def back(pair: Neighbours) -> None:
    """Both are peers again, and all that is due is sent and answered."""
    await befriend(pair.a, pair.b)
    if await rows(pair.b, "SELECT 1 FROM federation_peer") == []:
        await befriend(pair.b, pair.a)
    await send_due(pair)


async def send_due(pair: Neighbours) -> None:
    for _ in range(2):
        for one in (pair.a, pair.b):
            for table in ("transfers_bridge_saga", "transfers_bridge_decision"):
                await run(one, f"UPDATE {table} SET next_at = now() WHERE next_at IS NOT NULL")
            await run_scheduled_transactions(one.registry.runtime, SAGAS_DUE)
            await run_due(one.registry.runtime, SAGAS)
        await settle(pair.a, pair.b)


async def require_sound(pair: Neighbours) -> None:
    for one in (pair.a, pair.b):
        supply = await one.registry.supply()
        assert (supply["status"], supply["delta"]) == ("OK", "0"), supply
        assert await rows(one, "SELECT 1 FROM ledger_crossing WHERE state = 'reserved'") == []
        assert await crossing_of(one) == "open"


async def test_a_transfer_that_was_abandoned_is_aborted_at_the_peer_that_comes_back(
    pair: Neighbours, monkeypatch: pytest.MonkeyPatch
):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    with monkeypatch.context() as patch:
        LostCalls(patch).loses = lambda _: "answer"
        # Prepared at b, whose answer is lost.
        assert (await across(alice, bob.did, "5", backend="async")).status_code == 200
        await sent_once(pair.a)
        assert await rows(pair.b, "SELECT state FROM transfers_received") == [("prepared",)]
        await abandon(pair)
    assert await alice.balance() == "100"
    await back(pair)
    assert (await alice.balance(), await bob.balance()) == ("100", "100")
    assert await rows(pair.b, "SELECT state FROM transfers_received") == [("aborted",)]
    await require_sound(pair)
    assert (await across(alice, bob.did, "5")).status_code == 200


async def test_a_promise_that_was_abandoned_is_kept_once_the_peer_shows_it_with_its_commit(
    pair: Neighbours, monkeypatch: pytest.MonkeyPatch
):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    with monkeypatch.context() as patch:
        calls = LostCalls(patch)
        calls.loses = lambda made: "request" if made > 1 else None
        assert (await across(bob, alice.did, "10")).status_code == 200
        await until_async(lambda: _was_made(calls))
        assert await rows(pair.a, "SELECT state FROM transfers_received") == [("prepared",)]
        await abandon(pair)
        assert await rows(pair.a, "SELECT state, code FROM transfers_received") == [
            ("refused", "PEER_ABANDONED")
        ]
    await back(pair)
    assert (await alice.balance(), await bob.balance()) == ("109.95", "90")
    assert await rows(pair.a, "SELECT state FROM transfers_received") == [("committed",)]
    await require_sound(pair)


async def _was_made(calls: LostCalls) -> bool:
    return calls.made > 1


@pytest.mark.parametrize("is_mutual", [False, True], ids=["on one side", "on both sides"])
async def test_a_saga_that_was_abandoned_is_locked_again_where_the_peer_shows_that_it_had_minted(
    pair: Neighbours, monkeypatch: pytest.MonkeyPatch, is_mutual: bool
):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    with monkeypatch.context() as patch:
        LostCalls(patch).loses = lambda _: "answer"
        begun = await ask(alice, "transfer", receiver_did=bob.did, amount="10")
        assert begun.json()["state"] == "MINT_REQUESTED", begun.text
        await abandon(pair)
        if is_mutual:
            await abandon(pair, at=pair.b)
            # It is due to a peer that is not there, and waits for it.
            await run(
                pair.b, "UPDATE transfers_bridge_decision SET next_at = now() WHERE next_at IS NOT NULL"
            )
            await run_scheduled_transactions(pair.b.registry.runtime, SAGAS_DUE)
            await run_due(pair.b.registry.runtime, SAGAS)
            waits = "SELECT next_at > now() FROM transfers_bridge_decision"
            assert await rows(pair.b, waits) == [(True,)]
    assert (await alice.balance(), await holds(bob)) == ("100", {"AVT.a.example": "10"})
    await back(pair)
    assert (await alice.balance(), await holds(bob)) == ("90", {"AVT.a.example": "10"})
    assert await rows(pair.a, "SELECT state, code FROM transfers_bridge_saga") == [("COMPLETED", None)]
    await require_sound(pair)


async def test_requests_that_arrive_after_their_sagas_were_abandoned_are_made_up_for_once_the_peer_shows_its_decisions(
    pair: Neighbours, monkeypatch: pytest.MonkeyPatch
):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    assert (await ask(bob, "transfer", receiver_did=alice.did, amount="9")).status_code == 200
    late: list[tuple[str, Any]] = []

    async def delayed(_runtime: Any, _peer: Any, _method: str, path: str, body: Any, **_: Any) -> Answer:
        late.append((path, body))
        raise HostUnreachable

    with monkeypatch.context() as patch:
        patch.setattr(channel, "call_peer", delayed)
        assert (await ask(alice, "transfer", receiver_did=bob.did, amount="10")).status_code == 200
        unit = {"wrapped_currency": UNIT_OF_B}
        assert (await ask(alice, "redeem", receiver_did=bob.did, amount="4", **unit)).status_code == 200
        await abandon(pair)
    await back(pair)
    assert (await alice.balance(), await holds(alice)) == ("100", {UNIT_OF_B: "9"})
    for path, body in late:
        assert (await pair.a.call(pair.b, "POST", path, body)).status == 200
    # Minted and unlocked at b, whose answers are lost; at a both sagas are ended.
    assert (await bob.balance(), await holds(bob)) == ("95", {"AVT.a.example": "10"})
    assert (await alice.balance(), await holds(alice)) == ("100", {UNIT_OF_B: "9"})
    await send_due(pair)
    assert (await alice.balance(), await holds(alice)) == ("90", {UNIT_OF_B: "5"})
    sagas = "SELECT DISTINCT state, code, next_at FROM transfers_bridge_saga"
    assert await rows(pair.a, sagas) == [("COMPLETED", None, None)]
    assert await rows(pair.b, "SELECT 1 FROM transfers_bridge_decision WHERE next_at IS NOT NULL") == []
    await require_sound(pair)


async def test_what_is_begun_while_a_peer_is_abandoned_waits_and_is_refused(pair: Neighbours):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    runtime, name = pair.a.registry.runtime, pair.b.registry.settings.ledger_id
    begun: list[asyncio.Task[Any]] = []

    async def abandoned(tx: Tx) -> None:
        await remove_peer(tx, None, runtime, name, abandon=True)
        if not begun:
            begun.append(asyncio.create_task(across(alice, bob.did, "5", backend="async")))
            begun.append(asyncio.create_task(ask(alice, "transfer", receiver_did=bob.did, amount="1")))
        await until_async(lambda: _wait_for_locks(2))

    async def _wait_for_locks(count: int) -> bool:
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        return (await rows(pair.a, waiting))[0][0] >= count

    await runtime.database.transaction(abandoned)
    for answer in await asyncio.gather(*begun):
        assert answer.status_code in {404, 409}, answer.text
    assert await rows(pair.a, "SELECT 1 FROM transfers_sent") == []
    assert await rows(pair.a, "SELECT 1 FROM transfers_bridge_saga") == []
    assert await alice.balance() == "100"


async def test_undecided_transfers_name_what_ends_them_while_the_heads_are_awaited(
    pair: Neighbours, monkeypatch: pytest.MonkeyPatch
):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    assert (await across(alice, bob.did, "1")).status_code == 200
    await settle(pair.a, pair.b)
    Silent(monkeypatch)
    assert (await across(alice, bob.did, "5", backend="async")).status_code == 200
    await restored_without_file(pair)
    await deadlines_pass(pair.a)
    await settle(pair.a)
    (found,) = await pair.a.registry.database.read(transfers.undecided_transfers)
    assert found.state == "reserved"
    assert "hansa peer remove NAME --abandon" in found.cause


async def test_a_saga_is_timed_out_at_five_minutes_however_often_its_peer_was_silent(
    pair: Neighbours, monkeypatch: pytest.MonkeyPatch
):
    alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
    Silent(monkeypatch)
    assert (await ask(alice, "transfer", receiver_did=bob.did, amount="1")).status_code == 200
    later = "UPDATE transfers_bridge_saga SET tries = 8, next_at = now(), deadline = now() + interval '100 seconds'"
    await run(pair.a, later)
    await run_scheduled_transactions(pair.a.registry.runtime, SAGAS_DUE)
    await run_due(pair.a.registry.runtime, SAGAS)
    assert await rows(pair.a, "SELECT tries, next_at = deadline FROM transfers_bridge_saga") == [(9, True)]


async def test_the_pool_of_an_abandoned_peer_returns_its_reserve_with_a_swap_that_was_pending(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
):
    async with currencies(database_farm, tmp_path_factory.mktemp("pools")) as scene:
        await scene.open_pool("10000", "20000")
        pair = scene.pair
        before = await rows(pair.a, "SELECT liquid FROM ledger_account WHERE did LIKE '%:system:treasury'")
        alice, bob = await pair.a.registry.agent(), await pair.b.registry.agent()
        had = await alice.balance()
        Silent(monkeypatch)
        assert (await across(alice, bob.did, "5", backend="async")).status_code == 200
        await abandon(pair)
        assert await alice.balance() == had
        legs = await rows(pair.a, "SELECT liquid FROM ledger_account WHERE did LIKE '%:system:fx:%'")
        assert legs == [(0,)]
        after = await rows(pair.a, "SELECT liquid FROM ledger_account WHERE did LIKE '%:system:treasury'")
        grant = 100 * 10**8
        assert after[0][0] == before[0][0] + 10_000 * 10**8 - grant
        assert await rows(pair.a, "SELECT 1 FROM transfers_pool") == []
        supply = await pair.a.registry.supply()
        assert (supply["status"], supply["delta"]) == ("OK", "0"), supply
