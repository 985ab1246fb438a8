"""Steps of a slash across registries, as rows of the table of acts whose statements fail."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from uuid import uuid4

import pytest
from msgspec.structs import replace

from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Developer
from hansa.rooms import commerce, federation, transfers
from hansa.rooms.commerce.slash_settlements import awarding, store
from hansa.rooms.commerce.slash_settlements import settlement as protocol
from hansa.rooms.commerce.slash_settlements.administering import approve, reject, write_off
from hansa.rooms.commerce.slash_settlements.awarding import PresentedAward, take_award, take_paid
from hansa.rooms.commerce.slash_settlements.envelope import Confirmation, Paid, SignedAward, SignedReceipt
from hansa.rooms.commerce.slash_settlements.inbox import Sent, take_outcome, take_receipt, take_request
from hansa.rooms.commerce.slash_settlements.opening import Request
from hansa.rooms.commerce.slash_settlements.settlement import (
    Award,
    Claim,
    Direction,
    Outcome,
    Receipt,
    Settlement,
    Status,
)
from hansa.rooms.commerce.slash_settlements.slashing import apply_slash
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
from tests.registry import DatabaseFarm, TestAgent, TestRegistry
from tests.rooms.ledger.purses import Purses, open_purses

PEER = "peer.example"
AMOUNT = 10**8
NO_POSITIONS = transfers.positions_at(transfers.NOWHERE, transfers.NOWHERE)


@dataclass
class Scene:
    """An agent here, and a peer."""

    purses: Purses
    agent: TestAgent
    peer: federation.PeerRecord
    administrator: Developer
    numbers: "count[int]"

    def asking(self, work: Callable[[Tx], Awaitable[object]]) -> Asking:
        return status_of_work(self.purses.registry, work)

    def claim(self, *, against_own: bool) -> Claim:
        own, other = self.agent.did, f"did:hansa:{PEER}:{uuid4()}"
        defendant, complainant = (own, other) if against_own else (other, own)
        return Claim(next(self.numbers), defendant, complainant, AMOUNT, "AVT")

    async def kept(self, new: Settlement) -> int:
        assert self.peer.spiffe_id is not None
        spiffe_id = self.peer.spiffe_id
        return await self.purses.registry.database.transaction(
            lambda tx: store.add(tx, spiffe_id, PEER, new, None, is_due=False)
        )

    async def held(self, *, is_auto: bool = False) -> int:
        claim = self.claim(against_own=True)
        timestamp = await self.purses.registry.database.query(clock.seconds)
        return await self.kept(protocol.claimed(claim, None, timestamp, is_auto=is_auto))


async def _request(scene: Scene) -> Asking:
    request = Request(scene.peer, scene.claim(against_own=True), {}, "signed")
    settings = scene.purses.registry.settings
    return scene.asking(lambda tx: take_request(tx, request, settings))


async def _shown_request(scene: Scene) -> Asking:
    """The peer shows a slash that this registry had signed, and lost in a restore."""
    claim, settings = scene.claim(against_own=True), scene.purses.registry.settings
    shown = Outcome(claim, Status.SLASHED, AMOUNT, "tx-7")
    request = Request(scene.peer, claim, {}, "signed", shown)
    return scene.asking(lambda tx: take_request(tx, request, settings))


async def _slash(scene: Scene) -> Asking:
    settlement_id, registry = await scene.held(is_auto=True), scene.purses.registry
    slash_bond = commerce.SLASH_BOND.of(registry.runtime)
    return scene.asking(lambda tx: apply_slash(tx, settlement_id, slash_bond, registry.settings))


async def _outcome(scene: Scene) -> Asking:
    claim, settings = scene.claim(against_own=False), scene.purses.registry.settings
    await scene.kept(protocol.opened(claim, AMOUNT, 0.0))
    outcome = Outcome(claim, Status.SLASHED, AMOUNT, "tx-7")
    stated = Confirmation(outcome, NO_POSITIONS, "signed")
    return scene.asking(lambda tx: take_outcome(tx, scene.peer, stated, settings))


async def _confirmed(scene: Scene, stated: Receipt, direction: Direction) -> Asking:
    """Return a call that applies a receipt for the message that is sent to the peer now."""
    key, database = scene.peer.spiffe_id or "", scene.purses.registry.database
    sent = Sent(direction, await database.query(lambda tx: transfers.positions_in_chain(tx, key)))
    receipt = SignedReceipt(stated, "signed", NO_POSITIONS)
    return scene.asking(lambda tx: take_receipt(tx, scene.peer, receipt, sent))


async def _receipt(scene: Scene) -> Asking:
    claim = scene.claim(against_own=True)
    await scene.kept(protocol.claimed(claim, "DEFENDANT_UNKNOWN", 0.0, is_auto=False))
    receipt = Receipt(claim, Status.FAILED)
    return await _confirmed(scene, receipt, Direction.INCOMING)


async def _award(scene: Scene) -> Asking:
    """An award to an agent here, whose facts are signed."""
    claim, settings = scene.claim(against_own=False), scene.purses.registry.settings
    award = signed_award(claim)
    request = Request(scene.peer, claim, {}, "signed", payment=award.award.payment)
    return scene.asking(lambda tx: take_award(tx, request, award, settings))


def signed_award(claim: Claim) -> SignedAward:
    """Return the award in the form that is read from the message of its author."""
    award = Award(AMOUNT, AMOUNT, "tx-7", f"contract:{claim.dispute_id}")
    return SignedAward(claim, award, {}, NO_POSITIONS)


def shown_award(scene: Scene, signed: SignedAward) -> PresentedAward:
    """Return the award in the form in which the peer that has paid it presents it."""
    return PresentedAward(
        scene.peer, signed, Paid(signed.claim, signed.award, "signed", NO_POSITIONS, "shown")
    )


async def _paid_award(scene: Scene) -> Asking:
    """The peer has paid an award that this registry has lost."""
    registry, signed = scene.purses.registry, signed_award(scene.claim(against_own=True))
    slash_bond, shown = commerce.SLASH_BOND.of(registry.runtime), shown_award(scene, signed)
    return scene.asking(lambda tx: take_paid(tx, shown, slash_bond, registry.settings))


async def _paid_award_ruled_again(scene: Scene) -> Asking:
    """Return a call that applies a paid award, after another ruling about the same payment."""
    registry, claim = scene.purses.registry, scene.claim(against_own=True)
    again = replace(claim, dispute_id=next(scene.numbers), amount=AMOUNT // 2)
    payment = signed_award(claim).award.payment
    await scene.kept(protocol.awarded(again, AMOUNT // 2, AMOUNT // 2, 0.0, payment))
    slash_bond, shown = commerce.SLASH_BOND.of(registry.runtime), shown_award(scene, signed_award(claim))
    return scene.asking(lambda tx: take_paid(tx, shown, slash_bond, registry.settings))


async def _receipt_of_paid(scene: Scene) -> Asking:
    """The registry that ruled confirms that an award was paid here."""
    claim = scene.claim(against_own=False)
    new = protocol.compensated(claim, signed_award(claim).award, None, 0.0)
    settlement_id, act = await scene.kept(new), scene.purses.registry.database.transaction
    await act(lambda tx: store.write(tx, settlement_id, new))
    message = "UPDATE commerce_settlement SET message = 'signed' WHERE settlement_id = $1"
    await act(lambda tx: tx.execute(message, settlement_id))
    await act(lambda tx: store.show_paid(tx, settlement_id, in_seconds=0))
    return await _confirmed(scene, Receipt(claim, Status.SETTLED), Direction.OWED)


async def _receipt_of_award(scene: Scene) -> Asking:
    claim = scene.claim(against_own=True)
    await scene.kept(protocol.awarded(claim, AMOUNT, AMOUNT, 0.0))
    receipt = Receipt(claim, Status.SETTLED)
    return await _confirmed(scene, receipt, Direction.AWARDED)


async def _refused_award(scene: Scene) -> Asking:
    claim = scene.claim(against_own=True)
    await scene.kept(protocol.awarded(claim, AMOUNT, AMOUNT, 0.0))
    receipt = Receipt(claim, Status.FAILED, "COMPLAINANT_UNKNOWN")
    return await _confirmed(scene, receipt, Direction.AWARDED)


async def _approve(scene: Scene) -> Asking:
    settlement_id = await scene.held()
    return scene.asking(lambda tx: approve(tx, scene.administrator, settlement_id))


async def _reject(scene: Scene) -> Asking:
    settlement_id = await scene.held()
    return scene.asking(lambda tx: reject(tx, scene.administrator, settlement_id, "No such job."))


async def _write_off(scene: Scene) -> Asking:
    claim = scene.claim(against_own=False)
    settled = replace(
        protocol.opened(claim, AMOUNT, 0.0), status=Status.SETTLED, slashed=AMOUNT, is_closed=True
    )
    settlement_id = await scene.kept(settled)
    act = scene.purses.registry.database.transaction
    await act(lambda tx: store.write(tx, settlement_id, settled))
    await act(lambda tx: store.note_uncollected(tx, settlement_id))
    return scene.asking(lambda tx: write_off(tx, scene.administrator, settlement_id, "It is gone."))


async def _slash_without_effect(scene: Scene) -> Asking:
    """A slash that is to be applied again to a defendant that has nothing left."""
    registry = scene.purses.registry
    poor = await scene.purses.agent()
    claim = replace(scene.claim(against_own=True), defendant_did=poor.did)
    asked = protocol.claimed(claim, None, 0.0, is_auto=True)
    settlement_id = await scene.kept(replace(asked, slashed=AMOUNT))
    slash_bond = commerce.SLASH_BOND.of(registry.runtime)
    return scene.asking(lambda tx: apply_slash(tx, settlement_id, slash_bond, registry.settings))


# What its repetition is answered after a step was done and its answer was lost.
STEPS: dict[str, FailingAct[Scene]] = {
    "request": (_request, {200}),
    "request that shows a lost slash": (_shown_request, {200}),
    "slash": (_slash, {200}),
    "outcome": (_outcome, {200}),
    "receipt": (_receipt, {200}),
    "award": (_award, {200}),
    "receipt of an award": (_receipt_of_award, {200}),
    "award that the peer paid and that was lost": (_paid_award, {200}),
    "award that the peer paid, ruled again": (_paid_award_ruled_again, {200}),
    "receipt of a paid award": (_receipt_of_paid, {200}),
    "refusal of an award": (_refused_award, {200}),
    "approve": (_approve, {409}),
    "reject": (_reject, {409}),
    "write off": (_write_off, {409}),
    "slash of a defendant with nothing left": (_slash_without_effect, {200}),
}


@asynccontextmanager
async def _open_stage(farm: DatabaseFarm, directory: Path) -> AsyncIterator[FaultStage[Scene]]:
    async with open_purses(farm, directory, database_pool_size=POOL_SIZE) as purses:
        registry = purses.registry
        await peer_of(registry, PEER)
        await registry.database.transaction(
            lambda tx: tx.execute("UPDATE federation_peer SET status = 'active', net_in_limit = NULL")
        )
        peer = await registry.database.query(lambda tx: federation.peer_by_name(tx, PEER))
        spiffe_id = peer.spiffe_id
        assert spiffe_id is not None
        await registry.database.transaction(lambda tx: open_pair(tx, spiffe_id))
        scene = Scene(purses, await purses.agent("1000"), peer, await administrator_of(registry), count(1))
        with pytest.MonkeyPatch.context() as patched:
            # A signature of a peer is verified elsewhere; here it is the statements that matter.
            patched.setattr(awarding, "is_signed_verdict", lambda _: True)
            async with fault_stage(registry, scene) as stage:
                yield stage


async def administrator_of(registry: TestRegistry) -> Developer:
    """An administrator of enforcement as a route knows it."""
    email = (await registry.administrator("admin_enforcement")).email
    developer_id = await registry.database.read(
        lambda tx: tx.fetchval("SELECT id FROM people_developer WHERE email = $1", email)
    )
    areas = frozenset({"admin_enforcement"})
    return Developer(developer_id, email, "test", is_verified=True, areas=areas, is_admin=False)


async def _prove(stage: FaultStage[Scene], name: str) -> None:
    """The book, which each act proves, is all that a slash changes."""


SETTLEMENTS = FailingActs("settlements", STEPS, _open_stage, _prove)
