"""Steps of a swap, as rows of the table of acts whose statements fail; each leaves the figures of the pool right."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import UUID, uuid4

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.idempotency import Repeatable
from hansa.foundation.values.money import Minor
from hansa.rooms import federation, ledger
from hansa.rooms.transfers.crossing.corridor import Corridor
from hansa.rooms.transfers.crossing.messages import PAYMENT_TOKEN, Body, MessageType, Swap
from hansa.rooms.transfers.crossing.paying import CrossingPayment, find_payment, reserve_payment
from hansa.rooms.transfers.crossing.records import NO_BOUNDS
from hansa.rooms.transfers.crossing.swap_batch import reserve_together
from hansa.rooms.transfers.crossing.transferring import asked_crossing
from tests.faults.transfer_message_acts import AMOUNT, PEER, Scene, open_stage
from tests.faults.unchanged import Asking, FailingAct, FailingActs, FaultStage, status_of
from tests.registry import DatabaseFarm

RESERVE = 10**12
_POOL = """
INSERT INTO transfers_pool (peer, frame, currency, is_home, mode, reserve_own, reserve_foreign, base_own, base_foreign)
VALUES ($1, $2, 'BOB', true, 'pool', $3, $3, $3, $3)
"""


class SwapScene(Scene):
    """The peer has another currency, and shares a pool whose home is here."""

    async def open_pool(self) -> None:
        registry, book = self.purses.registry, self.corridor.book
        leg = book.leg(PEER)

        async def open_it(tx: Tx) -> None:
            await tx.execute("UPDATE federation_peer SET settlement_currency = 'BOB'")
            await tx.execute(_POOL, self.corridor.key, PEER, RESERVE)
            await ledger.open_leg(tx, leg)
            await ledger.apply(
                tx, [ledger.orders.fund(book.treasury, leg, Minor(RESERVE), str(uuid4()))], book
            )

        await registry.database.transaction(open_it)
        peer = await registry.database.query(lambda tx: federation.peer_by_name(tx, PEER))
        self.corridor = Corridor.to(peer, registry.runtime)

    def body_in(self) -> Body:
        payer = f"did:hansa:{PEER}:{uuid4()}"
        return Body(str(uuid4()), payer, self.agent.did, AMOUNT, "BOB", None, Swap("AVT", 1))

    async def promised(self, body: Body) -> tuple[int, int]:
        row = await self.purses.registry.database.query(
            lambda tx: tx.fetchrow(
                "SELECT net, fee FROM transfers_received WHERE transfer_id = $1", UUID(body.transfer_id)
            )
        )
        assert row is not None
        return row["net"], row["fee"]

    def reserving(self) -> tuple[UUID, Asking]:
        order = ledger.TransferOrder(self.agent.did, f"did:hansa:{PEER}:{uuid4()}", Minor(AMOUNT))
        payment = CrossingPayment(uuid4(), order, 3600.0, PAYMENT_TOKEN)

        async def reserve(tx: Tx) -> None:
            if await find_payment(tx, payment.transfer_id) is None:
                await reserve_payment(tx, self.corridor, payment)

        return payment.transfer_id, self.work(reserve)

    async def reserved(self) -> Body:
        transfer_id, ask = self.reserving()
        assert await ask() == 200
        row = await self.purses.registry.database.query(
            lambda tx: tx.fetchrow("SELECT * FROM transfers_sent WHERE transfer_id = $1", transfer_id)
        )
        assert row is not None
        swap = Swap(row["currency_received"], row["min_amount_out"], row["amount_out"])
        parties = (row["sender_did"], row["receiver_did"])
        return Body(
            str(transfer_id), *parties, row["amount"], row["currency"], row["memo"], swap, row["purpose"]
        )


async def _prepare(scene: SwapScene) -> Asking:
    return scene.asking(await scene.entering(MessageType.PREPARE, scene.body_in()))


def _decided(kind: MessageType) -> Callable[[SwapScene], Awaitable[Asking]]:
    async def prepare(scene: SwapScene) -> Asking:
        body = scene.body_in()
        await scene.taken(await scene.entering(MessageType.PREPARE, body))
        # The first abort of an hour is a signal about the peer.
        await scene.purses.registry.database.transaction(
            lambda tx: tx.execute("DELETE FROM federation_peer_signal")
        )
        return scene.asking(await scene.entering(kind, body, *await scene.promised(body)))

    return prepare


async def _reserve(scene: SwapScene) -> Asking:
    return scene.reserving()[1]


async def _reserve_together(scene: SwapScene) -> Asking:
    """Two swaps of one pool under keys of their own, in one transaction."""
    settings = scene.purses.registry.settings
    order = ledger.TransferOrder(scene.agent.did, f"did:hansa:{PEER}:{uuid4()}", Minor(AMOUNT))
    asked = [
        asked_crossing(
            settings,
            order,
            "/teg/send",
            Repeatable(scene.agent.did, "/teg/send", uuid4().hex, {}),
            backend="async",
            approval=None,
            capability=None,
            bounds=NO_BOUNDS,
        )
        for _ in range(2)
    ]
    return scene.work(lambda tx: reserve_together(tx, scene.corridor, asked))


def _answered(kind: MessageType) -> Callable[[SwapScene], Awaitable[Asking]]:
    async def prepare(scene: SwapScene) -> Asking:
        body = await scene.reserved()
        assert body.swap is not None
        return scene.asking(await scene.entering(kind, body, body.swap.amount_out or 0, 1))

    return prepare


def _administered(act: str) -> Callable[[SwapScene], Awaitable[Asking]]:
    async def prepare(scene: SwapScene) -> Asking:
        registry = scene.purses.registry
        headers = (await registry.administrator("admin_treasury")).headers
        path = f"/admin/fx/pools/BOB/{act}"
        return status_of(lambda: registry.post(path, json={"amount": "1"}, headers=headers))

    return prepare


STEPS: dict[str, FailingAct[SwapScene]] = {
    "prepare": (_prepare, {200}),
    "commit": (_decided(MessageType.COMMIT), {200}),
    "abort": (_decided(MessageType.ABORT), {200}),
    "reserve": (_reserve, {200}),
    "reserve together": (_reserve_together, {200}),
    "prepared": (_answered(MessageType.PREPARED), {200}),
    "refused": (_answered(MessageType.REFUSED), {200}),
    # An administrator who repeats one of these does it again.
    "fund": (_administered("fund"), {200, 201}),
    "drain": (_administered("drain"), {200, 201}),
}


@asynccontextmanager
async def _open_stage(farm: DatabaseFarm, directory: Path) -> AsyncIterator[FaultStage[SwapScene]]:
    async with open_stage(farm, directory, SwapScene) as stage:
        await stage.world.open_pool()
        yield stage


async def _prove(stage: FaultStage[SwapScene], name: str) -> None:
    await stage.world.purses.prove()
    leg = await stage.observer.fetchval(
        "SELECT liquid FROM ledger_account WHERE did = $1", stage.world.corridor.book.leg(PEER)
    )
    pool = await stage.observer.fetchrow("SELECT * FROM transfers_pool")
    assert leg == pool["reserve_own"]
    assert pool["reserve_own"] * pool["reserve_foreign"] >= RESERVE**2 or name == "drain"


SWAPS = FailingActs("swaps", STEPS, _open_stage, _prove)
