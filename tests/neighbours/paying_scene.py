"""Payments between agents of two registries: a caller here, a service there."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from hansa.rooms import federation
from hansa.rooms.commerce.payments import JOBS
from hansa.rooms.federation.peer_trust import classify_peers
from tests.neighbours.crossing_scene import across, open_rows, settle
from tests.neighbours.two_registries import Neighbour, Neighbours
from tests.paying import Payments
from tests.registry import TestAgent
from tests.running_jobs import time_passes

RESUMING = next(job for job in JOBS if job.name == "payments: resume settlements")


class Abroad(Payments):
    """The caller's registry is a, the service's is b."""

    async def of_service(self, token: str, service: TestAgent) -> dict[str, Any]:
        """Return the verification of the token that the service gets from the registry that issued it."""
        return await self.verify(token, target_agent_did=service.did)


async def abroad(pair: Neighbours, **caller: Any) -> Abroad:
    return Abroad(pair.a.registry, await pair.a.registry.agent(**caller), await pair.b.registry.agent())


async def measure(one: Neighbour, other: Neighbour) -> int:
    """Let this registry have measured the other by ten crossings; its weight, in thousandths."""
    peer, registry = await one.peer(other), one.registry
    await registry.database.transaction(lambda tx: federation.record_crossings(tx, peer.id, 10))
    await registry.database.transaction(lambda tx: classify_peers(tx, registry.runtime))
    return (await one.peer(other)).trust_weight


async def spend_abroad(one: Neighbour, other: Neighbour, amount: str) -> None:
    """An agent of this registry sends units to one of the other for good."""
    payer, payee = await one.registry.agent(), await other.registry.agent()
    sent = await across(payer, payee.did, amount)
    assert sent.status_code == 200, sent.text
    await settle(one, other)


async def paid_across(pair: Neighbours, payer: TestAgent, payee: TestAgent, amount: str) -> str:
    """The payer at a pays the payee at b for a call; the id of the payment token."""
    paying = Abroad(pair.a.registry, payer, payee)
    token = await paying.authorized(amount)
    settled = await paying.settle(token["token"], wait=20)
    assert settled.json()["status"] == "settled", settled.text
    await settle(pair.a, pair.b)
    token_id: str = token["token_id"]
    return token_id


async def resumed(paying: Payments) -> None:
    """Resume the settlements that a process left, as the registry does every few seconds."""
    await paying.registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE commerce_payment_token SET settling_at = settling_at - interval '3 seconds' WHERE status = 'settling'"
        )
    )
    await time_passes(paying.registry.runtime, 60)
    await RESUMING.work(paying.registry.runtime, None)  # type: ignore[arg-type, operator]


@asynccontextmanager
async def quiet_after(pair: Neighbours) -> AsyncIterator[None]:
    """Both registries hold each other's receipts in the end, and no unit was lost or made."""
    yield
    await settle(pair.a, pair.b)
    assert (await open_rows(pair.a), await open_rows(pair.b)) == (0, 0)
    for one in (pair.a, pair.b):
        supply = await one.registry.supply()
        assert (supply["status"], supply["delta"]) == ("OK", "0"), supply
