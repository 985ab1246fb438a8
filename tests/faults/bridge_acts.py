"""Messages of the bridge that are applied here, as rows of the table of acts whose statements fail."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID, uuid4

from msgspec.structs import replace

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor
from hansa.rooms import agents, federation, ledger, transfers
from hansa.rooms.transfers.bridge import sagas, store, wrapped_store
from hansa.rooms.transfers.bridge.inbox import apply_message, wrapped_amount
from hansa.rooms.transfers.bridge.messages import Direction, Message, MessageType, Terms
from hansa.rooms.transfers.crossing.inbox import Corridor
from hansa.rooms.transfers.crossing.messages import Position
from hansa.rooms.transfers.crossing.store import open_pair
from tests.faults.unchanged import (
    POOL_SIZE,
    Asking,
    FailingAct,
    FailingActs,
    FaultStage,
    fault_stage,
    status_of_work,
)
from tests.hostile.credentials import peer_of
from tests.registry import DatabaseFarm, TestAgent
from tests.rooms.ledger.purses import Purses, open_purses

PEER = "peer.example"
HOLDER = f"did:hansa:{PEER}:{uuid4()}"
AMOUNT = Minor(10**8)
NOT_COUNTED = agents.HeldBudget(is_counted=False, capability_id=None)


@dataclass
class Scene:
    """An agent here, and a peer whose messages come in."""

    purses: Purses
    agent: TestAgent
    corridor: Corridor

    async def act(self, work: Callable[[Tx], Awaitable[object]]) -> None:
        await self.purses.registry.database.transaction(work)

    def asking(self, kind: MessageType, terms: Terms, shown: MessageType | None = None) -> Asking:
        """A message of the peer that shows a statement of this registry about the saga, if one is named."""
        code = {MessageType.CANCELLED: "AGENT_BLOCKED", MessageType.RECEIPT: "COMPLETED"}.get(kind)
        proof = None if shown is None else Message(shown, terms, "CANCELLED", raw="signed here")
        message = Message(kind, terms, code, own=Position(1), proof=proof, raw="signed")
        return status_of_work(self.purses.registry, lambda tx: apply_message(tx, self.corridor, message))

    def entering(self, direction: Direction) -> Terms:
        return Terms(str(uuid4()), direction, HOLDER, self.agent.did, AMOUNT, "AVT")

    async def begun(self, direction: Direction) -> Terms:
        """A saga of the agent, with its units set aside."""
        entering = self.entering(direction)
        terms = replace(entering, sender_did=entering.receiver_did, receiver_did=entering.sender_did)
        await self.act(lambda tx: self._begin(tx, terms))
        return terms

    async def _begin(self, tx: Tx, terms: Terms) -> None:
        corridor, hold_id = self.corridor, None
        if terms.direction is Direction.WRAP:
            amount = ledger.BridgeAmount(corridor.frame, UUID(terms.saga_id), self.agent.did, AMOUNT)
            hold_id = (await ledger.lock_for_bridge(tx, amount, corridor.book)).hold_id
        else:
            assert await wrapped_store.set_aside(tx, wrapped_amount(terms, corridor, self.agent.did))
        move = sagas.begin(terms, 0.0)
        await store.add(tx, store.NewSaga(move, corridor.key, corridor.frame, hold_id, NOT_COUNTED, None))

    async def bridged(self) -> None:
        """Wrapped units of the peer that the agent holds, and own ones that are locked for the peer."""
        for direction, kind in ((Direction.WRAP, MessageType.MINT), (Direction.REDEEM, MessageType.MINTED)):
            if direction is Direction.WRAP:
                assert await self.asking(kind, self.entering(direction))() == 200
            else:
                assert await self.asking(kind, await self.begun(Direction.WRAP))() == 200


def _asked(kind: MessageType, direction: Direction) -> Callable[[Scene], Awaitable[Asking]]:
    async def prepare(scene: Scene) -> Asking:
        return scene.asking(kind, scene.entering(direction))

    return prepare


def _answered(kind: MessageType, direction: Direction) -> Callable[[Scene], Awaitable[Asking]]:
    async def prepare(scene: Scene) -> Asking:
        return scene.asking(kind, await scene.begun(direction))

    return prepare


def _forgotten(
    kind: MessageType, shown: MessageType, direction: Direction
) -> Callable[[Scene], Awaitable[Asking]]:
    """This registry began the saga, and its row was lost in a restore."""

    async def prepare(scene: Scene) -> Asking:
        terms = scene.entering(direction)
        own = replace(terms, sender_did=terms.receiver_did, receiver_did=terms.sender_did)
        return scene.asking(kind, own, shown)

    return prepare


def _decided(
    kind: MessageType, shown: MessageType | None, direction: Direction
) -> Callable[[Scene], Awaitable[Asking]]:
    """This registry carried the request out, after a restore."""

    async def prepare(scene: Scene) -> Asking:
        terms = scene.entering(direction)
        request = MessageType.MINT if direction is Direction.WRAP else MessageType.UNLOCK
        assert await scene.asking(request, terms)() == 200
        return scene.asking(kind, terms, shown)

    return prepare


def _shown(
    kind: MessageType, shown: MessageType, direction: Direction
) -> Callable[[Scene], Awaitable[Asking]]:
    """The decision of this registry was lost in a restore."""

    async def prepare(scene: Scene) -> Asking:
        return scene.asking(kind, scene.entering(direction), shown)

    return prepare


async def _in_doubt(scene: Scene) -> Asking:
    """Ask like `_forgotten`, while nobody has the units. Nothing crosses afterwards."""
    terms = replace(scene.entering(Direction.WRAP), amount=10**12)
    own = replace(terms, sender_did=terms.receiver_did, receiver_did=terms.sender_did)
    return scene.asking(MessageType.MINTED, own, MessageType.MINT)


STEPS = {
    "mint": _asked(MessageType.MINT, Direction.WRAP),
    "unlock": _asked(MessageType.UNLOCK, Direction.REDEEM),
    "cancel": _asked(MessageType.CANCEL, Direction.WRAP),
    "minted": _answered(MessageType.MINTED, Direction.WRAP),
    "a refused mint": _answered(MessageType.CANCELLED, Direction.WRAP),
    "unlocked": _answered(MessageType.UNLOCKED, Direction.REDEEM),
    "a refused unlock": _answered(MessageType.CANCELLED, Direction.REDEEM),
    "a receipt": _decided(MessageType.RECEIPT, None, Direction.WRAP),
    "minted, and forgotten here": _forgotten(MessageType.MINTED, MessageType.MINT, Direction.WRAP),
    "unlocked, and forgotten here": _forgotten(MessageType.UNLOCKED, MessageType.UNLOCK, Direction.REDEEM),
    "minted here, and forgotten": _shown(MessageType.MINT, MessageType.MINTED, Direction.WRAP),
    "unlocked here, and forgotten": _shown(MessageType.UNLOCK, MessageType.UNLOCKED, Direction.REDEEM),
    "a mint to be taken back": _decided(MessageType.CANCEL, MessageType.CANCELLED, Direction.WRAP),
    "an unlock to be taken back": _decided(MessageType.CANCEL, MessageType.CANCELLED, Direction.REDEEM),
    "in doubt": _in_doubt,
}


@asynccontextmanager
async def _open_stage(farm: DatabaseFarm, directory: Path) -> AsyncIterator[FaultStage[Scene]]:
    settings = {"is_central_registry": True, "sovereign_mainframes": ["hansa.local"]}
    async with open_purses(farm, directory, database_pool_size=POOL_SIZE, **settings) as purses:
        registry = purses.registry
        await peer_of(registry, PEER)
        await registry.database.transaction(
            lambda tx: tx.execute("UPDATE federation_peer SET status = 'active'")
        )
        peer = await registry.database.query(lambda tx: federation.peer_by_name(tx, PEER))
        scene = Scene(purses, await purses.agent("1000"), Corridor.to(peer, registry.runtime))
        await scene.act(lambda tx: open_pair(tx, scene.corridor.key))
        for _ in range(8):
            await scene.bridged()
        async with fault_stage(registry, scene) as stage:
            yield stage


async def _prove(stage: FaultStage[Scene], name: str) -> None:
    del name
    await stage.world.purses.prove()
    supply = await stage.world.purses.registry.database.read(transfers.wrapped_supply)
    assert supply
    assert all(one.is_ok for one in supply), supply


ACTS: dict[str, FailingAct[Scene]] = {name: (prepare, {200}) for name, prepare in STEPS.items()}
BRIDGE = FailingActs("bridge", ACTS, _open_stage, _prove)
