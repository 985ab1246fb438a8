"""Reasons for which a child that is ending is not swept yet. Each is said, and what can be freed without anybody's word is freed.

- Its agent is suspended: the units stay until it is reinstated.
- Living children, tokens that are used or settle, contracts, disputes, wrapped units, transfers to other registries: they end first.
- Stakes: released when their lock has ended. Bonds: their release begins at once and ends by their own rules.
"""

import msgspec

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.errors import Conflict
from hansa.rooms import agents, commerce, ledger


class Obstacle(msgspec.Struct, frozen=True):
    """Reason for which a child is not swept yet."""

    kind: str
    detail: str


async def obstacles_of(tx: Tx, child: agents.Child, runtime: Runtime) -> list[Obstacle]:
    """The reasons against the sweep of a locked child."""
    if child.status == "suspended":
        return [Obstacle("suspended", "The child is suspended; its units stay until it is reinstated.")]
    found: list[Obstacle] = []
    if living := await agents.living_children_of(tx, [child.did]):
        found.append(Obstacle("children", f"It has {len(living)} living children."))
    if unsettled := await commerce.count_unsettled(tx, child.did):
        found.append(Obstacle("payments", f"{unsettled} payment tokens are used or settle."))
    found += await _bound(tx, child.did, runtime)
    found += await _held(tx, child.did)
    return found


async def _bound(tx: Tx, did: str, runtime: Runtime) -> list[Obstacle]:
    try:
        await agents.REQUIRE_UNBOUND.of(runtime)(tx, did)
    except Conflict as refusal:
        return [Obstacle("agreements", refusal.detail)]
    return []


async def _held(tx: Tx, did: str) -> list[Obstacle]:
    balance = await ledger.balance_of(tx, did)
    found = []
    if balance.staked:
        found.append(
            Obstacle("stake", "Staked units are locked; they are released when their lock has ended.")
        )
    if balance.escrow:
        found.append(Obstacle("hold", "Units are held for a bond, a payment or a contract."))
    if await ledger.awaits_crossing(tx, did):
        found.append(Obstacle("crossing", "A transfer from or to another registry is undecided."))
    return found
