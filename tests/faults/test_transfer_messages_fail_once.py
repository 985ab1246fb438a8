"""Each statement of taking in a message of a peer fails once: nothing has changed, and the message is applied once."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from uuid import UUID, uuid4

import asyncpg
import pytest

from hansa.foundation.values.errors import Refused
from hansa.foundation.values.money import Minor
from hansa.rooms import federation, ledger
from hansa.rooms.transfers.crossing import SIGNATORY, store
from hansa.rooms.transfers.crossing.corridor import Corridor
from hansa.rooms.transfers.crossing.envelope import signed_text
from hansa.rooms.transfers.crossing.messages import Body, Message, MessageType, Position
from hansa.rooms.transfers.crossing.reserving import RESERVE
from hansa.rooms.transfers.crossing.taking_in import take_in
from tests.faults.failing import Plan, put_under_plan
from tests.faults.unchanged import POOL_SIZE, Asking, fail_each_statement
from tests.hostile.credentials import peer_of
from tests.properties.proof import prove_book
from tests.registry import DatabaseFarm, TestAgent
from tests.rooms.ledger.purses import Purses, open_purses

PEER = "peer.example"
AMOUNT, FEE = 10**8, 500_000


@dataclass
class Scene:
    """An agent here, and a peer whose messages come in."""

    purses: Purses
    agent: TestAgent
    corridor: Corridor

    async def taken(self, message: Message) -> None:
        await self.purses.registry.database.act(lambda tx: take_in(tx, self.corridor, [message]))

    def asking(self, message: Message) -> Asking:
        async def ask() -> int:
            try:
                await self.taken(message)
            except Refused as refusal:
                return refusal.status
            return 200

        return ask

    async def entering(self, kind: MessageType, body: Body) -> Message:
        message = Message(kind, body, net=AMOUNT - FEE, fee=FEE, own=Position(1))
        key = await SIGNATORY.of(self.purses.registry.runtime).present_key()
        return replace(message, raw=signed_text(key, message))

    def body_in(self) -> Body:
        return Body(str(uuid4()), f"did:hansa:{PEER}:{uuid4()}", self.agent.did, AMOUNT, "AVT")

    async def reserved(self) -> Body:
        body = Body(str(uuid4()), self.agent.did, f"did:hansa:{PEER}:{uuid4()}", AMOUNT, "AVT")
        corridor, transfer_id = self.corridor, UUID(body.transfer_id)
        new = store.NewSent(
            transfer_id,
            corridor.key,
            PEER,
            body.sender_did,
            body.receiver_did,
            Minor(AMOUNT),
            body.currency,
            None,
            Minor(FEE),
            "2pc",
            is_counted=False,
            capability_id=None,
            request_scope=None,
            deadline_seconds=3600.0,
            first_retry_seconds=60.0,
        )
        reserve = ledger.ReserveOut(PEER, transfer_id, self.agent.did, Minor(AMOUNT), body.receiver_did)
        order = RESERVE.on(reserve.order(corridor.book), new)
        await self.purses.registry.database.act(lambda tx: ledger.apply(tx, [order], corridor.book))
        return body


async def _prepare(scene: Scene) -> Asking:
    return scene.asking(await scene.entering(MessageType.PREPARE, scene.body_in()))


def _decided(kind: MessageType) -> Callable[[Scene], Awaitable[Asking]]:
    async def prepare(scene: Scene) -> Asking:
        body = scene.body_in()
        await scene.taken(await scene.entering(MessageType.PREPARE, body))
        return scene.asking(await scene.entering(kind, body))

    return prepare


def _answered(kind: MessageType) -> Callable[[Scene], Awaitable[Asking]]:
    async def prepare(scene: Scene) -> Asking:
        return scene.asking(await scene.entering(kind, await scene.reserved()))

    return prepare


STEPS = {
    "prepare": _prepare,
    "commit": _decided(MessageType.COMMIT),
    "abort": _decided(MessageType.ABORT),
    "prepared": _answered(MessageType.PREPARED),
    "refused": _answered(MessageType.REFUSED),
}


@pytest.fixture(scope="module")
async def stage(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[Scene, Plan, "asyncpg.Connection[asyncpg.Record]"]]:
    """A registry with few connections, so that a broken one is met again at once."""
    directory = tmp_path_factory.mktemp("messages")
    async with open_purses(database_farm, directory, database_pool_size=POOL_SIZE) as purses:
        registry = purses.registry
        await peer_of(registry, PEER)
        await registry.database.act(
            lambda tx: tx.execute("UPDATE federation_peer SET status = 'active', net_in_limit = NULL")
        )
        peer = await registry.database.look(lambda tx: federation.peer_by_name(tx, PEER))
        scene = Scene(purses, await purses.agent("1000"), Corridor.to(peer, registry.runtime))
        await registry.database.act(lambda tx: store.open_pair(tx, scene.corridor.key))
        # The peer is known from its first message on.
        await scene.taken(Message(MessageType.HEADS, nonce="first", own=Position(1)))
        observer = await asyncpg.connect(registry.runtime.database.dsn)
        plan = Plan(observer)
        await put_under_plan(registry.database, plan)
        yield scene, plan, observer
        await observer.close()


@pytest.mark.parametrize("name", STEPS)
async def test_whichever_statement_fails_nothing_has_changed_and_the_message_is_applied_once(
    name: str, stage: tuple[Scene, Plan, "asyncpg.Connection[asyncpg.Record]"]
) -> None:
    scene, plan, observer = stage
    await fail_each_statement(lambda: STEPS[name](scene), plan, observer, {200})
    await prove_book(observer)
    await scene.purses.prove()
    totals = await scene.purses.registry.database.read(ledger.corridor_totals)
    assert [one.frame for one in totals if one.delta] == []
