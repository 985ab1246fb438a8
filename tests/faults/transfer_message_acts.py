"""Messages of transfers that are applied here, as rows of the table of acts whose statements fail."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID, uuid4

from msgspec.structs import replace

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor
from hansa.rooms import federation, ledger
from hansa.rooms.commerce import contracts
from hansa.rooms.commerce.bonds import BOND_ADMITS
from hansa.rooms.commerce.contracts import cross_registry_payment as paying_across
from hansa.rooms.commerce.contracts.replicas.keeping import keep
from hansa.rooms.commerce.contracts.replicas.schemas import StatedContract
from hansa.rooms.commerce.contracts.work import Submission
from hansa.rooms.commerce.payments import Token, token_of_id
from hansa.rooms.commerce.payments.settlement_worker import reserve_or_time_out
from hansa.rooms.transfers import PAYMENT_DECIDED, CrossingDecision
from hansa.rooms.transfers.crossing import sent_store, store
from hansa.rooms.transfers.crossing.corridor import Corridor
from hansa.rooms.transfers.crossing.envelope import signed_text
from hansa.rooms.transfers.crossing.inbox import apply_messages
from hansa.rooms.transfers.crossing.messages import (
    CONTRACT,
    PAYMENT_TOKEN,
    Body,
    Message,
    MessageType,
    Position,
)
from hansa.rooms.transfers.crossing.reserving import RESERVE
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
AMOUNT, FEE = 10**8, 500_000
FEE_PATH = "fees.cross_registry.base_rate_percent"
CARD = {
    "fees": {"cross_registry": {"base_rate_percent": 0.5}},
    "signature": {"signed_canonical": [FEE_PATH]},
}


@dataclass
class Scene:
    """An agent here, and a peer whose messages come in."""

    purses: Purses
    agent: TestAgent
    corridor: Corridor
    contracts_stated: int = 1

    async def taken(self, message: Message) -> None:
        await self.purses.registry.database.transaction(
            lambda tx: apply_messages(tx, self.corridor, [message])
        )

    def asking(self, message: Message) -> Asking:
        return self.work(lambda tx: apply_messages(tx, self.corridor, [message]))

    def work(self, act: Callable[[Tx], Awaitable[object]]) -> Asking:
        return status_of_work(self.purses.registry, act)

    async def entering(
        self, kind: MessageType, body: Body, net: int = AMOUNT - FEE, fee: int = FEE
    ) -> Message:
        message = Message(kind, body, net=net, fee=fee, own=Position(1))
        key = await federation.SIGNATORY.of(self.purses.registry.runtime).present_key()
        return replace(message, raw=signed_text(key, message))

    def body_in(self) -> Body:
        return Body(str(uuid4()), f"did:hansa:{PEER}:{uuid4()}", self.agent.did, AMOUNT, "AVT")

    async def reserved(self) -> Body:
        body = Body(str(uuid4()), self.agent.did, f"did:hansa:{PEER}:{uuid4()}", AMOUNT, "AVT")
        corridor, transfer_id = self.corridor, UUID(body.transfer_id)
        new = sent_store.NewSent(
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
        await self.purses.registry.database.transaction(lambda tx: ledger.apply(tx, [order], corridor.book))
        return body


SceneKind = TypeVar("SceneKind", bound=Scene)


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


async def _payment_token(scene: Scene) -> Token:
    """A token of the agent that is settling, for a payee of the peer."""
    registry = scene.purses.registry
    body = {"target_agent_did": f"did:hansa:{PEER}:{uuid4()}", "amount": "1"}
    made = await registry.post("/a2a-payment/authorize", json=body, headers=scene.agent.headers)
    assert made.status_code == 200, made.text
    settling = "UPDATE commerce_payment_token SET status = 'settling', settling_at = now() WHERE id = $1"
    await registry.database.transaction(lambda tx: tx.execute(settling, made.json()["token_id"]))
    token = await registry.database.query(lambda tx: token_of_id(tx, UUID(made.json()["token_id"])))
    assert token is not None
    return token


async def _reserve_for_token(scene: Scene) -> Asking:
    token = await _payment_token(scene)
    return scene.work(lambda tx: reserve_or_time_out(tx, scene.corridor, token.id))


def _answered_for_token(kind: MessageType) -> Callable[[Scene], Awaitable[Asking]]:
    async def prepare(scene: Scene) -> Asking:
        token = await _payment_token(scene)
        act = scene.purses.registry.database.transaction
        await act(lambda tx: reserve_or_time_out(tx, scene.corridor, token.id))
        body = Body(str(token.id), token.caller, token.payee, AMOUNT, "AVT", purpose=PAYMENT_TOKEN)
        return scene.asking(await scene.entering(kind, body))

    return prepare


async def _submitted_contract(scene: Scene) -> dict[str, Any]:
    """A contract of the agent with a provider of the peer, who has submitted."""
    registry = scene.purses.registry
    provider = f"did:hansa:{PEER}:{uuid4()}"
    terms = {
        "provider_did": provider,
        "title": "Translate a page",
        "contract_type": "service",
        "amount": "1",
        "terms": "One page.",
        "acceptance_criteria": "It reads well.",
    }
    made = await registry.post("/contracts", json=terms, headers=scene.agent.headers)
    assert made.status_code == 201, made.text
    contract: dict[str, Any] = made.json()
    runtime, contract_id = registry.runtime, contract["id"]
    admits = BOND_ADMITS.of(runtime)
    act = registry.database.transaction
    await act(lambda tx: contracts.accept(tx, provider, contract_id, runtime.settings, admits))
    await act(lambda tx: contracts.submit(tx, provider, contract_id, Submission(None, None)))
    return contract


async def _approval(scene: Scene, contract: dict[str, Any]) -> Callable[[Tx], Awaitable[object]]:
    registry = scene.purses.registry
    contract_id = contract["id"]

    async def begin(tx: Tx) -> object:
        found = await contracts.take(tx, contract_id)
        if found.crossing is not None:
            return found
        return await paying_across.begin(tx, found, paying_across.Approver(scene.agent.did), registry.runtime)

    return begin


async def _approve_contract(scene: Scene) -> Asking:
    return scene.work(await _approval(scene, await _submitted_contract(scene)))


def _answered_for_contract(kind: MessageType) -> Callable[[Scene], Awaitable[Asking]]:
    async def prepare(scene: Scene) -> Asking:
        contract = await _submitted_contract(scene)
        database = scene.purses.registry.database
        await database.transaction(await _approval(scene, contract))
        found = await database.query(lambda tx: contracts.find(tx, contract["id"]))
        assert found is not None
        memo, provider = f"Contract {found.id}", contract["provider_did"]
        body = Body(str(found.crossing), scene.agent.did, provider, AMOUNT, "AVT", memo, purpose=CONTRACT)
        return scene.asking(await scene.entering(kind, body))

    return prepare


def _comes_to_light(*, is_paid_again: bool) -> Callable[[Scene], Awaitable[Asking]]:
    """The COMMIT of a first payment that was aborted, while the second one is under way or after it was paid."""

    async def prepare(scene: Scene) -> Asking:
        contract, registry = await _submitted_contract(scene), scene.purses.registry
        bodies = []
        for _ in range(2):
            await registry.database.transaction(await _approval(scene, contract))
            found = await registry.database.query(lambda tx: contracts.find(tx, contract["id"]))
            assert found is not None
            memo, provider = f"Contract {found.id}", contract["provider_did"]
            body = Body(str(found.crossing), scene.agent.did, provider, AMOUNT, "AVT", memo, purpose=CONTRACT)
            bodies.append(body)
            if len(bodies) == 1:
                await scene.taken(await scene.entering(MessageType.REFUSED, body))
        if is_paid_again:
            await scene.taken(await scene.entering(MessageType.PREPARED, bodies[1]))
        decision = CrossingDecision(UUID(bodies[0].transfer_id), 1, None)
        decided = PAYMENT_DECIDED.of(registry.runtime)
        return scene.work(lambda tx: decided(tx, [decision], registry.settings))

    return prepare


async def _approve_by_surplus(scene: Scene) -> Asking:
    """A part that is known to be paid, by a transfer of before a restore."""
    contract, database = await _submitted_contract(scene), scene.purses.registry.database
    paid = (
        "INSERT INTO commerce_contract_transfer (transfer_id, contract_id, surplus_tx_id) VALUES ($1, $2, 1)"
    )
    await database.transaction(lambda tx: tx.execute(paid, uuid4(), contract["id"]))

    async def approve(tx: Tx) -> object:
        found = await contracts.take(tx, contract["id"])
        if found.status == contracts.Status.COMPLETED:
            return found
        return await paying_across.approve_if_paid(tx, found, scene.agent.did)

    return scene.work(approve)


async def _statement(scene: Scene) -> Asking:
    """The second statement about a contract of the peer: one move more than the first."""
    timestamp, contractor = "2026-01-01T00:00:00Z", f"did:hansa:{PEER}:{uuid4()}"
    moves = [
        {"act": act, "actor_did": contractor, "milestone": None, "note": None, "at": timestamp}
        for act in ("proposed", "cancelled")
    ]
    members = {name: None for name, field in StatedContract.model_fields.items() if field.is_required()}
    contract = {
        **members,
        "id": scene.contracts_stated,
        "version": 1,
        "title": "Translate a page",
        "contract_type": "service",
        "amount": "1",
        "amount_paid": "0",
        "currency": "AVT",
        "contractor_did": contractor,
        "provider_did": scene.agent.did,
        "contractor_registry": PEER,
        "provider_registry": "test.example",
        "terms": "One page.",
        "acceptance_criteria": "It reads well.",
        "auto_approve": False,
        "funded": False,
        "milestones": [],
        "deliverables": [],
        "status": "PROPOSED",
        "expires_at": timestamp,
        "created_at": timestamp,
        "history": moves[:1],
    }
    scene.contracts_stated += 1

    def keeping(**changed: Any) -> Callable[[Tx], Awaitable[None]]:
        stated = StatedContract.model_validate({**contract, **changed})
        return lambda tx: keep(tx, scene.corridor.peer, stated, scene.corridor.settings)

    await scene.purses.registry.database.transaction(keeping())
    return scene.work(keeping(status="CANCELLED", history=moves))


STEPS = {
    "prepare": _prepare,
    "commit": _decided(MessageType.COMMIT),
    "abort": _decided(MessageType.ABORT),
    "prepared": _answered(MessageType.PREPARED),
    "refused": _answered(MessageType.REFUSED),
    "reserve for a payment token": _reserve_for_token,
    "prepared for a payment token": _answered_for_token(MessageType.PREPARED),
    "refused for a payment token": _answered_for_token(MessageType.REFUSED),
    "approval of a contract": _approve_contract,
    "prepared for a contract": _answered_for_contract(MessageType.PREPARED),
    "refused for a contract": _answered_for_contract(MessageType.REFUSED),
    "the first payment of a contract while the second is under way": _comes_to_light(is_paid_again=False),
    "the first payment of a contract that the second has paid": _comes_to_light(is_paid_again=True),
    "approval of a contract that is paid already": _approve_by_surplus,
    "a statement about a contract": _statement,
}


@asynccontextmanager
async def open_stage(
    farm: DatabaseFarm, directory: Path, kind: type[SceneKind]
) -> AsyncIterator[FaultStage[SceneKind]]:
    """A scene under a plan of failures."""
    async with open_purses(farm, directory, database_pool_size=POOL_SIZE) as purses:
        registry = purses.registry
        await peer_of(registry, PEER)
        await registry.database.transaction(
            lambda tx: tx.execute(
                "UPDATE federation_peer SET status = 'active', net_in_limit = NULL, settlement_currency = 'AVT',"
                " card = $1",
                json.dumps(CARD),
            )
        )
        peer = await registry.database.query(lambda tx: federation.peer_by_name(tx, PEER))
        scene = kind(purses, await purses.agent("1000"), Corridor.to(peer, registry.runtime))
        await registry.database.transaction(lambda tx: store.open_pair(tx, scene.corridor.key))
        # The peer is known from its first message on.
        await scene.taken(Message(MessageType.HEADS, nonce="first", own=Position(1)))
        async with fault_stage(registry, scene) as stage:
            yield stage


async def _prove(stage: FaultStage[Scene], name: str) -> None:
    del name
    await stage.world.purses.prove()
    totals = await stage.world.purses.registry.database.read(ledger.corridor_totals)
    assert [one.frame for one in totals if one.delta] == []


ACTS: dict[str, FailingAct[Scene]] = {name: (prepare, {200}) for name, prepare in STEPS.items()}
TRANSFER_MESSAGES = FailingActs(
    "messages", ACTS, lambda farm, directory: open_stage(farm, directory, Scene), _prove
)
