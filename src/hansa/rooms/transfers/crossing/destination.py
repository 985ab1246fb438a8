"""Destination of a transfer: the peer that has the receiver, and whether units may cross to it."""

import math
from collections.abc import Callable, Sequence
from copy import copy
from decimal import Decimal
from fractions import Fraction
from functools import partial
from urllib.parse import quote

import msgspec

from hansa.foundation.plumbing.outgoing import OutgoingTrouble
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.errors import Refused, Unavailable
from hansa.foundation.values.money import Minor, share
from hansa.rooms import federation
from hansa.rooms.transfers import pools
from hansa.rooms.transfers.receiver_registry import FEE_PATH, peer_of, peers_of

from .corridor import Corridor
from .errors import CurrencyDiffers, ReceiverRegistryUnknown, ReceiverUnknown
from .inputs import is_withheld_abroad, withheld_abroad

NOT_FOUND = 404
# How far rounding half to even can be above the least amount, at rates up to a half.
STEPS_DOWN = 2


class NoCorridor(msgspec.Struct, frozen=True):
    """Why units do not reach a DID now; each caller raises a refusal of its own."""

    refusal: Callable[[], Refused]


async def corridor_to(tx: Tx, did: str, runtime: Runtime) -> Corridor:
    """Return the corridor by which units reach the DID now, by a swap where its registry has another currency.

    Raises: ReceiverRegistryUnknown, CurrencyDiffers without a pool, AgentBlocked, and the errors of `require_may_cross`.
    """
    found = (await corridors_to(tx, [did], runtime))[did]
    if isinstance(found, NoCorridor):
        raise found.refusal()
    return found


async def corridors_to(tx: Tx, dids: Sequence[str], runtime: Runtime) -> dict[str, Corridor | NoCorridor]:
    """Return the corridor to each DID, with one reading for each registry; a refusal concerns its DID alone. See `corridor_to`."""
    withheld = await withheld_abroad(tx, set(dids))
    peers = await peers_of(tx, dids, runtime.settings)
    by_registry: dict[int | None, Corridor | NoCorridor] = {}
    found: dict[str, Corridor | NoCorridor] = {}
    for did in dids:
        peer = peers[did]
        registry = None if peer is None else peer.id
        if registry not in by_registry:
            by_registry[registry] = await _corridor_or_refusal(tx, peer, runtime)
        corridor = by_registry[registry]
        is_withheld = did in withheld and isinstance(corridor, Corridor)
        found[did] = NoCorridor(partial(_agent_blocked, did)) if is_withheld else corridor
    return found


async def _corridor_or_refusal(
    tx: Tx, peer: federation.PeerRecord | None, runtime: Runtime
) -> Corridor | NoCorridor:
    try:
        corridor = Corridor.to(await _open(tx, peer, runtime.settings), runtime)
    except Refused as refusal:
        return NoCorridor(partial(copy, refusal))
    if corridor.currency_received is not None and not await pools.has_pool(tx, corridor.key):
        return NoCorridor(CurrencyDiffers)
    return corridor


def _agent_blocked(did: str) -> Refused:
    return federation.AgentBlocked(context={"did": did})


async def require_reachable(tx: Tx, did: str, settings: Settings) -> federation.PeerRecord:
    """Return the peer at which units reach the DID now, by a swap where its registry has another currency.

    Raises: ReceiverRegistryUnknown, CurrencyDiffers without a pool, AgentBlocked, and the errors of `require_may_cross`.
    """
    peer = await _open(tx, await peer_of(tx, did, settings), settings)
    if await is_withheld_abroad(tx, did):
        raise _agent_blocked(did)
    if peer.settlement_currency != settings.settlement_currency:
        assert peer.spiffe_id is not None
        if not await pools.has_pool(tx, peer.spiffe_id):
            raise CurrencyDiffers
    return peer


async def _open(tx: Tx, peer: federation.PeerRecord | None, settings: Settings) -> federation.PeerRecord:
    if peer is None:
        raise ReceiverRegistryUnknown
    await federation.require_may_cross(tx, settings, peer)
    return peer


def fee_of_peer(peer: federation.PeerRecord, amount: Minor) -> Minor:
    """The border fee of the peer's signed card, half to even."""
    return share(amount, _border_rate(peer))


def net_at_peer(peer: federation.PeerRecord, amount: Minor) -> Minor:
    """Return the amount that the payee gets of an amount that crosses to this peer."""
    return Minor(amount - fee_of_peer(peer, amount))


def raised_by_fee(peer: federation.PeerRecord, net: Minor) -> Minor:
    """An amount of which the payee gets at least `net`; the least one where the fee is at most a half of the amount."""
    rate = _border_rate(peer)
    if rate >= 1:
        return net
    amount = Minor(math.ceil((net + Fraction(1, 2)) / (1 - rate)))
    for _ in range(STEPS_DOWN):
        if net_at_peer(peer, Minor(amount - 1)) >= net:
            amount = Minor(amount - 1)
    return amount


def _border_rate(peer: federation.PeerRecord) -> Fraction:
    return Fraction(Decimal(str(peer.signed[FEE_PATH]))) / 100


async def require_receiver(runtime: Runtime, corridor: Corridor, did: str) -> None:
    """Ask the receiver's registry whether it has the agent, for a dry run. Raises: ReceiverUnknown, Unavailable."""
    path = f"/api/v1/agents/{quote(did, safe='')}/did.json"
    try:
        answer = await federation.call_peer(runtime, corridor.peer, "GET", path)
    except OutgoingTrouble:
        raise Unavailable("The receiver's registry does not answer.", retry_after=5) from None
    if answer.status == NOT_FOUND:
        raise ReceiverUnknown
